import type { Clock } from "../../lib/clock.ts";
import type { TurnInput } from "../types.ts";
import type { InputLine } from "./input-line.ts";
import { CLEAR_LINE, ENTER } from "./keys.ts";
import type { Link } from "./link.ts";
import { pasteOf } from "./paste.ts";
import type { Run } from "./run.ts";

/** A message waits this long for a person who has text in the input line. */
const PERSON_MS = 30_000;
/** A pasted text is drawn within this, if the program draws it at all. */
const PASTED_MS = 500;
/** The program takes a message within this after Enter; then Enter is pressed again. */
const TAKEN_MS = 2000;
const MOST_ENTERS = 3;

/** Waits until the program takes input; false when the run is over before. */
export async function untilReady(link: Link, run: Run): Promise<boolean> {
  while (!run.over) {
    const seen = link.events;
    if ((await link.reading()).ready) return !run.over;
    await link.changed(250, seen);
  }
  return false;
}

/** Waits until nobody has text in the input line; clears it in the end. */
export async function freeLine(link: Link, line: InputLine, run: Run, clock: Clock): Promise<void> {
  const until = clock.elapsed() + PERSON_MS;
  while (!line.empty && !run.over) {
    if (clock.elapsed() < until) {
      await link.changed(Math.min(1000, until - clock.elapsed()));
      continue;
    }
    line.clear();
    await link.drawn(() => link.write(CLEAR_LINE), PASTED_MS);
  }
}

/** Pastes texts one after another, each when the one before is drawn. */
export async function paste(link: Link, texts: readonly string[]): Promise<void> {
  for (const text of texts) await link.drawn(() => link.write(text), PASTED_MS);
}

/** Presses Enter until the program has taken the message. */
export async function enter(link: Link, run: Run, clock: Clock): Promise<void> {
  for (let count = 0; count < MOST_ENTERS && !run.over; count++) {
    link.write(ENTER);
    const until = clock.elapsed() + TAKEN_MS;
    while (clock.elapsed() < until) {
      if (run.taken || run.over || (await link.reading()).busy) return;
      await link.changed(100);
    }
    if (!(await link.reading()).ready) return;
  }
}

/**
 * What is pasted for a message: the text with the paths of files, and behind it each image by its path alone, which
 * the program then takes as an image. In front, a path would pass for a command.
 */
export function pastesFor(input: TurnInput, before: string, plain: (text: string) => string) {
  const isImage = ({ mime }: TurnInput["files"][number]) => mime.startsWith("image/");
  const others = input.files.filter((file) => !isImage(file)).map(({ path }) => `[File: ${path}]`);
  const text = plain([before, input.text, ...others].filter((part) => part !== "").join("\n\n"));
  const images = input.files.filter(isImage).flatMap(({ path }) => [" ", pasteOf(path)]);
  return { text, pastes: [...(text === "" ? [] : [pasteOf(text)]), ...images] };
}
