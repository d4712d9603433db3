/**
 * What a single line of Markdown begins. Each reader goes over the line once, without backtracking: an answer is text
 * from outside, and one that is slow to read would freeze the page.
 */

/** Index after the run of `char` that begins at `at`. */
export function runEnd(text: string, at: number, char: string): number {
  let end = at;
  while (text[end] === char) end++;
  return end;
}

export const isBlank = (line: string | undefined): boolean => line === undefined || line.trim() === "";
const isSpace = (char: string | undefined) => char !== undefined && char.trim() === "";
const isDigit = (char: string | undefined) => char !== undefined && char >= "0" && char <= "9";

/** Index of the first character after at most three spaces; undefined for a line that is indented further. */
function markAt(line: string): number | undefined {
  const at = runEnd(line, 0, " ");
  return at <= 3 ? at : undefined;
}

export interface Fence {
  char: string;
  length: number;
  language: string;
}

export function fenceOf(line: string): Fence | undefined {
  const at = markAt(line);
  const char = at === undefined ? undefined : line[at];
  if (at === undefined || (char !== "`" && char !== "~")) return undefined;
  const end = runEnd(line, at, char);
  const info = line.slice(end).trim();
  if (end - at < 3 || info.includes("`")) return undefined;
  const space = info.search(/\s/);
  return { char, length: end - at, language: space < 0 ? info : info.slice(0, space) };
}

export function closesFence(line: string, { char, length }: Fence): boolean {
  const at = markAt(line);
  if (at === undefined || line[at] !== char) return false;
  const end = runEnd(line, at, char);
  return end - at >= length && isBlank(line.slice(end));
}

export function headingOf(line: string): { level: number; text: string } | undefined {
  const at = markAt(line);
  if (at === undefined) return undefined;
  const end = runEnd(line, at, "#");
  const level = end - at;
  if (level < 1 || level > 6 || !isSpace(line[end])) return undefined;
  const text = line.slice(end).trim();
  let last = text.length;
  while (text[last - 1] === "#") last--;
  // `# C#` keeps its mark, `# Title ##` does not.
  const closed = last === 0 || isSpace(text[last - 1]);
  return { level, text: closed ? text.slice(0, last).trimEnd() : text };
}

export function isRule(line: string): boolean {
  const at = markAt(line);
  const char = at === undefined ? undefined : line[at];
  if (at === undefined || (char !== "*" && char !== "-" && char !== "_")) return false;
  let marks = 0;
  for (let next = at; next < line.length; next++) {
    if (line[next] === char) marks++;
    else if (!isSpace(line[next])) return false;
  }
  return marks >= 3;
}

/** The line without its mark of a quote. */
export function quotedOf(line: string): string | undefined {
  const at = markAt(line);
  if (at === undefined || line[at] !== ">") return undefined;
  return line.slice(line[at + 1] === " " ? at + 2 : at + 1);
}

export interface ListItem {
  /** Undefined for a bullet. */
  number: number | undefined;
  /** Column at which the item's text begins. */
  indent: number;
  text: string;
}

export function itemOf(line: string): ListItem | undefined {
  const at = markAt(line);
  if (at === undefined) return undefined;
  let end = at;
  while (isDigit(line[end]) && end - at < 9) end++;
  const numbered = end > at;
  const mark = line[end];
  if (numbered ? mark !== "." && mark !== ")" : mark !== "-" && mark !== "*" && mark !== "+")
    return undefined;
  end++;
  const start = runEnd(line, end, " ");
  if (start === end && end < line.length) return undefined;
  return {
    number: numbered ? Number.parseInt(line.slice(at, end), 10) : undefined,
    indent: end + Math.min(Math.max(start - end, 1), 4),
    text: line.slice(start),
  };
}

/** True for the line of dashes between a table's head and its rows. */
export function isTableRule(line: string): boolean {
  let rule = line.trim();
  if (rule.startsWith("|")) rule = rule.slice(1);
  if (rule.endsWith("|")) rule = rule.slice(0, -1);
  return rule.split("|").every((cell) => {
    const mark = cell.trim();
    const from = mark.startsWith(":") ? 1 : 0;
    const dashes = runEnd(mark, from, "-");
    return dashes > from && dashes + (mark[dashes] === ":" ? 1 : 0) === mark.length;
  });
}

/** The cells of a table's line; `\|` is a bar of the text. */
export function cellsOf(line: string): string[] {
  const text = line.trim();
  const cells: string[] = [];
  let cell = "";
  for (let at = text.startsWith("|") ? 1 : 0; at < text.length; at++) {
    if (text[at] === "\\" && text[at + 1] === "|") {
      cell += "|";
      at++;
    } else if (text[at] === "|") {
      cells.push(cell.trim());
      cell = "";
      if (at === text.length - 1) return cells;
    } else cell += text[at];
  }
  cells.push(cell.trim());
  return cells;
}
