import { describe, expect, it } from "vitest";
import { MAX_TEXT_BYTES } from "../../../packages/gateway/src/sessions/turn-cap.ts";
import { createEmitter } from "../../../packages/gateway/src/sessions/turn-emit.ts";
import { createTurnLog } from "../../../packages/gateway/src/sessions/turn-log.ts";
import { createPartTrouble, createPartWriter } from "../../../packages/gateway/src/sessions/turn-parts.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { recordingLogger } from "../../fixtures/temp-home.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** The output of one turn, whose images are stored when told to. */
function rig({ partial = true, marked = false } = {}) {
  const clock = manualClock();
  const log = recordingLogger();
  const parts: string[] = [];
  const images: Array<PromiseWithResolvers<string>> = [];
  const failures: unknown[] = [];
  const steps: string[] = [];
  const turnLog = createTurnLog("r");
  let failing: Error | undefined;
  const writer = createPartWriter({
    requestId: "r",
    turns: { addPart: (_request: string, text: string) => text } as never,
    units: {
      holds: () => true,
      reaches: () => true,
      commit: (async (text: string) => {
        if (failing) throw failing;
        parts.push(text);
      }) as never,
    },
    clock,
    trouble: createPartTrouble(log),
  });
  const emitter = createEmitter({
    deps: {
      clock,
      log,
      step: (label) => steps.push(label),
      media: {
        storeImage: () => {
          const image = Promise.withResolvers<string>();
          images.push(image);
          return image.promise;
        },
        attachmentUrl: (agentId: string, path: string) => `/${agentId}/${path}`,
      } as never,
    },
    agentId: "a",
    turnLog,
    parts: writer,
    marked,
    partial,
    fail: (error) => failures.push(error),
  });
  const events = async () => {
    const all = [];
    if (!turnLog.ended) turnLog.append({ type: "error", message: "end" });
    for await (const { seq: _, ...event } of turnLog.events({ seq: 0, textEnd: 0 })) all.push(event);
    return all.slice(0, -1);
  };
  return {
    clock,
    log,
    parts,
    images,
    failures,
    steps,
    turnLog,
    writer,
    emitter,
    events,
    failWrites(error: Error | undefined) {
      failing = error;
    },
  };
}
const text = (said: string) => ({ type: "text" as const, text: said });
const image = (size = 1) => ({ type: "image" as const, mime: "image/png", data: new Uint8Array(size) });

describe("what an agent says in a turn", () => {
  it("is in the log as it comes, and on disk in pieces: soon, then at intervals", async () => {
    const { clock, parts, emitter, writer, turnLog } = rig();
    const pass = async (ms: number) => {
      clock.advance(ms);
      await settle();
    };
    emitter.emit(text("a"));
    emitter.emit(text("b"));
    expect(turnLog.text).toBe("ab");
    await pass(24);
    expect(parts).toEqual([]);
    await pass(1);
    expect(parts).toEqual(["ab"]);
    emitter.emit(text("c"));
    await pass(59);
    expect(parts).toEqual(["ab"]);
    await pass(1);
    expect(parts).toEqual(["ab", "c"]);
    // Without new text there is nothing to store.
    for (let n = 0; n < 10; n++) await pass(60);
    expect(parts).toEqual(["ab", "c"]);
    expect(writer.end()).toBe(true);
    expect(clock.timers()).toBe(0);
  });

  it("is not stored in pieces where it is not to be, and then there are no rows to delete", () => {
    const { clock, parts, emitter, writer } = rig({ partial: false });
    emitter.emit(text("a"));
    clock.advance(1_000);
    expect(parts).toEqual([]);
    expect(writer.end()).toBe(false);
  });

  it("is stored later, whole and in order, when a piece could not be", async () => {
    const { clock, parts, emitter, failWrites, log } = rig();
    failWrites(new Error("disk full"));
    emitter.emit(text("a"));
    clock.advance(25);
    await settle();
    emitter.emit(text("b"));
    clock.advance(999);
    await settle();
    failWrites(undefined);
    for (let n = 0; n < 20; n++) {
      clock.advance(60);
      await settle();
    }
    expect(parts).toEqual(["ab"]);
    // Told once, and that it is over.
    expect(log.lines).toHaveLength(2);
  });

  it("counts as something from the first event on, but for retries and signs of life", () => {
    const { emitter, steps, turnLog } = rig();
    emitter.emit({ type: "activity" });
    emitter.emit(text(""));
    emitter.emit({ type: "retry", message: "It is busy." } as never);
    expect(emitter.produced).toBe(false);
    expect(turnLog.trouble).toBe("It is busy.");
    emitter.emit(text("a"));
    emitter.emit(text("b"));
    expect(emitter.produced).toBe(true);
    expect(turnLog.trouble).toBeUndefined();
    expect(steps).toEqual(["first-delta"]);
  });

  it("says on disk that the agent has begun, once, where the turn may not run twice [ACT-1]", async () => {
    const { emitter, steps, parts } = rig({ marked: true });
    emitter.emit({ type: "thinking", text: "Hm." });
    emitter.emit({ type: "thinking", text: "Hm." });
    await emitter.acting();
    expect(parts).toEqual([""]);
    expect(steps).toEqual(["agent-began", "after-began-row"]);
  });

  it("of thoughts and tools is passed on, with names and ids of a bounded length", async () => {
    const { emitter, events } = rig();
    const long = "n".repeat(300);
    emitter.emit({ type: "thinking", text: "Hm." });
    emitter.emit({ type: "tool_use", id: long, name: long, input: "{}" });
    emitter.emit({ type: "tool_result", id: long, isError: false, result: "ok" });
    emitter.emit({ type: "tool_result", id: "2", isError: true });
    const cut = "n".repeat(200);
    expect(await events()).toEqual([
      { type: "thinking", text: "Hm." },
      { type: "tool_use", id: cut, name: cut, input: "{}" },
      { type: "tool_result", id: cut, is_error: false, result: "ok" },
      { type: "tool_result", id: "2", is_error: true },
    ]);
    expect(emitter.steps("").map(({ type }) => type)).toEqual(["thinking", "tool"]);
  });

  it("ends the turn when it is more than is kept, with all that is kept", () => {
    const { emitter, turnLog, failures } = rig({ partial: false });
    const half = "x".repeat(MAX_TEXT_BYTES / 2);
    emitter.emit(text(half));
    emitter.emit(text(half.slice(1)));
    expect(failures).toEqual([]);
    expect(() => emitter.emit(text("äx"))).toThrow(/32 MiB/);
    expect(failures).toHaveLength(1);
    // Its last byte does not hold the next character.
    expect(turnLog.text).toHaveLength(MAX_TEXT_BYTES - 1);
    emitter.emit(text("x"));
    expect(turnLog.text).toHaveLength(MAX_TEXT_BYTES - 1);
  });
});

