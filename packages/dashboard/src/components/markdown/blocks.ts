/** A block of a text; `raw` is its source, by which an unchanged block is known. */
export type Block = { raw: string } & (
  | { type: "paragraph"; text: string }
  | { type: "heading"; level: number; text: string }
  | { type: "code"; language: string; text: string }
  | { type: "quote"; blocks: Block[] }
  | { type: "list"; start: number | undefined; items: Block[][] }
  | { type: "table"; head: string[]; rows: string[][] }
  | { type: "rule" }
);

const MAX_DEPTH = 6;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)(.*)$/;
const QUOTE = /^ {0,3}> ?/;
const TABLE_RULE = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const blank = (line: string | undefined) => line === undefined || line.trim() === "";

/** Reads the blocks of a Markdown text; nothing in it is markup of the page. */
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
    if (blank(lines[at])) {
      at++;
      continue;
    }
    const { block, end } = startBlock(lines, at, depth) ?? readParagraph(lines, at, depth);
    blocks.push({ ...block, raw: lines.slice(at, end).join("\n") } as Block);
    at = end;
  }
  return blocks;
}

function startBlock(lines: string[], at: number, depth: number): Read | undefined {
  const line = lines[at] as string;
  const fence = FENCE.exec(line);
  if (fence) return readCode(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading) {
    const [, marks = "", text = ""] = heading;
    return { block: { type: "heading", level: marks.length, text }, end: at + 1 };
  }
  if (RULE.test(line)) return { block: { type: "rule" }, end: at + 1 };
  if (depth < MAX_DEPTH) {
    if (QUOTE.test(line)) return readQuote(lines, at, depth);
    const item = ITEM.exec(line);
    if (item) return readList(lines, at, depth, item);
  }
  if (line.includes("|") && TABLE_RULE.test(lines[at + 1] ?? "")) return readTable(lines, at);
  return undefined;
}

function readParagraph(lines: string[], at: number, depth: number): Read {
  let end = at + 1;
  while (end < lines.length && !blank(lines[end]) && !startBlock(lines, end, depth)) end++;
  return { block: { type: "paragraph", text: lines.slice(at, end).join("\n").trim() }, end };
}

/** A fence without an end goes to the end of the text: that is how a streamed one looks on its way. */
function readCode(lines: string[], at: number, fence: RegExpExecArray): Read {
  const [, mark = "```", language = ""] = fence;
  const close = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}\\s*$`);
  let end = at + 1;
  while (end < lines.length && !close.test(lines[end] as string)) end++;
  const text = lines.slice(at + 1, end).join("\n");
  return { block: { type: "code", language, text }, end: Math.min(end + 1, lines.length) };
}

function readQuote(lines: string[], at: number, depth: number): Read {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end] as string)) end++;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ""));
  return { block: { type: "quote", blocks: readBlocks(inner, depth + 1) }, end };
}

const ordered = (marker: string) => /\d/.test(marker);

function readList(lines: string[], at: number, depth: number, first: RegExpExecArray): Read {
  const numbered = ordered(first[2] as string);
  const items: Block[][] = [];
  let end = at;
  while (end < lines.length) {
    const item = ITEM.exec(lines[end] as string);
    if (!item || ordered(item[2] as string) !== numbered || RULE.test(lines[end] as string)) break;
    const [, lead = "", marker = "", gap = "", text = ""] = item;
    const indent = lead.length + marker.length + Math.min(Math.max(gap.length, 1), 4);
    const body = [text];
    end++;
    while (end < lines.length) {
      const line = lines[end] as string;
      const inside = /^ */.exec(line)?.[0].length ?? 0;
      if (blank(line)) {
        // A blank line belongs to the item when something of the item follows.
        const next = lines[end + 1];
        if (blank(next) || !(next as string).startsWith(" ".repeat(Math.min(indent, 2)))) break;
        body.push("");
      } else if (inside >= Math.min(indent, 2)) body.push(line.slice(Math.min(inside, indent)));
      else if (blank(body.at(-1)) || startsBlock(line)) break;
      else body.push(line);
      end++;
    }
    items.push(readBlocks(body, depth + 1));
    while (blank(lines[end]) && end < lines.length && ITEM.test(lines[end + 1] ?? "")) end++;
  }
  const start = numbered ? Number.parseInt(first[2] as string, 10) : undefined;
  return { block: { type: "list", start, items }, end };
}

const startsBlock = (line: string) =>
  [FENCE, HEADING, RULE, QUOTE, ITEM].some((pattern) => pattern.test(line));

function cells(line: string): string[] {
  const inner = line.trim().replace(/^\||(?<!\\)\|$/g, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function readTable(lines: string[], at: number): Read {
  const head = cells(lines[at] as string);
  const rows: string[][] = [];
  let end = at + 2;
  for (; end < lines.length && !blank(lines[end]) && (lines[end] as string).includes("|"); end++) {
    const row = cells(lines[end] as string);
    rows.push(head.map((_, column) => row[column] ?? ""));
  }
  return { block: { type: "table", head, rows }, end };
}
