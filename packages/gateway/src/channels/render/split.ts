import { type Block, isVisible, parseBlocks, type Row } from "@agent-gateway/contract/markdown";
import { cutCodeAt } from "./cut.ts";
import type { Dialect } from "./dialects.ts";
import { blockMarkdown, codeMarkdown, tableMarkdown } from "./markdown.ts";
import { createPacker, type Packer } from "./packer.ts";
import { saysSame, splitText } from "./split-text.ts";
import { plainLength, rowRuns } from "./table.ts";
import { measure } from "./write.ts";

type CodeBlock = Extract<Block, { type: "code" }>;
type TableBlock = Extract<Block, { type: "table" }>;

/**
 * Splits a text into parts of Markdown, each of which fits the limit when it is written in the dialect, and as plain
 * text too. Parts end between blocks as long as that leaves none of them short.
 */
export function splitMarkdown(dialect: Dialect, limit: number, markdown: string): string[] {
  const packer = createPacker(limit);
  for (const block of parseBlocks(markdown)) {
    const cost = measure(dialect, [block]);
    if (packer.room() < cost && cost <= limit && !packer.isSmall()) packer.flush();
    if (packer.room() >= cost) packer.add(block, blockMarkdown(block), cost, block.type === "heading");
    else splitBlock(dialect, limit, packer, block);
  }
  return packer.end();
}

function splitBlock(dialect: Dialect, limit: number, packer: Packer, block: Block): void {
  if (packer.room() < limit / 4) packer.flush();
  if (block.type === "code") splitCode(dialect, limit, packer, block);
  else if (block.type === "table") splitTable(dialect, limit, packer, block);
  else if (block.type !== "rule") splitText(dialect, limit, packer, block);
}

function splitCode(dialect: Dialect, limit: number, packer: Packer, block: CodeBlock): void {
  const { text, language } = block;
  const frame = dialect.length(dialect.code(language, ""));
  for (let from = 0; from < text.length; ) {
    let left = packer.room() - frame;
    let end = from;
    while (end < text.length && left >= dialect.cost(text.charCodeAt(end))) {
      left -= dialect.cost(text.charCodeAt(end++));
    }
    if (end < text.length && end - from < limit / 8 && packer.flush()) continue;
    const to = end === text.length ? end : cutCodeAt(text, from, end);
    const piece = withoutBlankEnds(text.slice(from, to));
    if (isVisible(piece)) {
      packer.add(block, codeMarkdown(language, piece), measure(dialect, [{ ...block, text: piece }]));
    }
    from = to;
    while (text[from] === "\n") from++;
    if (from < text.length) packer.flush();
  }
}

function withoutBlankEnds(text: string): string {
  let start = 0;
  let end = text.length;
  while (text[start] === "\n") start++;
  while (end > start && text[end - 1] === "\n") end--;
  return text.slice(start, end);
}

/** Splits between rows; a row that fits no part becomes text. Only the first part has the head. */
function splitTable(dialect: Dialect, limit: number, packer: Packer, block: TableBlock): void {
  const { rows } = block;
  const plainTo = plainSums(rows);
  let guess = 1;
  for (let from = 0; from < rows.length; ) {
    const gap = from === 0 && block.gap;
    const part = (count: number): TableBlock => {
      const own = rows.slice(from, from + count);
      return { ...block, gap, rows: from === 0 ? own : [[], ...own] };
    };
    const room = packer.room();
    // Far more rows than fit are not written to see that: their plain text alone is too long.
    const fits = (some: number) =>
      plainTo(from + some) - plainTo(from) <= room + 1 && measure(dialect, [part(some)]) <= room;
    const count = mostThat(fits, rows.length - from, guess);
    guess = Math.max(guess, count);
    if (count <= (from === 0 ? 1 : 0) && packer.flush()) continue;
    const piece = part(count);
    const own = rows.slice(from, from + Math.max(1, count));
    const source = tableMarkdown(own, from === 0);
    if (count > 0 && saysSame(dialect, source, [piece], room)) {
      packer.add(piece, source, measure(dialect, [piece]));
    } else {
      for (const row of own) {
        const runs = rowRuns(row, false);
        splitText(dialect, limit, packer, {
          type: "text",
          indent: 0,
          marker: "",
          runs,
          source: "",
          gap,
          quoted: false,
        });
      }
    }
    from += own.length;
  }
}

/** Tells how long the rows before one are as plain text, each with its line break. */
function plainSums(rows: readonly Row[]): (end: number) => number {
  const sums = [0];
  let sum = 0;
  for (const row of rows) {
    const length = plainLength(row);
    sum += length === 0 ? 0 : length + 1;
    sums.push(sum);
  }
  return (end) => sums[end] ?? sum;
}

/** A count up to `most` that fits and is nearly the largest, where less fits too; 0 when not even one does. */
function mostThat(fits: (count: number) => boolean, most: number, guess: number): number {
  let good = 0;
  let step = Math.min(guess, most);
  while (step > 0 && fits(good + step)) {
    good += step;
    step = Math.min(2 * step, most - good);
  }
  while (step > good / 16) {
    step = Math.floor(step / 2);
    if (step > 0 && fits(good + step)) good += step;
  }
  return good;
}
