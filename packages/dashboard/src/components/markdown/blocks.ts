import {
  cellsOf,
  closesFence,
  type Fence,
  fenceOf,
  headingOf,
  isBlank,
  isRule,
  isTableRule,
  itemOf,
  type ListItem,
  quotedOf,
  runEnd,
} from "./lines.ts";

/** A block of a text; `raw` is its source, by which an unchanged block is known. */
export type Block = { raw: string } & (
  | { type: "paragraph"; text: string }
  | { type: "heading"; level: number; text: string }
  | { type: "code"; language: string; text: string }
  | { type: "quote"; blocks: Block[] }
  | { type: "list"; start: number | undefined; items: Block[][] }
  /** A row has at most as many cells as the head. */
  | { type: "table"; head: string[]; rows: string[][] }
  | { type: "rule" }
);

/** Quotes and lists within each other; anything nested deeper is text. */
const MAX_DEPTH = 6;

/** Reads the blocks of a Markdown text, in time proportional to its length; nothing in it is markup of the page. */
export function parseBlocks(text: string): Block[] {
  return readBlocks(text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").split("\n"), 0);
}

interface Read {
  /** Without `raw`, which the caller knows. */
  block: Block extends infer B ? (B extends { raw: string } ? Omit<B, "raw"> : never) : never;
  /** Line after the block. */
  end: number;
}

function readBlocks(lines: string[], depth: number): Block[] {
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    if (isBlank(lines[at])) {
      at++;
      continue;
    }
    const { block, end } = readBlock(lines, at, depth);
    blocks.push({ ...block, raw: lines.slice(at, end).join("\n") } as Block);
    at = end;
  }
  return blocks;
}

function readBlock(lines: string[], at: number, depth: number): Read {
  const line = lines[at] as string;
  const fence = fenceOf(line);
  if (fence) return readCode(lines, at, fence);
  const heading = headingOf(line);
  if (heading) return { block: { type: "heading", ...heading }, end: at + 1 };
  if (isRule(line)) return { block: { type: "rule" }, end: at + 1 };
  if (depth < MAX_DEPTH) {
    if (quotedOf(line) !== undefined) return readQuote(lines, at, depth);
    const item = itemOf(line);
    if (item) return readList(lines, at, depth, item);
  }
  return startsTable(lines, at) ? readTable(lines, at) : readParagraph(lines, at, depth);
}

/** True when a line begins another block than a paragraph. It only looks: reading ahead would read lines twice. */
function startsBlock(line: string, depth: number): boolean {
  if (fenceOf(line) || headingOf(line) || isRule(line)) return true;
  return depth < MAX_DEPTH && (quotedOf(line) !== undefined || itemOf(line) !== undefined);
}

const startsTable = (lines: string[], at: number) =>
  (lines[at] as string).includes("|") && isTableRule(lines[at + 1] ?? "");

function readParagraph(lines: string[], at: number, depth: number): Read {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end])) {
    if (startsBlock(lines[end] as string, depth) || startsTable(lines, end)) break;
    end++;
  }
  return { block: { type: "paragraph", text: lines.slice(at, end).join("\n").trim() }, end };
}

/** An unclosed fence runs to the end of the text: a streamed one looks like that until it is complete. */
function readCode(lines: string[], at: number, fence: Fence): Read {
  let end = at + 1;
  while (end < lines.length && !closesFence(lines[end] as string, fence)) end++;
  const text = lines.slice(at + 1, end).join("\n");
  return { block: { type: "code", language: fence.language, text }, end: Math.min(end + 1, lines.length) };
}

function readQuote(lines: string[], at: number, depth: number): Read {
  const inner: string[] = [];
  for (let end = at; ; end++) {
    const quoted = end < lines.length ? quotedOf(lines[end] as string) : undefined;
    if (quoted === undefined) return { block: { type: "quote", blocks: readBlocks(inner, depth + 1) }, end };
    inner.push(quoted);
  }
}

function readList(lines: string[], at: number, depth: number, first: ListItem): Read {
  const numbered = first.number !== undefined;
  const items: Block[][] = [];
  let end = at;
  while (end < lines.length) {
    const item = itemOf(lines[end] as string);
    if (!item || (item.number !== undefined) !== numbered || isRule(lines[end] as string)) break;
    const body = [item.text];
    end = readItem(lines, end + 1, item.indent, body);
    items.push(readBlocks(body, depth + 1));
    // One blank line may stand between two items.
    if (end < lines.length && isBlank(lines[end]) && itemOf(lines[end + 1] ?? "")) end++;
  }
  return { block: { type: "list", start: first.number, items }, end };
}

/** Adds the lines that belong to an item to its body; gives the line after them. */
function readItem(lines: string[], at: number, indent: number, body: string[]): number {
  for (let end = at; end < lines.length; end++) {
    const line = lines[end] as string;
    const inside = runEnd(line, 0, " ");
    if (isBlank(line)) {
      // A blank line belongs to the item when something of the item follows.
      const next = lines[end + 1];
      if (isBlank(next) || runEnd(next as string, 0, " ") < Math.min(indent, 2)) return end;
      body.push("");
    } else if (inside >= Math.min(indent, 2)) body.push(line.slice(Math.min(inside, indent)));
    else if (isBlank(body.at(-1)) || startsBlock(line, 0)) return end;
    else body.push(line);
  }
  return lines.length;
}

function readTable(lines: string[], at: number): Read {
  const head = cellsOf(lines[at] as string);
  const rows: string[][] = [];
  let end = at + 2;
  for (; end < lines.length && !isBlank(lines[end]) && (lines[end] as string).includes("|"); end++) {
    // Missing cells stay missing: filling them up would make a short text a huge table.
    rows.push(cellsOf(lines[end] as string).slice(0, head.length));
  }
  return { block: { type: "table", head, rows }, end };
}
