import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Block, parseBlocks } from "../../../packages/dashboard/src/components/markdown/blocks.ts";
import { type Inline, parseInline } from "../../../packages/dashboard/src/components/markdown/inline.ts";
import { expectLinear, filled } from "../../fixtures/linear.ts";

/** What the page does with an answer: its blocks, and the inline text of each. */
function readAll(text: string): number {
  const inline = (nodes: Inline[]): number =>
    nodes.reduce((sum, node) => sum + 1 + ("children" in node ? inline(node.children) : 0), 0);
  const count = (blocks: Block[]): number =>
    blocks.reduce((sum, block) => {
      if (block.type === "quote") return sum + 1 + count(block.blocks);
      if (block.type === "list") return sum + 1 + block.items.reduce((all, item) => all + count(item), 0);
      if (block.type === "table") {
        return (
          sum +
          [block.head, ...block.rows].flat().reduce((all, cell) => all + 1 + inline(parseInline(cell)), 0)
        );
      }
      return sum + 1 + ("text" in block && block.type !== "code" ? inline(parseInline(block.text)) : 0);
    }, 0);
  return count(parseBlocks(text));
}

/** `head`, then as many of `piece` as there is room for, then `tail`. */
const HOSTILE: [head: string, piece: string, tail: string][] = [
  ["# ", " ", "x"],
  ["# a", " ", "#x"],
  ["# ", "#", "x"],
  ["# ", "# ", "x"],
  ["```", " ", "`"],
  ["```a", " ", "`"],
  ["```", "`", ""],
  ["~~~", "~", "x"],
  ["```\n", "``` x\n", ""],
  ["a|b\n|", "-", "x"],
  ["a|b\n", ":-:", "x"],
  ["a|b\n", " ", "x"],
  ["a|b\n", "- |", "x"],
  ["a|b\n", "-| ", "x"],
  ["|-\n", "|\n", ""],
  ["***", " ", "x"],
  ["", "* ", "x"],
  ["", "- ", "x"],
  ["", "_ _", "x"],
  ["", "> ", "x"],
  ["", "a\n> ", ""],
  ["", "a\n> > > > > a\n", ""],
  ["", "- a\n  - b\n    - c\n", ""],
  ["", "1. ", "x"],
  ["", "1", ". x"],
  ["", "-\n\n", ""],
  ["- a\n", "\n", "  b"],
  ["- a\n", " \n  b\n", ""],
  ["` ", "a", "`"],
  ["` ", " ", "`"],
  ["` ", "a ", "`"],
  ["", "`a``b", ""],
  ["", "` `` ``` ", ""],
  ["", "[", ""],
  ["", "[", "]("],
  ["", "[", "](x)"],
  ["", "]", ""],
  ["", "[](", ""],
  ["[x](", " ", "x"],
  ["[x](a", " ", "x"],
  ["[x](a ", '"', "x"],
  ['[x](a "', " ", "x"],
  ["[x](<", "a", "x"],
  ["[x](", "(", ")"],
  ["[x](", "()", "("],
  ["", "[x](a '", ""],
  ["", "[a](https://a.example)", ""],
  ["", "[![a](b)", "](https://a.example)"],
  ["https://a", ".", "b"],
  ["https://a", ")", "b"],
  ["https://a", ".)", "("],
  ["", "https://", ""],
  ["", "https://[", ""],
  ["", "http", ""],
  ["<https://", "a", " "],
  ["", "<https://", ""],
  ["", "<mailto:", ""],
  ["", "*a ", ""],
  ["", "**a *b ", ""],
  ["", "*a **b", "*"],
  ["", "a*", ""],
  ["", "*a_b~~c", ""],
  ["", "***a ", "***"],
  ["", "_a", ""],
  ["", "~~", ""],
  ["", "~~a", "~~"],
  ["", "\\", ""],
  ["", "\\`", "`"],
  ["", " ", "x"],
  ["", "\t", "x"],
  ["", "\r", "x"],
  ["", "!", "["],
  ["", "|", "\n-"],
];

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
  });

  it("gives no more cells than the text has bars [PAGE-1]", () => {
    const [table] = parseBlocks(`${"|a".repeat(5000)}\n|-|\n${"|b\n".repeat(5000)}`);
    expect(table?.type === "table" && table.rows.flat().length).toBe(5000);
  });
});
