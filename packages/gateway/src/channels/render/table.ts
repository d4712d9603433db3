import { isEmpty, type Row, type Run, STRONG } from "@agent-gateway/contract/markdown";

/** Widest table that is set in columns; a wider one would wrap on a phone. */
const MAX_WIDTH = 60;
export const BAR = " | ";
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u;
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;
const ASCII = /^[ -~]*$/;

/** Columns that a text takes where each character is one or two wide. */
function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const char of text) if (!NO_WIDTH.test(char)) width += WIDE.test(char) ? 2 : 1;
  return width;
}

/** Widths of the columns, or undefined when the table is too wide for them. */
export function columnsOf(rows: readonly Row[]): number[] | undefined {
  const widths: number[] = [];
  for (const row of rows) {
    if (row.length * BAR.length > MAX_WIDTH) return undefined;
    for (const [index, { text }] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, text.length > 2 * MAX_WIDTH ? text.length : widthOf(text));
    }
    if (totalOf(widths) > MAX_WIDTH) return undefined;
  }
  return widths;
}

const totalOf = (widths: readonly number[]) =>
  widths.reduce((sum, width) => sum + width, BAR.length * (widths.length - 1));

/** A table in columns; a head without text is left out. */
export function tableText(rows: readonly Row[], widths: readonly number[]): string {
  const lines = rows.map((row) => {
    const cells = row.map(
      ({ text }, index) => text + " ".repeat(Math.max(0, (widths[index] ?? 0) - widthOf(text))),
    );
    return cells.join(BAR).trimEnd();
  });
  const [head, ...rest] = lines;
  if (rows[0] && isEmpty(rows[0])) return rest.join("\n");
  return [head, widths.map((width) => "-".repeat(Math.max(1, width))).join("-|-"), ...rest].join("\n");
}

/** Length of a row as plain text, which no dialect writes shorter; 0 when nothing of it shows. */
export const plainLength = (row: Row): number =>
  isEmpty(row) ? 0 : row.reduce((sum, { text }) => sum + text.length, BAR.length * (row.length - 1));

/** A row as a line of text. */
export function rowRuns(row: Row, strong: boolean): Run[] {
  return row.flatMap((cell, index): Run[] => {
    const own = cell.runs.map((run) => ({
      ...run,
      text: run.text.replaceAll("\n", " "),
      marks: strong ? run.marks | STRONG : run.marks,
    }));
    return index === 0 ? own : [{ type: "text", text: BAR, marks: 0 }, ...own];
  });
}
