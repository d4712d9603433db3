import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Inline,
  nestRuns,
  parseTree,
  type Run,
  type TreeBlock,
} from "../../../packages/contract/src/markdown/index.ts";
import { HOSTILE } from "../../fixtures/hostile-markdown.ts";
import { expectLinear, filled } from "../../fixtures/linear.ts";

/** What the page does with an answer: its blocks, and the inline text of each. */
function readAll(text: string): number {
  const inline = (nodes: Inline[]): number =>
    nodes.reduce((sum, node) => sum + 1 + ("children" in node ? inline(node.children) : 0), 0);
  const said = (runs: readonly Run[]) => inline(nestRuns(runs));
  const count = (blocks: TreeBlock[]): number =>
    blocks.reduce((sum, block) => {
      if (block.type === "quote") return sum + 1 + count(block.blocks);
      if (block.type === "list") return sum + 1 + block.items.reduce((all, item) => all + count(item), 0);
      if (block.type === "table") {
        return sum + [block.head, ...block.rows].flat().reduce((all, cell) => all + 1 + said(cell.runs), 0);
      }
      return sum + 1 + ("runs" in block ? said(block.runs) : 0);
    }, 0);
  return count(parseTree(text));
}

describe("the page's Markdown", () => {
  it.each(HOSTILE)("takes time in proportion to %j, %j…, %j [PAGE-1]", (head, piece, tail) => {
    return expectLinear(
      readAll,
      (size) => filled(size, piece, head, tail),
      JSON.stringify([head, piece, tail]),
    );
  });

  it("takes time in proportion to pieces put together by chance [PAGE-1]", async () => {
    const piece = fc.constantFrom(
      ..."# \t\n`~*_-+>|:[]()<!\\\"'.1a".split(""),
      "](",
      "\n> ",
      "\n- ",
      "https://",
      "\n|-|\n",
    );
    const pieces = fc.array(piece, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(pieces, pieces, pieces, (head, body, tail) => {
        return expectLinear(
          readAll,
          (size) => filled(size, body, head, tail),
          JSON.stringify([head, body, tail]),
        );
      }),
      { seed: 20_260_601, numRuns: 40 },
    );
  }, 120_000);

  it("gives no more cells than the text has bars [PAGE-1]", () => {
    const [table] = parseTree(`${"|a".repeat(5000)}\n${"|-".repeat(5000)}\n${"|b\n".repeat(5000)}`);
    expect(table?.type === "table" && table.rows.flat().length).toBe(5000);
  });
});
