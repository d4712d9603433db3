import { type Block, type Cell, type Node, parseNodes } from "./blocks.ts";
import { DEL, EM, type Run, STRONG } from "./inline.ts";

/** A piece of a line of text. */
export type Inline =
  | { type: "text"; text: string }
  | { type: "code"; text: string }
  | { type: "strong" | "em" | "del"; children: Inline[] }
  | { type: "link"; href: string; children: Inline[] }
  | { type: "break" };

/** A block of a text with those that it holds; `raw` tells an unchanged block from a changed one. */
export type TreeBlock = { raw: string } & (
  | { type: "paragraph"; runs: readonly Run[] }
  | { type: "heading"; level: number; runs: readonly Run[] }
  | { type: "code"; language: string; text: string }
  | { type: "quote"; blocks: TreeBlock[] }
  /** `start` is undefined for bullets. */
  | { type: "list"; start: number | undefined; items: TreeBlock[][] }
  /** A row has at most as many cells as the head. */
  | { type: "table"; head: readonly Cell[]; rows: readonly (readonly Cell[])[] }
  | { type: "rule" }
);

type List = Extract<TreeBlock, { type: "list" }>;
interface Item {
  column: number;
  list: List;
  blocks: TreeBlock[];
}

/** How often an item that begins with another block is read once more; what is nested deeper is text. */
const MAX_READS = 4;
/** What belongs to an item begins at least this many spaces to the right of its marker. */
const INSIDE = 2;
const BLOCK_START = /^(?:>|#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s)/;

/**
 * Reads a Markdown text as a tree, for readers that show nesting. It is made of the same blocks that `parseBlocks`
 * gives. Linear in the text's length.
 */
export const parseTree = (markdown: string): TreeBlock[] => treeOf(parseNodes(markdown), MAX_READS);

function treeOf(nodes: readonly Node[], reads: number): TreeBlock[] {
  const top: TreeBlock[] = [];
  /** Items that what comes next may belong to, each in the one before it. */
  const open: Item[] = [];
  for (const node of nodes) {
    while (open.length > 0 && node.column < (open.at(-1) as Item).column + INSIDE) open.pop();
    const holder = open.at(-1)?.blocks ?? top;
    if (node.type === "quote") {
      const blocks = treeOf(node.nodes, reads);
      holder.push({ type: "quote", blocks, raw: rawOf(blocks) });
    } else {
      const marker = markerOf(node);
      if (marker === undefined) holder.push(leafOf(node.block));
      else open.push(itemIn(holder, marker, node, reads));
    }
  }
  for (const block of top) seal(block);
  return top;
}

function markerOf({ block, lone }: Extract<Node, { type: "block" }>): string | undefined {
  if (block.type !== "text") return undefined;
  return lone ? (block.runs[0]?.text ?? "-") : block.marker || undefined;
}

/** Adds an item to the list at the end of its holder, or begins one. */
function itemIn(
  holder: TreeBlock[],
  marker: string,
  node: Extract<Node, { type: "block" }>,
  reads: number,
): Item {
  const start = /^\d/.test(marker) ? Number.parseInt(marker, 10) : undefined;
  const last = holder.at(-1);
  const goesOn = last?.type === "list" && (last.start === undefined) === (start === undefined);
  const list: List = goesOn ? last : { type: "list", start, items: [], raw: "" };
  if (!goesOn) holder.push(list);
  const blocks = node.lone ? [] : heldBy(node.block, reads);
  list.items.push(blocks);
  return { column: node.column, list, blocks };
}

/** What an item's own text says, which may be another block. */
function heldBy(block: Block, reads: number): TreeBlock[] {
  if (block.type !== "text") return [];
  const source = block.quoted ? block.source.replace(/^> ?/gm, "") : block.source;
  const own = source.trimStart().slice(block.marker.length).trimStart();
  if (reads > 0 && BLOCK_START.test(own)) return treeOf(parseNodes(own), reads - 1);
  return [leafOf(block)];
}

function leafOf(block: Block): TreeBlock {
  switch (block.type) {
    case "text":
      return { type: "paragraph", runs: block.runs, raw: block.source };
    case "heading":
      return { type: "heading", level: block.level, runs: block.runs, raw: block.source };
    case "code":
      return {
        type: "code",
        language: block.language,
        text: block.text,
        raw: `${block.language}\n${block.text}`,
      };
    case "table": {
      const [head = [], ...rows] = block.rows;
      // Missing cells stay missing: filling them up would make a short text a huge table.
      return { type: "table", head, rows: rows.map((row) => row.slice(0, head.length)), raw: block.source };
    }
    case "rule":
      return { type: "rule", raw: block.source };
  }
}

const rawOf = (blocks: readonly TreeBlock[]) => blocks.map(({ type, raw }) => `${type}\n${raw}`).join("\n\n");

/** Gives lists, which grow until the end of the text, what tells them from others. */
function seal(block: TreeBlock): void {
  if (block.type === "quote") return;
  if (block.type !== "list" || block.raw !== "") return;
  for (const inner of block.items.flat()) seal(inner);
  block.raw = `${block.start ?? "-"}\n${block.items.map((item) => `${item.length}\n${rawOf(item)}`).join("\n\n")}`;
}

/** Nests the looks of runs within each other: of those that begin together, the longer one holds the shorter. */
export const nestRuns = (runs: readonly Run[]): Inline[] => nest(runs, STRONG | EM | DEL);

const LOOKS = [
  [STRONG, "strong"],
  [EM, "em"],
  [DEL, "del"],
] as const;

/** `looks` are those that are still to be nested. */
function nest(runs: readonly Run[], looks: number): Inline[] {
  const out: Inline[] = [];
  for (let at = 0; at < runs.length; ) {
    const run = runs[at] as Run;
    const marks = outerMarks(run) & looks;
    if (marks === 0) {
      for (const inline of plainly(run, looks)) out.push(inline);
      at++;
      continue;
    }
    let [type, bit, end]: [Inline["type"], number, number] = ["em", 0, at];
    for (const [candidate, name] of LOOKS) {
      if ((marks & candidate) === 0) continue;
      let until = at;
      while (until < runs.length && outerMarks(runs[until] as Run) & candidate) until++;
      if (until > end) [type, bit, end] = [name, candidate, until];
    }
    out.push({ type, children: nest(runs.slice(at, end), looks & ~bit) } as Inline);
    at = end;
  }
  return out;
}

/** The looks of a run as a whole: not those of only a part of a link's label. */
function outerMarks(run: Run): number {
  if (run.type !== "link" || !run.label) return run.marks;
  const some = run.label.reduce((all, { marks }) => all | marks, 0);
  const every = run.label.reduce((all, { marks }) => all & marks, run.marks);
  return run.marks & ~(some & ~every);
}

function plainly(run: Run, looks: number): Inline[] {
  if (run.type === "code") return [{ type: "code", text: run.text }];
  if (run.type === "text") return lines(run.text);
  const href = URL.parse(run.href)?.href ?? run.href;
  const children = run.label ? nest(run.label, looks) : lines(run.text);
  return [{ type: "link", href, children }];
}

function lines(text: string): Inline[] {
  return text
    .split("\n")
    .flatMap((line, index): Inline[] => [
      ...(index > 0 ? [{ type: "break" as const }] : []),
      ...(line === "" ? [] : [{ type: "text" as const, text: line }]),
    ]);
}
