import { type Block, isVisible, parseBlocks, type Run, runText } from "@agent-gateway/contract/markdown";
import { cutAt } from "./cut.ts";
import { type Dialect, plain } from "./dialects.ts";
import { inlineMarkdown, literalMarkdown, textMarkdown } from "./markdown.ts";
import type { Packer } from "./packer.ts";
import { measure, writeBlocks } from "./write.ts";

export type TextBlock = Extract<Block, { type: "text" | "heading" }>;

/** Room for what stands around a piece of text: marks of a quote, a heading and an item, an escaped start. */
const FRAME = 32;
const LINE_BREAK = 10;
const SPACE = /\s/;

const bare = (text: string) => text.replace(/\s+/g, "");

/** True when the Markdown says the same as the blocks, within the limit. */
export function saysSame(
  dialect: Dialect,
  markdown: string,
  blocks: readonly Block[],
  limit: number,
): boolean {
  const read = parseBlocks(markdown);
  return (
    measure(dialect, read) <= limit && bare(writeBlocks(plain, read)) === bare(writeBlocks(plain, blocks))
  );
}

function textCost(dialect: Dialect, text: string): number {
  let cost = 0;
  for (let at = 0; at < text.length; at++) cost += dialect.cost(text.charCodeAt(at));
  return cost;
}

const linkCost = (dialect: Dialect, run: Run) =>
  dialect.markup + Math.max(dialect.length(dialect.run(run, "", "")), textCost(dialect, runText(run)));

/** The runs with links that fit no part as text. */
const breakable = (dialect: Dialect, limit: number, runs: readonly Run[]): Run[] =>
  runs.map((run) =>
    run.type === "link" && linkCost(dialect, run) > limit
      ? { type: "text", text: runText(run), marks: run.marks }
      : run,
  );

/** Runs one behind the other, read from a place that only moves on. */
function createRunReader(dialect: Dialect, runs: readonly Run[], { type, quoted }: TextBlock) {
  const lineCost = quoted ? 2 : 0;
  let first = 0;
  let firstStart = 0;

  function moveTo(from: number): void {
    for (let run = runs[first]; run && firstStart + run.text.length <= from; run = runs[++first]) {
      firstStart += run.text.length;
    }
  }

  return {
    /** How far the text that starts at `from` goes within the room; links are taken whole. */
    reach(from: number, room: number): number {
      moveTo(from);
      let left = room;
      let start = firstStart;
      for (let index = first; index < runs.length; index++) {
        const run = runs[index] as Run;
        const end = start + run.text.length;
        const plainly = run.marks === 0 && run.type !== "code" && type !== "heading";
        const markup = plainly ? 0 : dialect.markup;
        left -= run.type === "link" ? linkCost(dialect, run) : markup;
        if (left < 0) return Math.max(from, start);
        for (let at = Math.max(from, start); run.type !== "link" && at < end; at++) {
          const unit = run.text.charCodeAt(at - start);
          left -= dialect.cost(unit) + (unit === LINE_BREAK ? markup + lineCost : 0);
          if (left < 0) return at;
        }
        start = end;
      }
      return start;
    },
    slice(from: number, to: number): Run[] {
      moveTo(from);
      const out: Run[] = [];
      for (let index = first, start = firstStart; index < runs.length && start < to; index++) {
        const run = runs[index] as Run;
        const text = run.text.slice(Math.max(0, from - start), to - start);
        out.push(run.type === "link" ? run : { ...run, text });
        start += run.text.length;
      }
      return out;
    },
  };
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (SPACE.test(text[at] ?? "")) at++;
  return at;
}

function pieceMarkdown(dialect: Dialect, block: TextBlock, room: number): string {
  const write = (text: string) =>
    block.type === "heading"
      ? textMarkdown(0, "#".repeat(block.level), text, block.quoted)
      : textMarkdown(block.indent, block.marker, text, block.quoted);
  const markdown = write(inlineMarkdown(block.runs));
  return saysSame(dialect, markdown, [block], room) ? markdown : write(literalMarkdown(block.runs));
}

/** Splits a text that does not fit into the part, or fits into none. */
export function splitText(dialect: Dialect, limit: number, packer: Packer, block: TextBlock): void {
  const runs = breakable(dialect, limit - FRAME, block.runs);
  // Letters in place of links: nothing in them invites a cut.
  const text = runs.map((run) => (run.type === "link" ? "x".repeat(run.text.length) : run.text)).join("");
  const reader = createRunReader(dialect, runs, block);
  let piece: TextBlock = { ...block };
  for (let from = afterSpace(text, 0); from < text.length; ) {
    const end = reader.reach(from, packer.room() - FRAME);
    const last = end === text.length;
    if (!last && end - from < limit / 8 && packer.flush()) continue;
    const to = last ? end : cutAt(text, from, end);
    let stop = to;
    while (stop > from && SPACE.test(text[stop - 1] as string)) stop--;
    piece = { ...piece, runs: reader.slice(from, stop) };
    if (piece.runs.some((run) => isVisible(run.text))) {
      packer.add(block, pieceMarkdown(dialect, piece, packer.room()), measure(dialect, [piece]));
      if (piece.type === "text") piece = { ...piece, marker: "", indent: 0 };
    }
    from = afterSpace(text, to);
    if (from < text.length) packer.flush();
  }
}
