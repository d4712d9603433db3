import { type Block, isEmpty, type Run } from "@agent-gateway/contract/markdown";
import { type Dialect, plain } from "./dialects.ts";
import { BAR, columnsOf, rowRuns, tableText } from "./table.ts";

/** Most that stands between two blocks: a blank line, quoted. */
export const SEPARATOR = 4;
const RULE = "———";

/** What stands between two blocks. */
export const separator = (before: Pick<Block, "type">, after: Pick<Block, "gap">): string =>
  after.gap || before.type === "table" ? "\n\n" : "\n";

function writeRuns(dialect: Dialect, runs: readonly Run[]): string {
  return runs
    .map((run, index) => dialect.run(run, runs[index - 1]?.text.at(-1) ?? "", runs[index + 1]?.text[0] ?? ""))
    .join("");
}

/** A block without the mark of a quote. */
function writeBlock(dialect: Dialect, block: Block): string {
  const inline = (runs: readonly Run[]) => writeRuns(dialect, runs);
  switch (block.type) {
    case "text": {
      const marker = /\d/.test(block.marker) ? block.marker : dialect.bullet;
      const lead = " ".repeat(block.indent) + (block.marker ? `${marker} ` : "");
      return lead + dialect.lines(inline(block.runs));
    }
    case "heading":
      return dialect.heading(block.level, block.runs, inline);
    case "code":
      return dialect.code(block.language, block.text);
    case "table": {
      const columns = dialect.columns ? columnsOf(block.rows) : undefined;
      if (columns) return dialect.code("", tableText(block.rows, columns));
      const rows = block.rows.map((row, index) => {
        if (isEmpty(row)) return "";
        return dialect === plain ? row.map(({ text }) => text).join(BAR) : inline(rowRuns(row, index === 0));
      });
      return rows.filter((row) => row !== "").join("\n");
    }
    case "rule":
      return RULE;
  }
}

/** Writes blocks in a chat's own markup. */
export function writeBlocks(dialect: Dialect, blocks: readonly Block[]): string {
  let out = "";
  for (let at = 0; at < blocks.length; ) {
    const first = blocks[at] as Block;
    let group = writeBlock(dialect, first);
    let end = at + 1;
    for (; first.quoted && blocks[end]?.quoted; end++) {
      const block = blocks[end] as Block;
      group += separator(blocks[end - 1] as Block, block) + writeBlock(dialect, block);
    }
    const before = blocks[at - 1];
    if (before) out += separator(before, first);
    out += first.quoted ? dialect.quote(group) : group;
    at = end;
  }
  return out;
}

/** Length of blocks as the provider counts it, or of their plain text where that is longer. */
export function measure(dialect: Dialect, blocks: readonly Block[]): number {
  const length = dialect.length(writeBlocks(dialect, blocks));
  return dialect === plain ? length : Math.max(length, writeBlocks(plain, blocks).length);
}
