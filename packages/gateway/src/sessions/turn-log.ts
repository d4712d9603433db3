import { DONE, isFinal, type TurnEvent } from "@agent-gateway/contract";
import { growingText } from "../lib/growing-text.ts";

/** A reader's position. Start at `{ seq: 0, textEnd: 0 }`. */
export interface Cursor {
  seq: number;
  textEnd: number;
}

/** How much is kept for late readers; the last event is always kept. */
export const MAX_EVENTS = 2000;
export const MAX_BYTES = 4 * 1024 * 1024;
/** Evicted entries stay in the array until it is worth moving the rest; big ones are dropped at once. */
const COMPACT_BYTES = 64 * 1024;
/** An event's size besides its text. */
const OVERHEAD_BYTES = 120;
/** Size of a delta of an ended turn, besides its text. */
const ENDED_EVENT_BYTES = 16;

/** How a stream tells a turn. */
export interface TurnFrames {
  /** The frames of an event; empty if the stream does not tell it. */
  of(event: TurnEvent, seq: number): string;
  /** What follows the last event. */
  end: string;
}

/**
 * The append-only event log of one turn: one writer, any number of readers, each with its own cursor. A reader that
 * lags or leaves costs the others nothing.
 */
export interface TurnLog {
  readonly requestId: string;
  /** Number of the newest event. */
  readonly lastSeq: number;
  /** Number of the oldest event still kept. */
  readonly firstSeq: number;
  /** True when the last event has been appended. */
  readonly ended: boolean;
  /** Approximate memory that the log uses. */
  readonly bytes: number;
  /** The reply's text so far. */
  readonly text: string;
  /** What keeps the model from answering right now, in one sentence. */
  readonly trouble: string | undefined;
  append(event: TurnEvent): void;
  /** Calls `wake` after each burst of new events, and once at the end. Returns the unsubscribe function. */
  subscribe(wake: () => void): () => void;
  /**
   * Returns SSE frames after `cursor`, and moves it to the newest event. A cursor that fell behind what is kept gets
   * the missed text as one `text_delta`, so that its text is always complete. Ends with `[DONE]`, or as `frames` end.
   */
  framesAfter(cursor: Cursor, frames?: TurnFrames): Buffer | undefined;
  /** The cursor right after event `seq`; undefined when that event is no longer kept. */
  cursorAt(seq: number): Cursor | undefined;
  /** Events after `cursor`; waits for more until the last one. */
  events(cursor: Cursor, signal?: AbortSignal): AsyncIterable<TurnEvent & { seq: number }>;
}

/** A text delta is kept as its text alone: there are thousands of them. */
type Kept = Exclude<TurnEvent, { type: "text_delta" }> | string;

/** Approximate memory that an event uses. */
function sizeOf(event: Kept): number {
  if (typeof event === "string") return OVERHEAD_BYTES + event.length;
  switch (event.type) {
    case "thinking":
    case "result":
      return OVERHEAD_BYTES + Buffer.byteLength(event.text);
    case "tool_use":
      return OVERHEAD_BYTES + Buffer.byteLength(event.input ?? "");
    case "tool_result":
      return OVERHEAD_BYTES + Buffer.byteLength(event.result ?? "");
    default:
      return OVERHEAD_BYTES;
  }
}

