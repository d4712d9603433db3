import type { TurnEvent } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import {
  createTurnLog,
  MAX_BYTES,
  MAX_EVENTS,
  ownFrames,
  type TurnLog,
} from "../../../packages/gateway/src/sessions/turn-log.ts";

const MIB = 1024 * 1024;
const start = () => ({ seq: 0, textEnd: 0 });
const say = (log: TurnLog, ...texts: string[]) => {
  for (const text of texts) log.append({ type: "text_delta", text });
};
const end = (log: TurnLog, text = log.text) => log.append({ type: "result", text, session_id: "s" });
const framesOf = (log: TurnLog, cursor = start()) => log.framesAfter(cursor)?.toString();
const settle = async () => {
  for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve));
};

describe("the frames of a turn", () => {
  it("are given from the cursor on, which moves; there are none when nothing is new", () => {
    const log = createTurnLog("r");
    const cursor = start();
    expect(log.framesAfter(cursor)).toBeUndefined();
    say(log, "a", "b");
    expect(framesOf(log, cursor)).toBe(
      'id: 1\ndata: {"type":"text_delta","text":"a","seq":1,"request_id":"r"}\n\n' +
        'id: 2\ndata: {"type":"text_delta","text":"b","seq":2,"request_id":"r"}\n\n',
    );
    expect(cursor).toEqual({ seq: 2, textEnd: 2 });
    expect(log.framesAfter(cursor)).toBeUndefined();
    log.append({ type: "thinking", text: "hm" });
    expect(framesOf(log, cursor)).toBe(
      'id: 3\ndata: {"type":"thinking","text":"hm","seq":3,"request_id":"r"}\n\n',
    );
    end(log);
    expect(framesOf(log, cursor)).toMatch(/^id: 4\n.*\n\ndata: \[DONE\]\n\n$/s);
    expect(log.framesAfter(cursor)).toBeUndefined();
  });

  it("are made once for all readers that stand at the same place, and anew for others", () => {
    const log = createTurnLog("r");
    say(log, "a", "b");
    const cursors = [start(), start()];
    const [first, second] = cursors.map((cursor) => log.framesAfter(cursor));
    expect(second).toBe(first);
    expect(cursors[1]).toEqual({ seq: 2, textEnd: 2 });
    expect(framesOf(log, log.cursorAt(1))).toMatch(/^id: 2\n/);
    expect(framesOf(log)).toBe(first!.toString());
    say(log, "c");
    expect(framesOf(log)!.length).toBeGreaterThan(first!.length);
  });

  it("can be told in another way, also in one that leaves events out", () => {
    const log = createTurnLog("r");
    log.append({ type: "thinking", text: "hm" });
    const texts = {
      of: (event: TurnEvent, seq: number) => (event.type === "text_delta" ? `${seq}:${event.text};` : ""),
      end: "over",
    };
    const cursor = start();
    expect(log.framesAfter(cursor, texts)).toBeUndefined();
    expect(cursor).toEqual({ seq: 1, textEnd: 0 });
    say(log, "a");
    framesOf(log, { ...cursor });
    expect(log.framesAfter(cursor, texts)?.toString()).toBe("2:a;");
    end(log);
    expect(log.framesAfter(cursor, texts)?.toString()).toBe("over");
    expect(ownFrames("r").end).toBe("data: [DONE]\n\n");
  });

  it("tell a reader who lagged the missed text as one, and nothing of it to one who has it", () => {
    const log = createTurnLog("r");
    say(log, "ab");
    const [lagging, reading] = [start(), start()];
    log.framesAfter(reading);
    for (let n = 0; n < MAX_EVENTS; n++) log.append({ type: "thinking", text: "" });
    expect(framesOf(log, lagging)).toMatch(
      /^id: 1\ndata: \{"type":"text_delta","text":"ab","seq":1,"request_id":"r"\}\n\nid: 2\n/,
    );
    expect(framesOf(log, reading)).toMatch(/^id: 2\ndata: \{"type":"thinking"/);
    // One text of which a part was read.
    say(log, ..."x".repeat(MAX_EVENTS * 3));
    expect(framesOf(log, lagging)).toMatch(/^id: 6001\ndata: \{"type":"text_delta","text":"x{4000}","seq"/);
    expect(lagging).toEqual({ seq: MAX_EVENTS * 4 + 1, textEnd: MAX_EVENTS * 3 + 2 });
  });

  it("have a place for each event that is kept, and for no other", () => {
    const log = createTurnLog("r");
    say(log, "ab", "c");
    expect([0, 1, 2, 3].map((seq) => log.cursorAt(seq))).toEqual([
      { seq: 0, textEnd: 0 },
      { seq: 1, textEnd: 2 },
      { seq: 2, textEnd: 3 },
      undefined,
    ]);
    for (let n = 0; n < MAX_EVENTS * 2; n++) say(log, "x");
    expect(log.firstSeq).toBe(MAX_EVENTS + 3);
    expect(log.cursorAt(log.firstSeq - 2)).toBeUndefined();
    expect(log.cursorAt(log.firstSeq - 1)).toEqual({ seq: MAX_EVENTS + 2, textEnd: MAX_EVENTS + 3 });
    const rest = log.framesAfter(log.cursorAt(log.lastSeq - 1)!)!.toString();
    expect(rest).toContain(`"seq":${log.lastSeq},`);
  });
});

describe("what a turn keeps", () => {
  const sizes: Array<[string, (text: string) => TurnEvent]> = [
    ["thoughts", (text) => ({ type: "thinking", text })],
    ["inputs of tools", (input) => ({ type: "tool_use", id: "1", name: "t", input })],
    ["results of tools", (result) => ({ type: "tool_result", id: "1", is_error: false, result })],
  ];
  it.each(sizes)("is limited in bytes, %s included; the newest is kept whatever its size", (_, event) => {
    const log = createTurnLog("r");
    const most = MAX_BYTES / MIB;
    for (let n = 0; n < most + 3; n++) log.append(event("ü".repeat(MIB / 2)));
    expect(log.lastSeq - log.firstSeq + 1).toBe(most - 1);
    expect(log.bytes).toBeGreaterThan((most - 1) * MIB);
    expect(log.bytes).toBeLessThanOrEqual(MAX_BYTES);
    log.append(event("x".repeat(2 * MAX_BYTES)));
    expect(log.firstSeq).toBe(log.lastSeq);
    expect(log.bytes).toBeGreaterThan(2 * MAX_BYTES);
    // Until something follows it.
    say(log, "x");
    expect([log.firstSeq, log.lastSeq]).toEqual([most + 5, most + 5]);
    expect(log.bytes).toBeLessThan(1_000);
  });

  it("is its text once, when it has ended with that text", () => {
    const bytes = (result: string) => {
      const log = createTurnLog("r");
      say(log, "x".repeat(MIB), "y".repeat(MIB));
      end(log, result);
      expect(framesOf(log)).toContain(`"text":"${"y".repeat(MIB)}"`);
      return log.bytes / MIB;
    };
    expect(bytes("x".repeat(MIB) + "y".repeat(MIB))).toBeCloseTo(2, 2);
    expect(bytes("z".repeat(MIB))).toBeCloseTo(3, 2);
  });

  it("is little more than the text of many small pieces, once it has ended", () => {
    const log = createTurnLog("r");
    for (let n = 0; n < 1_000; n++) say(log, "0123456789");
    expect(log.bytes).toBeGreaterThan(100_000);
    end(log);
    expect(log.bytes).toBeGreaterThan(20_000);
    expect(log.bytes).toBeLessThan(40_000);
    expect(framesOf(log)!.match(/"text":"0123456789"/g)).toHaveLength(1_000);
  });

  it("says what keeps the model from answering, until it does", () => {
    const log = createTurnLog("r");
    expect(log.trouble).toBeUndefined();
    const retry = (message: string) => log.append({ type: "retry", attempt: 1, of: 3, message });
    retry("It is overloaded.");
    expect(log.trouble).toBe("It is overloaded.");
    log.append({ type: "timeout", message: "late" } as never);
    expect(log.trouble).toBe("It is overloaded.");
    say(log, "a");
    expect(log.trouble).toBeUndefined();
    retry("It is away.");
    log.append({ type: "error", message: "no" });
    expect([log.trouble, log.ended]).toEqual(["It is away.", true]);
  });
});

describe("who reads the events of a turn", () => {
  const reading = (log: TurnLog, cursor = start(), signal?: AbortSignal) => {
    const seen: Array<[number, string]> = [];
    const state = { seen, over: false };
    void (async () => {
      for await (const event of log.events(cursor, signal)) {
        seen.push([event.seq, event.type === "text_delta" ? event.text : event.type]);
      }
      state.over = true;
    })();
    return state;
  };

  it("gets those after the cursor, waits for more, and is done with the last", async () => {
    const log = createTurnLog("r");
    say(log, "a", "b");
    const state = reading(log, { seq: 1, textEnd: 1 });
    await settle();
    expect(state).toEqual({ seen: [[2, "b"]], over: false });
    say(log, "c");
    await settle();
    expect(state.seen).toEqual([
      [2, "b"],
      [3, "c"],
    ]);
    end(log);
    await settle();
    expect(state.over).toBe(true);
    expect(state.seen.at(-1)).toEqual([4, "result"]);
    const late = reading(log);
    const after = reading(log, { seq: 4, textEnd: 3 });
    await settle();
    expect(late.seen).toEqual([
      [1, "a"],
      [2, "b"],
      [3, "c"],
      [4, "result"],
    ]);
    expect([late.over, after]).toEqual([true, { seen: [], over: true }]);
  });

  it("begins with the oldest that is kept", async () => {
    const log = createTurnLog("r");
    for (let n = 0; n < MAX_EVENTS + 10; n++) say(log, "x");
    end(log);
    const state = reading(log);
    await settle();
    expect(state.seen[0]).toEqual([12, "x"]);
    expect(state.seen).toHaveLength(MAX_EVENTS);
  });

  it("is let go at once by its signal, before, while it waits, and between two events", async () => {
    const log = createTurnLog("r");
    say(log, "a", "b");
    const gone = reading(log, start(), AbortSignal.abort());
    await settle();
    expect(gone).toEqual({ seen: [], over: true });
    const waits = new AbortController();
    const state = reading(log, start(), waits.signal);
    await settle();
    expect([state.seen.length, state.over]).toEqual([2, false]);
    waits.abort();
    await settle();
    expect(state.over).toBe(true);
    const between = new AbortController();
    const seen: number[] = [];
    for await (const { seq } of log.events(start(), between.signal)) {
      seen.push(seq);
      between.abort();
    }
    expect(seen).toEqual([1]);
  });

  it("is woken once for what came at the same time, and not any more when it has left", async () => {
    const log = createTurnLog("r");
    const wakes = { stays: 0, leaves: 0 };
    log.subscribe(() => wakes.stays++);
    const leave = log.subscribe(() => wakes.leaves++);
    say(log, "a", "b");
    expect(wakes).toEqual({ stays: 0, leaves: 0 });
    await settle();
    expect(wakes).toEqual({ stays: 1, leaves: 1 });
    leave();
    say(log, "c");
    await settle();
    end(log);
    await settle();
    expect(wakes).toEqual({ stays: 3, leaves: 1 });
  });
});
