import { createBell } from "../../lib/bell.ts";
import { sleep } from "../../lib/clock.ts";
import type { OpenOptions, ProgramTerminal, ScreenReading } from "../types.ts";
import { ENTER, ESCAPE } from "./keys.ts";
import { type ProgramOptions, startInTerminal, type TerminalProgram } from "./program.ts";
import { acceptingKey, readScreen } from "./reading.ts";
import { COLS, createScreen, ROWS, type Screen } from "./screen.ts";

/** How soon a screen that changes is looked at again. */
const LOOK_MS = 25;
/** After a key the program draws its screen anew; a loaded machine takes its time. */
const REDRAW_MS = 2000;
/** Output that stops for this long has drawn what it was to draw. */
const DRAWN_MS = 40;
/** More steps than any question has options. */
const MAX_STEPS = 8;
const BELL = "output";

/** The program in its terminal, over a second start if need be. */
export interface Link {
  program: TerminalProgram;
  readonly screen: Screen;
  printedAt: number;
  start(command: readonly string[]): Promise<TerminalProgram>;
  write(keys: string): void;
  reading(): Promise<ScreenReading>;
  /** Counts what {@link changed} waits for. */
  readonly events: number;
  /**
   * Resolves when something was printed or {@link wake} was called since `events` stood at `seen` (now), or after `ms`;
   * but not at once.
   */
  changed(ms: number, seen?: number): Promise<void>;
  wake(): void;
  /** Resolves when the program has drawn what follows `act`, or has drawn nothing for `ms`. */
  drawn(act: () => void, ms?: number): Promise<void>;
  press(key: "escape" | "answer"): Promise<boolean>;
}

export async function createLink(
  options: Pick<OpenOptions, "log" | "clock" | "onOutput" | "cwd">,
  launch: Pick<ProgramOptions, "env" | "reaper">,
): Promise<Link> {
  const { clock } = options;
  const bell = createBell(clock);
  const screen = await createScreen({
    onAnswer: (answer) => link.program.write(answer),
    onRoom: () => link.program.resume(),
  });
  let printed = 0;
  let events = 0;
  const ring = () => {
    events++;
    bell.ring(BELL);
  };

  /** Moves to what accepts the question and confirms it, each step only after the screen was read again. */
  async function answer(): Promise<boolean> {
    let pressed = false;
    for (let step = 0; step < MAX_STEPS; step++) {
      await screen.settled();
      const text = screen.text();
      const { dialog } = readScreen(text);
      if (dialog === null) return pressed;
      const key = acceptingKey(text, dialog);
      if (key === null) return false;
      const again = pressed && key.last && key.keys !== ENTER;
      await link.drawn(() => link.write(again ? ENTER : key.keys));
      pressed = key.last;
    }
    return false;
  }

  const link: Link = {
    program: undefined as unknown as TerminalProgram,
    screen,
    printedAt: clock.elapsed(),
    async start(command) {
      const program = await startInTerminal({
        ...launch,
        command,
        cwd: options.cwd,
        log: options.log,
        clock,
        onOutput(bytes) {
          options.onOutput?.();
          link.printedAt = clock.elapsed();
          printed++;
          if (!screen.write(bytes)) program.pause();
          ring();
        },
      });
      link.program = program;
      return program;
    },
    write: (keys) => link.program.write(keys),
    async reading() {
      await screen.settled();
      return readScreen(screen.text());
    },
    get events() {
      return events;
    },
    async changed(ms, seen = events) {
      await sleep(clock, Math.min(ms, LOOK_MS));
      if (events === seen && ms > LOOK_MS) await bell.wait(BELL, ms - LOOK_MS);
    },
    wake: ring,
    async drawn(act, ms = REDRAW_MS) {
      const before = printed;
      const until = clock.elapsed() + ms;
      act();
      while (printed === before && clock.elapsed() < until) await bell.wait(BELL, until - clock.elapsed());
      for (let seen = before; seen !== printed && clock.elapsed() < until; ) {
        seen = printed;
        await sleep(clock, DRAWN_MS);
      }
    },
    async press(key) {
      if (key === "answer") return answer();
      link.write(ESCAPE);
      return true;
    },
  };
  return link;
}

/** What people and the watchdog get of a link. */
export function terminalOf(link: Link, type: (keys: string) => void, ended: Promise<void>): ProgramTerminal {
  const { screen } = link;
  return {
    cols: COLS,
    rows: ROWS,
    snapshot: screen.snapshot,
    screen: screen.screen,
    onOutput: screen.onOutput,
    type,
    ended,
    reading: link.reading,
    printedAt: () => link.printedAt,
    press: link.press,
  };
}
