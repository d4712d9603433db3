import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTurnLog, MAX_EVENTS } from "../../../packages/gateway/src/sessions/turn-log.ts";

interface Frame {
  id: number | undefined;
  data: string;
}
const parse = (buffer: Buffer | undefined): Frame[] =>
  (buffer?.toString() ?? "")
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block) => ({
      id: /^id: (\d+)$/m.exec(block)?.[1] ? Number(/^id: (\d+)$/m.exec(block)![1]) : undefined,
      data: /^data: (.*)$/m.exec(block)![1]!,
    }));
const textOf = (frames: Frame[]) =>
  frames
    .filter((frame) => frame.data !== "[DONE]")
    .map((frame) => JSON.parse(frame.data) as { type: string; text: string })
    .filter((event) => event.type === "text_delta")
    .map((event) => event.text)
    .join("");

describe("turn log", () => {
  it("numbers events from 1 and names the turn in every frame", () => {
    const log = createTurnLog("r-1");
    log.append({ type: "text_delta", text: "a\nb" });
    log.append({ type: "result", text: "a\nb", session_id: "s" });
    const frames = parse(log.framesAfter({ seq: 0, textEnd: 0 }));
    expect(frames.map((frame) => frame.id)).toEqual([1, 2, undefined]);
    expect(JSON.parse(frames[0]!.data)).toEqual({
      type: "text_delta",
      text: "a\nb",
      seq: 1,
      request_id: "r-1",
    });
    expect(frames.at(-1)!.data).toBe("[DONE]");
  });

  it("takes nothing after the last event", () => {
    const log = createTurnLog("r");
    log.append({ type: "error", message: "no" });
    log.append({ type: "text_delta", text: "late" });
    expect(log.lastSeq).toBe(1);
    expect(log.text).toBe("");
  });

  it("gives a reader the whole text however it lags behind what is kept", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ maxLength: 5 }), fc.constant(null)), { maxLength: 60 }),
        fc.array(fc.nat({ max: 60 }), { maxLength: 6 }),
        fc.integer({ min: 0, max: MAX_EVENTS * 2 }),
        (events, reads, burst) => {
          const log = createTurnLog("r");
          const cursor = { seq: 0, textEnd: 0 };
          const frames: Frame[] = [];
          const stops = new Set(reads);
          let expected = "";
          for (const [index, text] of events.entries()) {
            if (text === null) log.append({ type: "tool_use", name: "t", id: String(index) });
            else {
              log.append({ type: "text_delta", text });
              expected += text;
            }
            if (stops.has(index)) frames.push(...parse(log.framesAfter(cursor)));
          }
          for (let count = 0; count < burst; count++) {
            log.append({ type: "text_delta", text: "x" });
            expected += "x";
          }
          log.append({ type: "result", text: expected, session_id: "s" });
          frames.push(...parse(log.framesAfter(cursor)));
          expect(textOf(frames)).toBe(expected);
          const ids = frames.flatMap((frame) => (frame.id === undefined ? [] : [frame.id]));
          expect(ids).toEqual([...ids].sort((a, b) => a - b));
          expect(new Set(ids).size).toBe(ids.length);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("keeps at most its number of events and 4 MiB, but always the last one", () => {
    const log = createTurnLog("r");
    for (let count = 0; count < MAX_EVENTS + 500; count++) log.append({ type: "text_delta", text: "x" });
    expect(log.lastSeq - log.firstSeq + 1).toBe(MAX_EVENTS);
    expect(log.cursorAt(10)).toBeUndefined();
    expect(log.cursorAt(log.lastSeq)).toEqual({ seq: log.lastSeq, textEnd: MAX_EVENTS + 500 });
    const huge = "y".repeat(5 * 1024 * 1024);
    log.append({ type: "result", text: huge, session_id: "s" });
    expect(log.firstSeq).toBe(log.lastSeq);
    expect(log.framesAfter(log.cursorAt(log.firstSeq - 1)!)!.length).toBeGreaterThan(huge.length);
  });

  it("wakes every reader once for a burst, and events() follows to the end", async () => {
    const log = createTurnLog("r");
    let wakes = 0;
    log.subscribe(() => wakes++);
    const seen: number[] = [];
    const reading = (async () => {
      for await (const event of log.events({ seq: 0, textEnd: 0 })) seen.push(event.seq);
    })();
    for (let count = 0; count < 10; count++) log.append({ type: "text_delta", text: "x" });
    await new Promise((resolve) => setImmediate(resolve));
    expect(wakes).toBe(1);
    log.append({ type: "result", text: "", session_id: "s" });
    await reading;
    expect(seen).toEqual(Array.from({ length: 11 }, (_, index) => index + 1));
  });
});
