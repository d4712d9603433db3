import { parseInline, type Run, runText } from "./inline.ts";

/** A cell of a table; `text` is what it says in plain text, on one line. */
export interface Cell {
  runs: Run[];
  text: string;
}
/** Rows may differ in length. */
export type Row = Cell[];

/**
 * One block of a text. Chats know no nesting, so lists and quotes are read flat: an item is a text with a marker and an
 * indent. A block means the same wherever it stands, which is what lets a text be split between any two.
 */
export type Block = {
  /** A blank line stood before it. */
  gap: boolean;
  quoted: boolean;
} & (
  | { type: "text"; indent: number; marker: string; runs: Run[]; source: string }
  | { type: "heading"; level: number; runs: Run[]; source: string }
  | { type: "code"; language: string; text: string }
  /** The first row is the head; without one its cells are empty. */
  | { type: "table"; rows: Row[]; source: string }
  | { type: "rule"; source: string }
);

/** A block with what its place says of nesting, which {@link parseBlocks} leaves out. */
export type Node =
  | {
      type: "block";
      /** Where its first line begins, in spaces. */
      column: number;
      block: Block;
      /** An item's marker with nothing beside it: what the item holds comes next. */
      lone?: true;
    }
  | { type: "quote"; column: number; nodes: Node[] };

type Body<T = Block> = T extends Block ? Omit<T, "gap" | "quoted"> & { gap?: boolean } : never;
interface Read {
  blocks: Body[];
  /** The first block is nothing but an item's marker. */
  lone?: true;
  /** Line after the blocks. */
  end: number;
}

const MAX_QUOTES = 5;
/** Deepest indent that is kept, in spaces. */
const MAX_INDENT = 12;
const CONTROL = /(?![\n\t])\p{Cc}|\ufeff/gu;
const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})\s+(\S.*)$/s;
const RULE = /^(?:-{3,}|\*{3,}|_{3,})$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(\S.*)$/s;
const QUOTE = /^\s*> ?/;
const QUOTES = /^[\s>]*> ?/;
const LANGUAGE = /^[\w+#.-]{1,32}$/;
/** Something that shows. */
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Cs}\p{Z}\s]/u;

const blank = (line: string | undefined) => line === undefined || line.trim() === "";

/** True when a reader would see something of the text. */
export const isVisible = (text: string): boolean => VISIBLE.test(text);

/** Reads the blocks of a Markdown text. Linear in its length; blocks that show nothing are left out. */
export const parseBlocks = (markdown: string): Block[] => readBlocks(linesOf(markdown), 0, false, []);

/** The same blocks with what their places say of nesting. */
export function parseNodes(markdown: string): Node[] {
  const nodes: Node[] = [];
  readBlocks(linesOf(markdown), 0, false, nodes);
  return nodes;
}

const linesOf = (markdown: string) =>
  markdown.toWellFormed().replace(/\r\n?/g, "\n").replace(CONTROL, "").split("\n");

/** Adds to `nodes`, and gives the same blocks one behind the other. */
function readBlocks(lines: readonly string[], depth: number, gapBefore: boolean, nodes: Node[]): Block[] {
  const out: Block[] = [];
  let gap = gapBefore;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as string;
    if (blank(line)) {
      gap = true;
      at++;
      continue;
    }
    let added: Block[];
    let nested = false;
    const column = indentOf(line.slice(0, line.length - line.trimStart().length));
    if (depth < MAX_QUOTES && QUOTE.test(line)) {
      let end = at;
      while (end < lines.length && QUOTE.test(lines[end] as string)) end++;
      const marks = depth + 1 < MAX_QUOTES ? QUOTE : QUOTES;
      const inner = lines.slice(at, end).map((quoted) => quoted.replace(marks, ""));
      // Quotes in quotes are told apart by a blank line: all become quotes of one level.
      const quote: Node = { type: "quote", column, nodes: [] };
      added = readBlocks(inner, depth + 1, gap || depth > 0, quote.nodes);
      if (added.length > 0) nodes.push(quote);
      nested = depth > 0;
      at = end;
    } else {
      const { blocks, end, lone } = readBlock(lines, at);
      added = blocks.map((block, index) => place(block, block.gap ?? (gap && index === 0), depth > 0));
      for (const [index, block] of added.entries()) {
        nodes.push({
          type: "block",
          column: index > 0 ? MAX_INDENT : column,
          block,
          ...(lone && index === 0 && { lone }),
        });
      }
      at = end;
    }
    for (const block of added) out.push(block);
    // What shows nothing still parts what stands before it from what comes after.
    gap = nested || added.length === 0;
  }
  if (depth === 0 && out[0]) out[0].gap = false;
  return out;
}

