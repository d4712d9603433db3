import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Cell,
  type Inline,
  nestRuns,
  parseTree,
  type Run,
  type TreeBlock,
} from "../../../packages/contract/src/markdown/index.ts";
import { parseInline } from "../../../packages/contract/src/markdown/inline.ts";

/** The tree in brackets, without what only the page needs. */
const shape = (nodes: Inline[]): string =>
  nodes
    .map((node) => {
      if (node.type === "text") return node.text;
      if (node.type === "break") return "|";
      if (node.type === "code") return `code(${node.text})`;
      const name = node.type === "link" ? `link ${node.href}` : node.type;
      return `${name}(${shape(node.children)})`;
    })
    .join("");
const said = (runs: readonly Run[]) => shape(nestRuns(runs)).replaceAll("|", "\n");
const row = (cells: readonly Cell[]) => cells.map(({ runs }) => shape(nestRuns(runs)));
const inline = (text: string) => shape(nestRuns(parseInline(text)));
const strip = (block: TreeBlock): unknown => {
  const { raw: _raw, ...rest } = block;
  if (rest.type === "quote") return { ...rest, blocks: rest.blocks.map(strip) };
  if (rest.type === "list") return { ...rest, items: rest.items.map((item) => item.map(strip)) };
  if (rest.type === "table") return { ...rest, head: row(rest.head), rows: rest.rows.map(row) };
  if (!("runs" in rest)) return rest;
  const { runs, ...others } = rest;
  return { ...others, text: said(runs) };
};
const blocks = (text: string) => parseTree(text).map(strip);
const paragraph = (text: string) => ({ type: "paragraph", text });

describe("inline text", () => {
  it.each([
    ["**a** *b* ***c*** ~~d~~", "strong(a) em(b) strong(em(c)) del(d)"],
    ["**a *b* c**", "strong(a em(b) c)"],
    ["**a *b***", "strong(a em(b))"],
    ["snake_case_name and _em_", "snake_case_name and em(em)"],
    ["2 * 3 * 4 ** 5", "2 * 3 * 4 ** 5"],
    ["`a **b**` ``c ` d``", "code(a **b**) code(c ` d)"],
    ["`open **b**", "`open strong(b)"],
    ["\\*not\\* \\a", "*not* \\a"],
    ["a\nb", "a|b"],
    ["[x **y**](https://a.example/p_(q))", "link https://a.example/p_(q)(x strong(y))"],
    [
      "see https://a.example/x, or (https://b.example).",
      "see link https://a.example/x(https://a.example/x), or (link https://b.example/(https://b.example)).",
    ],
    ["<https://a.example>", "link https://a.example/(https://a.example)"],
    ["![pic](https://a.example/i.png)", "link https://a.example/i.png(pic)"],
    ["<b>x</b> &amp;", "<b>x</b> &"],
    ["a<br>b", "a|b"],
    [
      "[**a** `b`](https://a.example) **[c](https://a.example)**",
      "link https://a.example/(strong(a) code(b)) strong(link https://a.example/(c))",
    ],
    ["` a ` `  `", "code(a) code(  )"],
    ["[a [b] c](https://a.example) [d]", "link https://a.example/(a [b] c) [d]"],
  ])("reads %j", (text, expected) => {
    expect(inline(text)).toBe(expected);
  });

  it("links to the web and to mail alone", () => {
    for (const bad of [
      "javascript:alert(1)",
      " javascript:x",
      "JaVaScRiPt:x",
      "data:text/html,x",
      "/path",
      "vbscript:x",
    ]) {
      expect(inline(`[x](${bad})`)).not.toContain("link");
    }
    expect(inline("[m](mailto:a@b.example)")).toBe("link mailto:a@b.example(m)");
  });

  it("loses no letter of any text", () => {
    const pieces = fc.array(
      fc.constantFrom(
        "*",
        "**",
        "_",
        "`",
        "```",
        "~~",
        "[",
        "](",
        ")",
        "!",
        "<",
        "\\",
        "a",
        "ก",
        " ",
        "b c",
        "https://x.example",
      ),
    );
    const letters = (text: string) => text.replace(/[^a-zก]/g, "");
    const visible = (nodes: Inline[]): string =>
      nodes
        .map((node) => ("text" in node ? node.text : "children" in node ? visible(node.children) : ""))
        .join("");
    fc.assert(
      fc.property(pieces, (parts) => {
        const text = parts.filter((part) => !part.includes("](")).join("");
        expect(letters(visible(nestRuns(parseInline(text))))).toBe(letters(text));
      }),
    );
  });
});

