import { expect, it } from "vitest";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { MAX_TEXT_BYTES, TextOverflow } from "../../../packages/gateway/src/sessions/turn-cap.ts";
import { createEmitter } from "../../../packages/gateway/src/sessions/turn-emit.ts";
import { createTurnLog } from "../../../packages/gateway/src/sessions/turn-log.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

it.each([
  ["one byte", "a"],
  ["two bytes", "é"],
  ["three bytes", "ก"],
  ["four bytes", "🙂"],
])("a turn's text ends exactly at its limit, with characters of %s [CAP-1]", (_, character) => {
  const turnLog = createTurnLog("r");
  const failures: unknown[] = [];
  const emitter = createEmitter({
    deps: { clock: manualClock(), log: silentLogger, step() {}, media: {} as never },
    agentId: "a",
    turnLog,
    parts: {} as never,
    marked: false,
    partial: false,
    fail: (error) => failures.push(error),
  });
  const piece = character.repeat(300_000);
  const size = Buffer.byteLength(piece);
  const whole = Math.floor(MAX_TEXT_BYTES / size);
  for (let n = 0; n < whole; n++) emitter.emit({ type: "text", text: piece });
  expect(failures).toEqual([]);
  expect(() => emitter.emit({ type: "text", text: piece })).toThrow(TextOverflow);
  expect(failures).toHaveLength(1);
  const bytes = Buffer.byteLength(turnLog.text);
  expect(bytes).toBeLessThanOrEqual(MAX_TEXT_BYTES);
  expect(bytes).toBeGreaterThan(MAX_TEXT_BYTES - Buffer.byteLength(character));
});