/** Code and tables have no quoted form in most chats; they stand between the quotes. */
function place(block: Body, gap: boolean, inQuote: boolean): Block {
  if (block.type === "code" || block.type === "table") return { ...block, gap, quoted: false };
  const source = inQuote ? quote(block.source) : block.source;
  return { ...block, source, gap, quoted: inQuote };
}

/** Puts the mark of a quote before each line. */
export const quote = (text: string): string => `> ${text.replaceAll("\n", "\n> ")}`;

type Kind = "quote" | "code" | "heading" | "rule" | "item" | "table" | "text";

function kindOf(lines: readonly string[], at: number): Kind {
  const line = lines[at] as string;
  const own = line.trimStart();
  const [first = ""] = own;
  if (first === ">") return "quote";
  if ("`~".includes(first) && fenceOf(line)) return "code";
  if (first === "#" && HEADING.test(line)) return "heading";
  if ("-*_".includes(first) && RULE.test(own.replace(/\s+/g, ""))) return "rule";
  if (ITEM.test(line)) return "item";
  return line.includes("|") && isTable(line, lines[at + 1]) ? "table" : "text";
}

function readBlock(lines: readonly string[], at: number): Read {
  switch (kindOf(lines, at)) {
    case "code":
      return readCode(lines, at, lines[at] as string) ?? readText(lines, at);
    case "heading":
      return readHeading(lines[at] as string, at);
    case "rule":
      return { blocks: [{ type: "rule", source: "---" }], end: at + 1 };
    case "item":
      return readItem(lines, at);
    case "table":
      return readTable(lines, at);
    default:
      return readText(lines, at);
  }
}

function fenceOf(line: string) {
  const mark = FENCE.exec(line);
  if (!mark) return undefined;
  const info = line.slice(mark[0].length).trim();
  if (mark[1]?.startsWith("`") && info.includes("`")) return undefined;
  const [word = ""] = info.split(/\s/, 1);
  return { mark: mark[1] as string, indent: mark[0].length - (mark[1] as string).length, word };
}

/** A fence without an end goes to the end of the text. */
function readCode(lines: readonly string[], at: number, first: string): Read | undefined {
  const fence = fenceOf(first);
  if (!fence) return undefined;
  const { mark, indent, word } = fence;
  const body: string[] = [];
  let end = at + 1;
  for (; end < lines.length; end++) {
    const line = lines[end] as string;
    const bare = line.trim();
    if (bare.startsWith(mark) && bare === mark.charAt(0).repeat(bare.length)) break;
    body.push(line.slice(Math.min(indent, /^\s*/.exec(line)?.[0].length ?? 0)));
  }
  const text = body.join("\n");
  const language = LANGUAGE.test(word) ? word : "";
  return {
    blocks: isVisible(text) ? [{ type: "code", language, text }] : [],
    end: Math.min(end + 1, lines.length),
  };
}

function readHeading(line: string, at: number): Read {
  const [, marks = "", rest = ""] = HEADING.exec(line) ?? [];
  const text = rest.trim();
  let end = text.length;
  while (text[end - 1] === "#") end--;
  const closed = end < text.length && (end === 0 || text[end - 1] === " ");
  const runs = parseInline((closed ? text.slice(0, end).trimEnd() : text).replace(/<br ?\/?>/gi, " "));
  const source = `${marks} ${text}`;
  return { blocks: shows(runs) ? [{ type: "heading", level: marks.length, runs, source }] : [], end: at + 1 };
}

