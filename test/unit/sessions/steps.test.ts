import { describe, expect, it } from "vitest";
import type { RuntimeEvent } from "../../../packages/gateway/src/runtimes/types.ts";
import { createStepRecorder, MAX_STEPS_BYTES } from "../../../packages/gateway/src/sessions/steps.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

const text = (value: string): RuntimeEvent => ({ type: "text", text: value });
const thinking = (value: string): RuntimeEvent => ({ type: "thinking", text: value });
const use = (id: string, input = "{}"): RuntimeEvent => ({ type: "tool_use", id, name: "Bash", input });
const done = (id: string, result = "ok"): RuntimeEvent => ({
  type: "tool_result",
  id,
  isError: false,
  result,
});

function record(events: readonly RuntimeEvent[], content: string) {
  const recorder = createStepRecorder(manualClock(1000));
  for (const event of events) recorder.take(event);
  return recorder.finish(content);
}

describe("steps of a turn", () => {
  it("come in their order, thoughts and text joined, with the time that a tool took [STEP-1]", () => {
    const clock = manualClock(1000);
    const recorder = createStepRecorder(clock);
    for (const event of [thinking("a"), thinking("b"), text("Be"), text("fore"), use("t1")])
      recorder.take(event);
    clock.advance(250);
    for (const event of [done("t1"), text(" after")]) recorder.take(event);
    expect(recorder.finish("Before after")).toEqual([
      { type: "thinking", text: "ab" },
      { type: "text", length: 6 },
      {
        type: "tool",
        id: "t1",
        name: "Bash",
        input: "{}",
        result: "ok",
        isError: false,
        startedAt: 1000,
        durationMs: 250,
      },
      { type: "text", length: 6 },
    ]);
  });

  it("are none for text alone, and their lengths add up to whatever the content became [STEP-1]", () => {
    expect(record([text("abc")], "abc")).toEqual([]);
    const events = [text("abc"), thinking("x"), text("def")];
    const lengths = (content: string) =>
      record(events, content).flatMap((step) => (step.type === "text" ? [step.length] : []));
    expect(lengths("abcdef")).toEqual([3, 3]);
    expect(lengths("abcdefgh")).toEqual([3, 5]);
    expect(lengths("ab")).toEqual([2]);
    expect(lengths("")).toEqual([]);
  });

  it("of one message are bounded; the last says how many are left out, and no text is lost [STEP-2]", () => {
    const events: RuntimeEvent[] = [];
    for (let n = 0; n < 5000; n++) events.push(use(`t${n}`, "x".repeat(100)), done(`t${n}`), text("word "));
    const steps = record(events, "word ".repeat(5000));
    expect(JSON.stringify(steps).length).toBeLessThan(2 * MAX_STEPS_BYTES);
    const kept = steps.filter(({ type }) => type === "tool").length;
    expect(steps.at(-1)).toMatchObject({ type: "text", omitted: 5000 - kept });
    expect(kept).toBeGreaterThan(500);
    expect(steps.reduce((sum, step) => sum + (step.type === "text" ? step.length : 0), 0)).toBe(25_000);
    const thought = record([thinking("x".repeat(10_000_000)), thinking("more"), thinking("more")], "");
    expect(JSON.stringify(thought).length).toBeLessThan(MAX_STEPS_BYTES + 1000);
    expect(thought).toMatchObject([{ type: "thinking", omitted: 1 }]);
  });

  it("leave a tool open whose result never came, and ignore a result without its tool", () => {
    const [step] = record([done("t0"), use("t1")], "");
    expect(step).toMatchObject({ type: "tool", id: "t1", startedAt: 1000 });
    expect(step).not.toHaveProperty("durationMs");
  });

  it("have what the agent gave of a tool, and nothing it did not give", () => {
    const bare: RuntimeEvent = { type: "tool_use", id: "t1", name: "Bash" };
    const events: RuntimeEvent[] = [bare, { type: "tool_result", id: "t1", isError: true }];
    const startedAt = 1000;
    expect(record(events, "")).toEqual([
      { type: "tool", id: "t1", name: "Bash", startedAt, isError: true, durationMs: 0 },
    ]);
    expect(record([{ ...bare, title: "List files" }], "")).toEqual([
      { type: "tool", id: "t1", name: "Bash", title: "List files", startedAt },
    ]);
  });

  it("are not parted by empty text, and what is omitted between two texts counts anew [STEP-2]", () => {
    expect(record([thinking("a"), text(""), thinking("b")], "")).toEqual([{ type: "thinking", text: "ab" }]);
    const full = thinking("x".repeat(MAX_STEPS_BYTES));
    expect(record([full, thinking("a"), text("b"), thinking("c")], "b").at(-1)).toEqual({
      type: "text",
      length: 1,
      omitted: 2,
    });
  });
});
