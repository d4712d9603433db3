import { expect, it } from "vitest";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { createEmitter } from "../../../packages/gateway/src/sessions/turn-emit.ts";
import { createTurnLog } from "../../../packages/gateway/src/sessions/turn-log.ts";
import { createPartWriter } from "../../../packages/gateway/src/sessions/turn-parts.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

function rig(marked: boolean) {
  const clock = manualClock();
  const writes: Array<PromiseWithResolvers<void>> = [];
  const commit = () => {
    const pending = Promise.withResolvers<void>();
    writes.push(pending);
    return pending.promise;
  };
  const parts = createPartWriter({
    requestId: "r",
    turns: { addPart: () => ({}) } as never,
    units: { commit: commit as never, holds: () => true, reaches: () => true },
    clock,
    trouble: { failed() {}, over() {} },
  });
  const emitter = createEmitter({
    deps: { clock, log: silentLogger, step() {}, media: {} as never },
    agentId: "a",
    turnLog: createTurnLog("r"),
    parts,
    marked,
    partial: true,
    fail() {},
  });
  return { clock, writes, parts, emitter };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

it("a tool waits until it is on disk that the agent has begun, and is refused when that fails [ACT-1]", async () => {
  for (const fails of [false, true]) {
    const { writes, emitter } = rig(true);
    emitter.emit({ type: "tool_use", name: "Bash", id: "1" });
    let answer: unknown = "waits";
    void emitter.acting().then(
      () => {
        answer = "may";
      },
      (error: Error) => {
        answer = error.message;
      },
    );
    await settle();
    expect([answer, writes.length]).toEqual(["waits", 1]);
    if (fails) writes[0]!.reject(new Error("disk"));
    else writes[0]!.resolve();
    await settle();
    if (fails) expect(answer).toMatch(/could not record/);
    else expect(answer).toBe("may");
  }
});

it("a question for a tool alone says that the agent has begun; other turns wait for nothing [ACT-1]", async () => {
  const asked = rig(true);
  void asked.emitter.acting();
  expect([asked.emitter.produced, asked.writes.length]).toEqual([true, 1]);
  const plain = rig(false);
  await plain.emitter.acting();
  expect(plain.writes).toEqual([]);
});

it("what comes after the end of a turn arms no timer and writes no row [TURN-30]", async () => {
  const { clock, writes, parts, emitter } = rig(false);
  emitter.emit({ type: "text", text: "a" });
  expect(clock.timers()).toBe(1);
  clock.advance(1000);
  expect(writes.length).toBe(1);
  parts.end();
  emitter.emit({ type: "text", text: "between the two" });
  await emitter.close();
  emitter.emit({ type: "text", text: "late" });
  clock.advance(10_000);
  expect([clock.timers(), writes.length, emitter.attachments.length]).toEqual([0, 1, 0]);
});