const shows = (runs: readonly Run[]) => runs.some((run) => isVisible(run.text));

const indentOf = (space: string) => Math.min(space.replaceAll("\t", "    ").length, MAX_INDENT);

function readItem(lines: readonly string[], at: number): Read {
  const [, space = "", marker = "", rest = ""] = ITEM.exec(lines[at] as string) ?? [];
  const text = rest.trimEnd();
  // The item holds nothing but code: its fence must not be taken for text, or its end would open the next.
  const code = readCode(lines, at, `${" ".repeat(space.length + marker.length + 1)}${text}`);
  if (code) {
    const bare: Body = {
      type: "text",
      indent: 0,
      marker: "",
      runs: [{ type: "text", text: marker, marks: 0 }],
      source: marker,
      gap: true,
    };
    return { blocks: [bare, ...code.blocks], end: code.end, lone: true };
  }
  const box = /^\[([ xX])\]\s/.exec(text);
  const shown = box ? `${box[1] === " " ? "☐" : "☑"} ${text.slice(4).trimStart()}` : text;
  return readText(lines, at, { indent: indentOf(space), marker, first: shown });
}

function readText(
  lines: readonly string[],
  at: number,
  item: { indent: number; marker: string; first: string } = { indent: 0, marker: "", first: "" },
): Read {
  const body = [tidy(item.marker ? item.first : (lines[at] as string))];
  let end = at + 1;
  for (; end < lines.length && !blank(lines[end]) && kindOf(lines, end) === "text"; end++) {
    body.push(tidy(lines[end] as string));
  }
  const text = body.join("\n");
  const indent = item.marker ? item.indent : leadOf(text);
  const own = text.slice(leadOf(text));
  const runs = parseInline(own);
  const source = `${" ".repeat(indent)}${item.marker ? `${item.marker} ` : ""}${own}`;
  const { marker } = item;
  return { blocks: shows(runs) ? [{ type: "text", indent, marker, runs, source }] : [], end };
}

const leadOf = (text: string) => /^ */.exec(text)?.[0].length ?? 0;

/** A line of text with its indent kept within bounds. */
function tidy(line: string): string {
  const own = line.trimStart();
  return " ".repeat(indentOf(line.slice(0, line.length - own.length))) + own.trimEnd();
}

/** The cells' sources; an escaped bar belongs to its cell. */
function cells(line: string): string[] {
  const inner = line.trim();
  const from = inner.startsWith("|") ? 1 : 0;
  const to = inner.length > 1 && inner.endsWith("|") && !inner.endsWith("\\|") ? -1 : undefined;
  return inner
    .slice(from, to)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

/** True when nothing of the row shows. */
export const isEmpty = (row: Row): boolean => !row.some(({ text }) => isVisible(text));

function readCell(source: string): Cell {
  const runs = parseInline(source.replaceAll("\\|", "|"));
  return { runs, text: runs.map(runText).join("").replaceAll("\n", " ") };
}

function isTable(head: string, rule: string | undefined): boolean {
  if (rule === undefined || !rule.includes("-") || !rule.includes("|") || !/^[\s|:-]+$/.test(rule))
    return false;
  const columns = cells(rule);
  return columns.every((cell) => /^:?-+:?$/.test(cell)) && columns.length === cells(head).length;
}

function readTable(lines: readonly string[], at: number): Read {
  const rows: Row[] = [];
  let end = at;
  for (; end < lines.length; end++) {
    const line = lines[end] as string;
    if (end === at + 1) continue;
    if (end > at && (blank(line) || !line.includes("|") || kindOf(lines, end) !== "text")) break;
    const row = cells(line).map(readCell);
    if (end === at || !isEmpty(row)) rows.push(row);
  }
  const source = lines.slice(at, end).join("\n");
  return { blocks: rows.every(isEmpty) ? [] : [{ type: "table", rows, source }], end };
}
