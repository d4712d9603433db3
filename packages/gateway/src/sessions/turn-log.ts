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

/** Events that do not show that the model goes on. */
const SAYS_NOTHING: ReadonlySet<TurnEvent["type"]> = new Set(["timeout", "error", "incident"]);

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

export const createTurnLog = (requestId: string): TurnLog => new EventLog(requestId);

/** A class, because V8 keeps an object literal with accessors as a hash table, and this is used for every delta. */
class EventLog implements TurnLog {
  readonly requestId: string;
  lastSeq = 0;
  ended = false;
  trouble: string | undefined;
  /** Events from `firstSeq` on; in an ended turn, null stands for a delta, whose text is in `#text`. */
  #events: Array<Kept | null> = [];
  /** Length of the reply's text up to and including each event. */
  #textEnds: number[] = [];
  #head = 0;
  /** Number of events before the first in the arrays, and the length of their text. */
  #dropped = 0;
  #droppedText = 0;
  #bytes = 0;
  readonly #text = growingText();
  #wakePending = false;
  readonly #readers = new Set<() => void>();
  readonly #own: TurnFrames;
  #batch: { from: number; to: number; data: Buffer } | undefined;

  constructor(requestId: string) {
    this.requestId = requestId;
    this.#own = ownFrames(requestId);
  }

  get firstSeq(): number {
    return this.#dropped + this.#head + 1;
  }
  get bytes(): number {
    return this.#bytes + this.#text.length;
  }
  get text(): string {
    return this.#text.toString();
  }

  append(event: TurnEvent): void {
    if (this.ended) return;
    const kept = event.type === "text_delta" ? event.text : event;
    if (event.type === "retry") this.trouble = event.message;
    else if (typeof kept === "string" || !SAYS_NOTHING.has(event.type)) this.trouble = undefined;
    if (typeof kept === "string") this.#text.add(kept);
    this.lastSeq++;
    this.#events.push(kept);
    this.#textEnds.push(this.#text.length);
    this.#bytes += sizeOf(kept);
    this.#evict();
    if (isFinal(event)) {
      this.ended = true;
      this.#shrink();
    }
    if (!this.#wakePending && this.#readers.size > 0) {
      this.#wakePending = true;
      process.nextTick(wakeAll, this);
    }
  }

  subscribe(wake: () => void): () => void {
    this.#readers.add(wake);
    return () => this.#readers.delete(wake);
  }

  wakeAll(): void {
    this.#wakePending = false;
    for (const wake of this.#readers) wake();
  }

  framesAfter(cursor: Cursor, frames = this.#own): Buffer | undefined {
    if (cursor.seq >= this.lastSeq) return undefined;
    const from = cursor.seq;
    const to = this.lastSeq;
    if (frames === this.#own && this.#batch?.from === from && this.#batch.to === to) {
      cursor.seq = to;
      cursor.textEnd = this.#text.length;
      return this.#batch.data;
    }
    let data = "";
    const start = this.#textStart(this.#head);
    const gone = this.#dropped + this.#head;
    if (from < gone && start > cursor.textEnd) {
      const missed = { type: "text_delta", text: this.text.slice(cursor.textEnd, start) } as const;
      data += frames.of(missed, gone);
    }
    for (let index = Math.max(this.#head, from - this.#dropped); index < this.#events.length; index++) {
      data += frames.of(this.#eventAt(index), this.#dropped + index + 1);
    }
    if (this.ended) data += frames.end;
    const buffer = data === "" ? undefined : Buffer.from(data);
    if (frames === this.#own) this.#batch = this.ended || !buffer ? undefined : { from, to, data: buffer };
    cursor.seq = to;
    cursor.textEnd = this.#text.length;
    return buffer;
  }

  cursorAt(seq: number): Cursor | undefined {
    if (seq < this.#dropped + this.#head || seq > this.lastSeq) return undefined;
    return { seq, textEnd: this.#textStart(seq - this.#dropped) };
  }

  async *events(cursor: Cursor, signal?: AbortSignal): AsyncGenerator<TurnEvent & { seq: number }> {
    let wake: () => void = () => {};
    const unsubscribe = this.subscribe(() => wake());
    const onAbort = () => wake();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      let next = cursor.seq + 1;
      while (!signal?.aborted) {
        const first = this.firstSeq;
        if (next < first) next = first;
        if (next <= this.lastSeq) {
          const event = this.#eventAt(next - this.#dropped - 1);
          yield { ...event, seq: next };
          next++;
          if (isFinal(event)) return;
          continue;
        }
        if (this.ended) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (next <= this.lastSeq || this.ended || signal?.aborted) resolve();
        });
      }
    } finally {
      unsubscribe();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  #textStart(index: number): number {
    return index === 0 ? this.#droppedText : this.#textEnds[index - 1]!;
  }
  #keptAt(index: number): Kept {
    return this.#events[index] ?? this.text.slice(this.#textStart(index), this.#textEnds[index]);
  }
  #eventAt(index: number): TurnEvent {
    const kept = this.#keptAt(index);
    return typeof kept === "string" ? { type: "text_delta", text: kept } : kept;
  }

  #dropFront(): void {
    this.#droppedText = this.#textStart(this.#head);
    this.#dropped += this.#head;
    this.#events = this.#events.slice(this.#head);
    this.#textEnds = this.#textEnds.slice(this.#head);
    this.#head = 0;
  }
  #evict(): void {
    let freed = 0;
    for (;;) {
      const kept = this.#events.length - this.#head;
      if (kept <= 1 || (kept <= MAX_EVENTS && this.#bytes <= MAX_BYTES)) break;
      const size = sizeOf(this.#keptAt(this.#head));
      this.#bytes -= size;
      freed += size;
      this.#head++;
    }
    if (freed > COMPACT_BYTES || this.#head > MAX_EVENTS) this.#dropFront();
  }

  /** An ended turn is kept for late readers, so it holds its text only once. */
  #shrink(): void {
    this.#dropFront();
    this.#bytes = 0;
    const whole = this.text;
    this.#events = this.#events.map((event) => {
      if (typeof event === "string" || event === null) return null;
      // Comparing also flattens the text's many pieces into one string.
      const same = event.type === "result" && event.text === whole;
      this.#bytes += same ? OVERHEAD_BYTES : sizeOf(event);
      return same ? { ...event, text: whole } : event;
    });
    this.#bytes += this.#events.length * ENDED_EVENT_BYTES;
  }
}

const wakeAll = (log: EventLog) => log.wakeAll();

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
