import { expect, test } from "vitest";
import { createUnreadLimit } from "../../../packages/gateway/src/lib/unread.ts";
import { createTurnReader } from "../../../packages/gateway/src/runtimes/acp/turn-reader.ts";
import { parseLine } from "../../../packages/gateway/src/runtimes/agent-cli/protocol.ts";
import { newTurn, reduceTurn } from "../../../packages/gateway/src/runtimes/agent-cli/turn-state.ts";
import type { RuntimeEvent } from "../../../packages/gateway/src/runtimes/types.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

const ids = (events: readonly RuntimeEvent[]) =>
  events.flatMap((event) => (event.type === "tool_use" || event.type === "tool_result" ? [event.id] : []));

test("agent-cli: of tool calls without number the newest are remembered, by short ids [HARD-AGENT-9]", () => {
  let state = newTurn();
  const events: RuntimeEvent[] = [];
  for (let n = 0; n < 10_000; n++) {
    const id = n === 0 ? "i".repeat(100_000) : `t${n}`;
    const line = parseLine(
      JSON.stringify({ type: "assistant", message: { content: [{ type: "tool_use", id, name: "Bash" }] } }),
    );
    const step = reduceTurn(state, line!);
    state = step.state;
    events.push(...step.events);
  }
  expect(ids(events)).toHaveLength(10_000);
  expect(ids(events)[0]).toHaveLength(200);
  expect(state.tools.size).toBeLessThanOrEqual(2000);
  expect(state.tools.has("t9999")).toBe(true);
});

function acpReader() {
  const events: RuntimeEvent[] = [];
  const reader = createTurnReader((event) => void events.push(event), manualClock());
  const call = (toolCallId: string, status: string, more: object = {}) =>
    reader.read({ sessionUpdate: "tool_call", toolCallId, status, name: "bash", ...more });
  return { events, reader, call };
}

test("acp: of tool calls without number the newest are remembered, by short ids, and all are told [HARD-AGENT-9]", () => {
  const { events, reader, call } = acpReader();
  call("i".repeat(100_000), "pending");
  for (let n = 1; n < 10_000; n++) call(`t${n}`, "pending");
  expect(reader.toolName("t1")).toBeUndefined();
  expect(reader.toolName("t9999")).toBe("bash");
  reader.end();
  expect(new Set(ids(events)).size).toBe(10_000);
  expect(ids(events)[0]).toHaveLength(200);
});

test("acp: images that wait for the end of their calls are bounded [HARD-AGENT-9]", () => {
  const { events, call } = acpReader();
  for (let n = 0; n < 100; n++) {
    const data = `${n}`.padEnd(1024 * 1024, "A");
    const content = [{ type: "content", content: { type: "image", mimeType: "image/png", data } }];
    call(`t${n}`, "in_progress", { content });
  }
  for (let n = 0; n < 100; n++) call(`t${n}`, "completed");
  const images = () => events.filter(({ type }) => type === "image").length;
  expect(images()).toBe(64);
  // Their room is free again.
  call("later", "completed", {
    content: [{ type: "content", content: { type: "image", mimeType: "image/png", data: "AAAA" } }],
  });
  expect(images()).toBe(65);
});

test("questions that wait are bounded by their number and by their length [HARD-AGENT-9]", async () => {
  const heard: string[] = [];
  const unread = createUnreadLimit({ pause: () => heard.push("pause"), resume: () => heard.push("resume") });
  const first = Promise.withResolvers<void>();
  unread(first.promise, 9 * 1024 * 1024);
  expect(heard).toEqual(["pause"]);
  first.resolve();
  await first.promise;
  await Promise.resolve();
  expect(heard).toEqual(["pause", "resume"]);
  const many = Array.from({ length: 64 }, () => Promise.withResolvers<void>());
  for (const { promise } of many) unread(promise, 1);
  expect(heard).toEqual(["pause", "resume", "pause"]);
});