describe("blocks", () => {
  it("reads headings, paragraphs, rules and quotes", () => {
    expect(blocks("# A #\ntext\nmore\n\n---\n> q1\n> q2")).toEqual([
      { type: "heading", level: 1, text: "A" },
      paragraph("text\nmore"),
      { type: "rule" },
      { type: "quote", blocks: [paragraph("q1\nq2")] },
    ]);
    expect(blocks("## C#\n#no heading\n####### nor this")).toEqual([
      { type: "heading", level: 2, text: "C#" },
      paragraph("#no heading\n####### nor this"),
    ]);
  });

  it("takes code as it is, also before its fence is closed", () => {
    expect(blocks("```js\nlet a = `x`;\n\n# no\n```\nafter")).toEqual([
      { type: "code", language: "js", text: "let a = `x`;\n\n# no" },
      paragraph("after"),
    ]);
    expect(blocks("~~~\nhalf")).toEqual([{ type: "code", language: "", text: "half" }]);
  });

  it("reads nested and numbered lists", () => {
    expect(blocks("3. a\n4. b\n\n- x\n  - y\n\n  z\n- w")).toEqual([
      { type: "list", start: 3, items: [[paragraph("a")], [paragraph("b")]] },
      {
        type: "list",
        start: undefined,
        items: [
          [paragraph("x"), { type: "list", start: undefined, items: [[paragraph("y")]] }, paragraph("z")],
          [paragraph("w")],
        ],
      },
    ]);
  });

  it("puts code, quotes and lists into the items that hold them", () => {
    expect(
      blocks("1. Run:\n   ```sh\n   npm i\n   ```\n2. > quoted\n   - ```\n     x\n     ```\n\n3. - y\n\nend"),
    ).toEqual([
      {
        type: "list",
        start: 1,
        items: [
          [paragraph("Run:"), { type: "code", language: "sh", text: "npm i" }],
          [
            { type: "quote", blocks: [paragraph("quoted")] },
            { type: "list", start: undefined, items: [[{ type: "code", language: "", text: "x" }]] },
          ],
          [{ type: "list", start: undefined, items: [[paragraph("y")]] }],
        ],
      },
      paragraph("end"),
    ]);
    expect(blocks("> a\n> > b\n> - c\n\n> d")).toEqual([
      {
        type: "quote",
        blocks: [
          paragraph("a"),
          { type: "quote", blocks: [paragraph("b")] },
          { type: "list", start: undefined, items: [[paragraph("c")]] },
        ],
      },
      { type: "quote", blocks: [paragraph("d")] },
    ]);
  });

  it("tells a changed block from the others by what it holds", () => {
    const raws = (text: string) => parseTree(text).map(({ raw }) => raw);
    const [first, second] = raws("- a\n\n> - b\n>   - c\n\nend");
    const [same, changed] = raws("- a\n\n> - b\n>   - c and more");
    expect(same).toBe(first);
    expect(changed).not.toBe(second);
    expect(raws("- a\n- b")).not.toEqual(raws("- a\n  - b"));
    expect(raws("- a")).not.toEqual(raws("1. a"));
  });

  it("reads tables, no row wider than the head", () => {
    expect(blocks("| a | b |\n|---|:-:|\n| 1 |\n| x \\| y | 2 | 3 |\n\nend")).toEqual([
      {
        type: "table",
        head: ["a", "b"],
        rows: [["1"], ["x | y", "2"]],
      },
      paragraph("end"),
    ]);
  });

  it("ends with any text", () => {
    const piece = fc.constantFrom(
      "\n",
      "\n\n",
      "- ",
      "  - ",
      "1. ",
      "> ",
      "```\n",
      "# ",
      "|",
      "---",
      "a",
      "    ",
      "\t",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 200 }), (parts) => Array.isArray(parseTree(parts.join("")))),
    );
  });
});
