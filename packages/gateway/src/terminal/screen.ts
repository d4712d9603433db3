import type { LiveTerminal } from "../runtimes/index.ts";

/** A reader with this much unread is shown nothing more until it has caught up. */
const BEHIND_BYTES = 1024 * 1024;
/** What it may still have unread when it is shown the screen anew. */
const CAUGHT_UP_BYTES = 64 * 1024;

/** What a reader has on its screen goes first when it is drawn anew. */
const RESET = Buffer.from("\u001bc");
/** Close code of the contract: the program of the terminal has ended. */
const PROGRAM_ENDED = 4410;
const ENDED = "The program has ended.";

/** A WebSocket, as far as a screen needs it. */
export interface Reader {
  /** Bytes that wait for the peer to read. */
  readonly bufferedAmount: number;
  send(bytes: Uint8Array, sent: () => void): void;
  close(code: number, reason: string): void;
}

/**
 * `drawing`: gets the whole screen next, once it is known. `live`: gets output as it comes. `behind`: reads too slowly;
 * misses output and is drawn the screen when it has caught up.
 */
type State = "drawing" | "live" | "behind";

export interface Screen {
  add(reader: Reader): void;
  remove(reader: Reader): void;
}

/**
 * Shows one terminal to any number of readers. Each gets the screen first, then all output; output of one turn of the
 * event loop goes out together. Nothing is kept for a reader that falls behind.
 */
export function createScreen(terminal: LiveTerminal): Screen {
  const readers = new Map<Reader, State>();
  /** Those that have been drawn a screen before. */
  const drawn = new WeakSet<Reader>();
  let output: Uint8Array[] = [];
  let flushing: NodeJS.Immediate | undefined;
  let unsubscribe: (() => void) | undefined;
  let drawing = false;
  let over = false;

  const show = (reader: Reader, bytes: Uint8Array) => {
    reader.send(bytes, () => {
      if (readers.get(reader) !== "behind" || reader.bufferedAmount > CAUGHT_UP_BYTES) return;
      readers.set(reader, "drawing");
      void draw();
    });
  };
  const flush = () => {
    clearImmediate(flushing);
    flushing = undefined;
    if (output.length === 0) return;
    const bytes = output.length === 1 ? output[0]! : Buffer.concat(output);
    output = [];
    for (const [reader, state] of readers) {
      if (state !== "live") continue;
      if (reader.bufferedAmount >= BEHIND_BYTES) readers.set(reader, "behind");
      else show(reader, bytes);
    }
  };
  const stop = () => {
    clearImmediate(flushing);
    flushing = undefined;
    output = [];
    unsubscribe?.();
    unsubscribe = undefined;
  };
  const end = () => {
    if (over) return;
    over = true;
    flush();
    stop();
    for (const reader of readers.keys()) reader.close(PROGRAM_ENDED, ENDED);
  };
  const waiting = () => [...readers].filter(([, state]) => state === "drawing").map(([reader]) => reader);
  /** One snapshot serves all who wait: what comes after it reaches them as output. */
  const draw = async () => {
    if (over) return;
    unsubscribe ??= terminal.onOutput((bytes) => {
      output.push(bytes);
      flushing ??= setImmediate(flush);
    });
    if (drawing) return;
    drawing = true;
    try {
      while (!over && waiting().length > 0) {
        const bytes = await terminal.snapshot();
        // The output that the live ones have not got yet is in it already, so no await may lie between.
        flush();
        for (const reader of waiting()) {
          readers.set(reader, "live");
          if (!over) show(reader, drawn.has(reader) ? Buffer.concat([RESET, bytes]) : bytes);
          drawn.add(reader);
        }
      }
    } catch {
      end();
    }
    drawing = false;
  };
  void terminal.ended.then(end);

  return {
    add(reader) {
      readers.set(reader, "drawing");
      if (over) reader.close(PROGRAM_ENDED, ENDED);
      else void draw();
    },
    remove(reader) {
      if (readers.delete(reader) && readers.size === 0) stop();
    },
  };
}