export function createTurnLog(requestId: string): TurnLog {
  /** Events from `firstSeq` on; in an ended turn, null stands for a delta, whose text is in `text`. */
  let events: Array<Kept | null> = [];
  /** Length of the reply's text up to and including each event. */
  let textEnds: number[] = [];
  let head = 0;
  /** Number of events before the first in the arrays, and the length of their text. */
  let dropped = 0;
  let droppedText = 0;
  let bytes = 0;
  let lastSeq = 0;
  let ended = false;
  const text = growingText();
  let trouble: string | undefined;
  let wakePending = false;
  const readers = new Set<() => void>();
  const own = ownFrames(requestId);
  let batch: { from: number; to: number; data: Buffer } | undefined;

  const textStart = (index: number) => (index === 0 ? droppedText : textEnds[index - 1]!);
  const keptAt = (index: number): Kept =>
    events[index] ?? text.toString().slice(textStart(index), textEnds[index]);
  const eventAt = (index: number): TurnEvent => {
    const kept = keptAt(index);
    return typeof kept === "string" ? { type: "text_delta", text: kept } : kept;
  };

  const dropFront = () => {
    droppedText = textStart(head);
    dropped += head;
    events = events.slice(head);
    textEnds = textEnds.slice(head);
    head = 0;
  };
  const evict = () => {
    let freed = 0;
    while (events.length - head > 1 && (events.length - head > MAX_EVENTS || bytes > MAX_BYTES)) {
      const size = sizeOf(keptAt(head));
      bytes -= size;
      freed += size;
      head++;
    }
    if (freed > COMPACT_BYTES || head > MAX_EVENTS) dropFront();
  };

  /** An ended turn is kept for late readers, so it holds its text only once. */
  const shrink = () => {
    dropFront();
    bytes = 0;
    const whole = text.toString();
    events = events.map((event) => {
      if (typeof event === "string" || event === null) return null;
      // Comparing also flattens the text's many pieces into one string.
      const same = event.type === "result" && event.text === whole;
      bytes += same ? OVERHEAD_BYTES : sizeOf(event);
      return same ? { ...event, text: whole } : event;
    });
    bytes += events.length * ENDED_EVENT_BYTES;
  };

  const wakeAll = () => {
    wakePending = false;
    for (const wake of readers) wake();
  };

  const log: TurnLog = {
    requestId,
    get lastSeq() {
      return lastSeq;
    },
    get firstSeq() {
      return dropped + head + 1;
    },
    get ended() {
      return ended;
    },
    get bytes() {
      return bytes + text.length;
    },
    get text() {
      return text.toString();
    },
    get trouble() {
      return trouble;
    },
    append(event) {
      if (ended) return;
      if (event.type !== "timeout" && event.type !== "error") {
        trouble = event.type === "retry" ? event.message : undefined;
      }
      const kept = event.type === "text_delta" ? event.text : event;
      if (typeof kept === "string") text.add(kept);
      lastSeq++;
      events.push(kept);
      textEnds.push(text.length);
      bytes += sizeOf(kept);
      evict();
      if (isFinal(event)) {
        ended = true;
        shrink();
      }
      if (!wakePending && readers.size > 0) {
        wakePending = true;
        process.nextTick(wakeAll);
      }
    },
    subscribe(wake) {
      readers.add(wake);
      return () => readers.delete(wake);
    },
    framesAfter(cursor, frames = own) {
      if (cursor.seq >= lastSeq) return undefined;
      const from = cursor.seq;
      if (frames === own && batch?.from === from && batch.to === lastSeq) {
        cursor.seq = lastSeq;
        cursor.textEnd = text.length;
        return batch.data;
      }
      let data = "";
      const start = textStart(head);
      if (from < dropped + head && start > cursor.textEnd) {
        const missed = { type: "text_delta", text: text.toString().slice(cursor.textEnd, start) } as const;
        data += frames.of(missed, dropped + head);
      }
      for (let index = Math.max(head, from - dropped); index < events.length; index++) {
        data += frames.of(eventAt(index), dropped + index + 1);
      }
      if (ended) data += frames.end;
      const buffer = data === "" ? undefined : Buffer.from(data);
      if (frames === own) batch = ended || !buffer ? undefined : { from, to: lastSeq, data: buffer };
      cursor.seq = lastSeq;
      cursor.textEnd = text.length;
      return buffer;
    },
    cursorAt(seq) {
      if (seq < dropped + head || seq > lastSeq) return undefined;
      return { seq, textEnd: textStart(seq - dropped) };
    },
    async *events(cursor, signal) {
      let wake: () => void = () => {};
      const unsubscribe = log.subscribe(() => wake());
      const onAbort = () => wake();
      signal?.addEventListener("abort", onAbort, { once: true });
      try {
        let next = cursor.seq + 1;
        while (!signal?.aborted) {
          const first = log.firstSeq;
          if (next < first) next = first;
          if (next <= lastSeq) {
            const event = eventAt(next - dropped - 1);
            yield { ...event, seq: next };
            next++;
            if (isFinal(event)) return;
            continue;
          }
          if (ended) return;
          await new Promise<void>((resolve) => {
            wake = resolve;
            if (next <= lastSeq || ended || signal?.aborted) resolve();
          });
        }
      } finally {
        unsubscribe();
        signal?.removeEventListener("abort", onAbort);
      }
    },
  };
  return log;
}

/** The gateway's own frames of a turn. */
export function ownFrames(requestId: string): TurnFrames {
  const tail = `,"request_id":${JSON.stringify(requestId)}}\n\n`;
  return {
    // The usual event in as few pieces as possible: each costs an object.
    of: (event, seq) =>
      event.type === "text_delta"
        ? `id: ${seq}\ndata: {"type":"text_delta","text":${JSON.stringify(event.text)},"seq":${seq}${tail}`
        : `id: ${seq}\ndata: ${JSON.stringify(event).slice(0, -1)},"seq":${seq}${tail}`,
    end: `data: ${DONE}\n\n`,
  };
}
