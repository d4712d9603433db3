import type { SerializeAddon } from "@xterm/addon-serialize";
import type { Terminal } from "@xterm/headless";
import type { LiveTerminal } from "../types.ts";

export const COLS = 200;
export const ROWS = 50;
/** Earlier lines that a snapshot draws. */
const SCROLLBACK = 1000;
/** Output that waits to be parsed: above this the program is not read, until no more than the other is left. */
const MOST_WAITING = 512 * 1024;
const FEW_WAITING = 128 * 1024;

/** A program's screen, as its output has drawn it so far. */
export interface Screen extends Pick<LiveTerminal, "snapshot" | "screen" | "onOutput"> {
  /** Takes output; false asks for a pause until {@link ScreenOptions.onRoom}. */
  write(bytes: Uint8Array): boolean;
  /** The visible text as parsed so far; output may wait. */
  text(): string;
  /** Resolves when all output so far is on the screen. */
  settled(): Promise<void>;
  dispose(): void;
}

export interface ScreenOptions {
  /** What a terminal answers to a program that asks it, to be written to the program. */
  onAnswer(answer: string): void;
  /** More output may be written. */
  onRoom(): void;
}

/** Loads the model of a screen, and makes one. */
export async function createScreen({ onAnswer, onRoom }: ScreenOptions): Promise<Screen> {
  const [headless, serialize] = await Promise.all([
    import("@xterm/headless"),
    import("@xterm/addon-serialize"),
  ]);
  const terminal: Terminal = new headless.default.Terminal({
    cols: COLS,
    rows: ROWS,
    scrollback: SCROLLBACK,
    allowProposedApi: true,
  });
  const addon: SerializeAddon = new serialize.default.SerializeAddon();
  terminal.loadAddon(addon as never);
  terminal.onData(onAnswer);

  const listeners = new Set<(bytes: Uint8Array) => void>();
  /** Snapshots that are due; meanwhile output is held, so that it follows them. */
  let due: Promise<Uint8Array> | undefined;
  let held: Uint8Array[] = [];
  let waiting = 0;
  let full = false;
  let over = false;

  const parse = (bytes: Uint8Array) => {
    for (const listener of [...listeners]) listener(bytes);
    terminal.write(bytes, () => taken(bytes.length));
  };
  const taken = (count: number) => {
    waiting -= count;
    if (!full || waiting > FEW_WAITING) return;
    full = false;
    onRoom();
  };
  const settled = () => new Promise<void>((done) => (over ? done() : terminal.write("", done)));
  const release = () => {
    due = undefined;
    const after = held;
    held = [];
    for (const bytes of after) parse(bytes);
  };
  const text = () => {
    const { active } = terminal.buffer;
    const rows: string[] = [];
    for (let row = 0; row < ROWS; row++)
      rows.push(active.getLine(active.baseY + row)?.translateToString(true) ?? "");
    return rows.join("\n");
  };

  return {
    write(bytes) {
      if (over || bytes.length === 0) return true;
      waiting += bytes.length;
      if (due) held.push(bytes);
      else parse(bytes);
      full ||= waiting > MOST_WAITING;
      return !full;
    },
    text,
    settled,
    snapshot() {
      due ??= settled().then(() => {
        // Whoever waits adds a listener before what was held goes on.
        setImmediate(release);
        return Buffer.from(addon.serialize({ scrollback: SCROLLBACK }), "utf8");
      });
      return due;
    },
    async screen() {
      await settled();
      const { cursorX, cursorY } = terminal.buffer.active;
      return { text: text(), cursorRow: cursorY, cursorCol: cursorX, cols: COLS, rows: ROWS };
    },
    onOutput(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    dispose() {
      over = true;
      listeners.clear();
      terminal.dispose();
    },
  };
}
