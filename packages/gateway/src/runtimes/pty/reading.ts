import type { ScreenReading } from "../types.ts";

const RULE = /^\s*[╭╰├┌└]?[─━═]{8}/;
const INPUT = /^\s*[│┃]?\s?[❯>](?!\s*\d[.)])(?:\s|$)/;
const BUSY = /\besc to interrupt\b/i;
/** An option of a question: where the caret is, its number, its words. */
const OPTION = /^(❯|>)?\s*(?:(\d)[.)]\s+)?(\S.*)$/;
/** A line without the frame around it. */
const unframed = (line: string): string => {
  const text = line.trim();
  const from = text.startsWith("│") ? 1 : 0;
  return text.slice(from, text.length > from && text.endsWith("│") ? -1 : undefined).trim();
};

/** What a program's screen says of it. @param text the visible screen, without escapes */
export function readScreen(text: string): ScreenReading {
  const lines = text.split("\n");
  const dialog = dialogOn(text);
  const input = dialog === null ? inputRows(lines) : undefined;
  const busy = lines.some((line, at) => BUSY.test(line) && !(input && at > input.from && at < input.to));
  return { ready: input !== undefined, busy, dialog };
}

/** The lowest pair of rules with an input row between them. */
function inputRows(lines: readonly string[]): { from: number; to: number } | undefined {
  const rules = lines.flatMap((line, at) => (RULE.test(line) ? [at] : []));
  for (let last = rules.length - 1; last > 0; last--) {
    const from = rules[last - 1]!;
    const to = rules[last]!;
    if (to > from + 1 && INPUT.test(lines[from + 1]!)) return { from, to };
  }
  return undefined;
}

function dialogOn(text: string): ScreenReading["dialog"] {
  if (/bypass permissions mode/i.test(text) && findOption(text, ACCEPT) && /\bNo, exit\b/i.test(text))
    return "permission-bypass";
  if (/\btrust\b[^?]{0,80}\bfolder\b/i.test(text) && findOption(text, TRUST) && /\bNo, exit\b/i.test(text))
    return "folder-trust";
  return null;
}

const ACCEPT = /^yes, I accept\b/i;
const TRUST = /^yes, (?:I trust|proceed)\b/i;

/** An option of the question on the screen. */
interface Option {
  row: number;
  caret: boolean;
  digit: string | null;
}

/** What is to be done next to accept a question: a key, or nothing because it is not there. */
export function acceptingKey(text: string, dialog: NonNullable<ScreenReading["dialog"]>): Key | null {
  const wanted = findOption(text, dialog === "permission-bypass" ? ACCEPT : TRUST);
  if (!wanted) return null;
  if (wanted.digit !== null) return { keys: wanted.digit, last: true };
  if (wanted.caret) return { keys: "\r", last: true };
  const caret = caretRow(text);
  if (caret === undefined) return null;
  return { keys: caret < wanted.row ? DOWN : UP, last: false };
}

/** Keys to press; the screen has to be read again before the next ones, unless they are the last. */
export interface Key {
  keys: string;
  last: boolean;
}
const DOWN = "\x1b[B";
const UP = "\x1b[A";

function findOption(text: string, words: RegExp): Option | undefined {
  for (const [row, line] of text.split("\n").entries()) {
    const [, caret, digit, label] = OPTION.exec(unframed(line)) ?? [];
    if (label !== undefined && words.test(label))
      return { row, caret: caret !== undefined, digit: digit ?? null };
  }
  return undefined;
}

/** The row of the caret among a question's options. */
function caretRow(text: string): number | undefined {
  const at = text.split("\n").findIndex((line) => /^\s*(?:│\s*)?❯\s/.test(line));
  return at === -1 ? undefined : at;
}
