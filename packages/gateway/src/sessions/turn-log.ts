import { DONE, isFinal, type TurnEvent } from "@agent-gateway/contract";

/** An event in the log, with what a reader needs to go on from it. */
export interface Entry {
  readonly seq: number;
  readonly event: TurnEvent;
  /** Length of the reply's text up to and including this event. */
  readonly textEnd: number;
  readonly bytes: number;
}

/** Where a reader stands. Start at `{ seq: 0, textEnd: 0 }`. */
export interface Cursor {
  seq: number;
  textEnd: number;
}

/** What is kept for readers that come late; the last event is kept beyond it. */
export const MAX_EVENTS = 2000;
export const MAX_BYTES = 4 * 1024 * 1024;
/** Evicted entries stay in the array until it is worth moving the rest; big ones go at once. */
const COMPACT_BYTES = 64 * 1024;
/** An event's weight besides its text. */
const OVERHEAD_BYTES = 120;

/**
 * The append-only event log of one turn: one writer, any number of readers, each with a cursor of its own. A reader
 * that lags or leaves costs the others nothing.
 */
export interface TurnLog {
  readonly requestId: string;
  /** Number of the newest event. */
  readonly lastSeq: number;
  /** Number of the oldest event still kept. */
  readonly firstSeq: number;
  /** True when the last event is in. */
  readonly ended: boolean;
  /** About how much memory the log holds. */
  readonly bytes: number;
  /** The reply's text so far. */
  readonly text: string;
  /** What keeps the model from answering just now: one sentence. */
  readonly trouble: string | undefined;
  append(event: TurnEvent): void;
  /** Calls `wake` after each burst of new events, and once at the end. Returns the unsubscriber. */
  subscribe(wake: () => void): () => void;
  /**
   * SSE frames after `cursor`, and moves it to the newest event. A cursor that fell behind what is kept gets the
   * missed text as one `text_delta`, so that the text it reads is always whole. Ends with `[DONE]`.
   */
  framesAfter(cursor: Cursor): Buffer | undefined;
  /** The cursor that stands right after event `seq`; undefined when that event is not kept any more. */
  cursorAt(seq: number): Cursor | undefined;
  /** Events after `cursor`, waiting for more until the last one. */
  events(cursor: Cursor, signal?: AbortSignal): AsyncIterable<TurnEvent & { seq: number }>;
}

export function createTurnLog(requestId: string): TurnLog {
  let entries: Entry[] = [];
  let head = 0;
  let bytes = 0;
  let lastSeq = 0;
  let ended = false;
  let text = "";
  let trouble: string | undefined;
  let wakePending = false;
  const readers = new Set<() => void>();
  const idJson = JSON.stringify(requestId);
  let batch: { from: number; to: number; data: Buffer } | undefined;

  const evict = () => {
    let freed = 0;
    while (entries.length - head > 1 && (entries.length - head > MAX_EVENTS || bytes > MAX_BYTES)) {
      const size = entries[head]!.bytes;
      bytes -= size;
      freed += size;
      head++;
    }
    if (freed > COMPACT_BYTES || head > MAX_EVENTS) {
      entries = entries.slice(head);
      head = 0;
    }
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
      return entries[head]?.seq ?? 1;
    },
    get ended() {
      return ended;
    },
    get bytes() {
      return bytes + text.length;
    },
    get text() {
      return text;
    },
    get trouble() {
      return trouble;
    },
    append(event) {
      if (ended) return;
      if (event.type !== "timeout" && event.type !== "error") {
        trouble = event.type === "retry" ? event.message : undefined;
      }
      let size = OVERHEAD_BYTES;
      if (event.type === "text_delta") {
        text += event.text;
        size += Buffer.byteLength(event.text);
      } else if (event.type === "thinking" || event.type === "result") size += Buffer.byteLength(event.text);
      else if (event.type === "tool_use") size += Buffer.byteLength(event.input ?? "");
      else if (event.type === "tool_result") size += Buffer.byteLength(event.result ?? "");
      lastSeq++;
      entries.push({ seq: lastSeq, event, textEnd: text.length, bytes: size });
      bytes += size;
      if (isFinal(event)) ended = true;
      evict();
      if (!wakePending && readers.size > 0) {
        wakePending = true;
        process.nextTick(wakeAll);
      }
    },
    subscribe(wake) {
      readers.add(wake);
      return () => readers.delete(wake);
    },
    framesAfter(cursor) {
      if (cursor.seq >= lastSeq) return undefined;
      const from = cursor.seq;
      if (batch?.from === from && batch.to === lastSeq) {
        cursor.seq = lastSeq;
        cursor.textEnd = text.length;
        return batch.data;
      }
      let data = "";
      const first = entries[head]!;
      if (from + 1 < first.seq) {
        const start =
          first.event.type === "text_delta" ? first.textEnd - first.event.text.length : first.textEnd;
        if (start > cursor.textEnd) {
          const missed = { type: "text_delta", text: text.slice(cursor.textEnd, start) } as const;
          data += encode(missed, first.seq - 1, idJson);
        }
      }
      const skip = Math.max(0, from + 1 - first.seq);
      for (let index = head + skip; index < entries.length; index++) {
        const { event, seq } = entries[index]!;
        data += encode(event, seq, idJson);
      }
      if (ended) data += `data: ${DONE}\n\n`;
      const buffer = Buffer.from(data);
      batch = ended ? undefined : { from, to: lastSeq, data: buffer };
      cursor.seq = lastSeq;
      cursor.textEnd = text.length;
      return buffer;
    },
    cursorAt(seq) {
      if (seq === 0) return log.firstSeq === 1 ? { seq: 0, textEnd: 0 } : undefined;
      const first = entries[head];
      if (!first || seq < first.seq - 1) return undefined;
      if (seq === first.seq - 1) {
        const own = first.event.type === "text_delta" ? first.event.text.length : 0;
        return { seq, textEnd: first.textEnd - own };
      }
      const entry = entries[head + seq - first.seq];
      return entry && { seq, textEnd: entry.textEnd };
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
          const entry = entries[head + next - first];
          if (entry) {
            next++;
            yield { ...entry.event, seq: entry.seq };
            if (isFinal(entry.event)) return;
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

/** One SSE frame. `idJson` is the request id as JSON text. */
export function encode(event: TurnEvent, seq: number, idJson: string): string {
  const json =
    event.type === "text_delta"
      ? `{"type":"text_delta","text":${JSON.stringify(event.text)},"seq":${seq},"request_id":${idJson}}`
      : `${JSON.stringify(event).slice(0, -1)},"seq":${seq},"request_id":${idJson}}`;
  return `id: ${seq}\ndata: ${json}\n\n`;
}