describe("images of a turn", () => {
  it("are stored, attached when they are, and awaited by its end", async () => {
    const { emitter, images, events } = rig();
    emitter.emit(image());
    expect(emitter.attachments).toEqual([]);
    let closed = false;
    const closing = emitter.close().then(() => {
      closed = true;
    });
    await settle();
    expect(closed).toBe(false);
    images[0]!.resolve("x.png");
    await closing;
    expect(emitter.attachments).toEqual([{ type: "image", url: "/a/x.png" }]);
    expect(await events()).toEqual([{ type: "attachment", attachment: emitter.attachments[0] }]);
  });

  it("that cannot be stored are left out, and the end does not wait for them for ever", async () => {
    const { emitter, images, clock } = rig();
    emitter.emit(image());
    images[0]!.reject(new Error("disk full"));
    emitter.emit(image());
    let closed = false;
    void emitter.close().then(() => {
      closed = true;
    });
    await settle();
    clock.advance(4_999);
    await settle();
    expect(closed).toBe(false);
    clock.advance(1);
    await settle();
    expect(closed).toBe(true);
    expect(emitter.attachments).toEqual([]);
  });

  it("are a hundred at most, and few megabytes at a time; the rest is dropped and logged once", async () => {
    const many = rig();
    for (let n = 0; n < 102; n++) many.emitter.emit(image());
    expect(many.images).toHaveLength(100);
    expect(many.log.lines).toHaveLength(1);
    const big = rig();
    const size = 40 * 1024 * 1024;
    big.emitter.emit(image(size));
    big.emitter.emit(image(size));
    expect(big.images).toHaveLength(1);
    big.images[0]!.resolve("x.png");
    await settle();
    big.emitter.emit(image(size));
    expect(big.images).toHaveLength(2);
  });
});

describe("files that a tool shares in a turn", () => {
  it("are two hundred at most, and none once it has ended", async () => {
    const { emitter, turnLog } = rig();
    for (let n = 0; n < 200; n++) {
      emitter.takeShare();
      emitter.attach({ type: "file", url: `/${n}` });
    }
    expect(() => emitter.takeShare()).toThrow(/maximum number/);
    expect(() => emitter.attach({ type: "file", url: "/more" })).toThrow(/maximum number/);
    expect(turnLog.lastSeq).toBe(200);
    const ended = rig();
    await ended.emitter.close();
    expect(() => ended.emitter.takeShare()).toThrow(/has ended/);
    await expect(ended.emitter.acting()).rejects.toThrow(/has ended/);
    ended.emitter.attach({ type: "file", url: "/late" });
    expect(ended.emitter.attachments).toEqual([]);
  });
});
