import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainOf, render, splitFor } from "../../../packages/gateway/src/channels/render/index.ts";
import { CHANNELS, type ChannelName } from "../../../packages/gateway/src/channels/types.ts";

const LIMIT: Record<ChannelName, number> = {
  botchat: 4096,
  guildchat: 2000,
  devicechat: 4096,
  cloudchat: 4096,
  sigchat: 5000,
  teamchat: 3900,
};
const TAGS = /<(\/?)([a-z]+)((?: [a-z]+="[^"<>]*")?)>/g;

/** Length as the provider counts it: Telegram does so after it has read the entities. */
const lengthOf = (channel: ChannelName, rendered: string) =>
  channel === "botchat"
    ? rendered.replace(TAGS, "").replace(/&(?:amp|lt|gt|quot);/g, "&").length
    : rendered.length;

/** What a text says: without spaces, and without the marks of quotes, which each line of a quote has. */
const said = (text: string) => text.replace(/[\s\p{Cf}\p{Cc}>]+/gu, "");

/** Why Telegram would refuse the HTML; undefined when it would not. */
function fault(html: string): string | undefined {
  const open: string[] = [];
  for (const [, end, tag = "", attribute] of html.matchAll(TAGS)) {
    if (!["b", "i", "s", "code", "pre", "a", "blockquote"].includes(tag)) return `tag ${tag}`;
    if (attribute && !["a", "code"].includes(tag)) return `attribute of ${tag}`;
    if (!end) open.push(tag);
    else if (open.pop() !== tag) return `unbalanced ${tag}`;
  }
  if (open.length > 0) return `open ${open}`;
  if (/[<>]/.test(html.replace(TAGS, ""))) return "bare bracket";
  return /&(?!(?:amp|lt|gt|quot);)/.test(html) ? "bare ampersand" : undefined;
}

const PIECES = [
  ..."*_~`[]()<>&|\\!#-+=:'\"",
  ...[
    "a",
    "word ",
    "ไทย",
    "中文。",
    "👨‍👩‍👧‍👦",
    "שלום ",
    "\u0301",
    "\ud800",
    "\0",
    "\u200b",
    "  ",
    "\t",
    "\n",
    "\n\n",
  ],
  ...["**", "__", "~~", "``", "```", "***", "![i](http://i.example)", "[x](https://a.example/p?q=1&r=2)"],
  ...["https://e.example/x_y", "<!channel>", "<@U1>", "&amp;", "<br>", "# ", "\n### ", "---", "\n---\n"],
  ...[
    "- ",
    "1. ",
    "> ",
    "\n- ",
    "\n> ",
    "\n```js\n",
    "\n~~~\n",
    "[ ] ",
    "\n\n| a | b |\n|---|---|\n| c | d |\n",
  ],
  ...[
    "x".repeat(700),
    "lorem ipsum dolor sit. ".repeat(40),
    "&".repeat(300),
    "_a".repeat(200),
    "line\n".repeat(50),
  ],
  ...["| c | d |\n".repeat(30), "ข้อความยาวไม่มีช่องว่าง".repeat(30), "- item\n".repeat(60)],
];
const markdown = fc
  .array(
    fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...PIECES) },
      { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
    ),
    { maxLength: 60, size: "max" },
  )
  .map((pieces) => pieces.join(""));

describe.each(CHANNELS)("%s: any text", (channel) => {
  it("is split within the limit without loss [CH-RENDER-6] [CH-RENDER-7]", () => {
    fc.assert(
      fc.property(markdown, (text) => {
        const parts = splitFor(channel, text);
        expect(said(parts.map(plainOf).join("\n"))).toBe(said(plainOf(text)));
        for (const part of parts) {
          const rendered = render(channel, part);
          expect(lengthOf(channel, rendered)).toBeLessThanOrEqual(LIMIT[channel]);
          expect(plainOf(part).length).toBeLessThanOrEqual(LIMIT[channel]);
          expect(plainOf(part)).toMatch(/[^\s\p{Cc}\p{Cf}\p{Cs}]/u);
          expect(rendered.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: 120 },
    );
  });
});

it("Telegram's HTML is always balanced, with allowed tags alone [CH-RENDER-1]", () => {
  fc.assert(
    fc.property(markdown, (text) => {
      for (const part of [text, ...splitFor("botchat", text)]) {
        expect(fault(render("botchat", part))).toBeUndefined();
      }
    }),
    { numRuns: 150 },
  );
});

it("Slack's mrkdwn never holds a mention or a command from the text [CH-RENDER-2]", () => {
  fc.assert(
    fc.property(markdown, (text) => {
      const rendered = render("teamchat", text);
      expect(rendered).not.toMatch(/<[!@#]/);
      expect(
        rendered.replace(/<(?:https?:\/\/|mailto:)[^<>|]*(?:\|[^<>]*)?>/g, "").replace(/^> /gm, ""),
      ).not.toMatch(/[<>]/);
    }),
    { numRuns: 150 },
  );
});

describe("a long text", () => {
  const sentence = "Thirty-two letters make one line. ";

  it("is one part as long as it fits, and none when it shows nothing [CH-RENDER-7]", () => {
    expect(splitFor("botchat", "**Hello**, _world_ & all\n\n- a\n- b")).toEqual([
      "**Hello**, _world_ & all\n\n- a\n- b",
    ]);
    for (const text of ["", " \n\t\n ", "\u200b\u2060", "```\n\n```", "<br>", "| |\n|-|\n| |"]) {
      for (const channel of CHANNELS) expect(splitFor(channel, text)).toEqual([]);
    }
  });

  it("is counted as the provider counts [CH-RENDER-6]", () => {
    expect(splitFor("botchat", "&".repeat(4096))).toHaveLength(1);
    expect(splitFor("botchat", "a".repeat(4097))).toHaveLength(2);
    expect(splitFor("botchat", "😀".repeat(2048))).toHaveLength(1);
    expect(splitFor("guildchat", "a".repeat(2000))).toHaveLength(1);
    expect(splitFor("sigchat", "a".repeat(5000))).toHaveLength(1);
    expect(splitFor("cloudchat", "a".repeat(4096))).toHaveLength(1);
    expect(splitFor("teamchat", "a".repeat(3900))).toHaveLength(1);
    for (const part of splitFor("teamchat", "&".repeat(3900))) {
      expect(render("teamchat", part).length).toBeLessThanOrEqual(3900);
    }
    const links = "[a](https://e.example/a-rather-long-address) ".repeat(100);
    for (const part of splitFor("botchat", links)) expect(plainOf(part).length).toBeLessThanOrEqual(4096);
  });

  it("breaks between paragraphs first [CH-RENDER-8]", () => {
    const paragraph = sentence.repeat(30).trim();
    const parts = splitFor("guildchat", Array(5).fill(paragraph).join("\n\n"));
    expect(parts).toEqual([paragraph, paragraph, paragraph, paragraph, paragraph]);
    expect(splitFor("botchat", Array(5).fill(paragraph).join("\n\n"))).toHaveLength(2);
  });

  it("then between lines, sentences, words, graphemes [CH-RENDER-8]", () => {
    const lines = Array(100).fill("one line, no end").join("\n");
    for (const part of splitFor("guildchat", lines)) expect(part).toMatch(/^one line.*no end$/s);
    for (const part of splitFor("guildchat", sentence.repeat(100))) expect(part).toMatch(/^Thirty.*line\.$/s);
    for (const part of splitFor("guildchat", "word ".repeat(900))) expect(part).toMatch(/^word.*word$/s);
    for (const part of splitFor("guildchat", "这是一个很长的句子。".repeat(400)))
      expect(part).toMatch(/^这是.*。$/s);
    for (const part of splitFor("guildchat", "ภาษา".repeat(900))) expect(part).toMatch(/^(?:ภาษา)+$/);
    for (const family of ["👨‍👩‍👧‍👦", "🏳️‍🌈", "🇹🇭", "e\u0301\u0323"]) {
      for (const part of splitFor("guildchat", family.repeat(1500)))
        expect(part.replaceAll(family, "")).toBe("");
    }
    const arabic = "هذه جملة طويلة؟ ".repeat(300);
    for (const part of splitFor("guildchat", arabic)) expect(part).toMatch(/^هذه.*؟$/s);
  });

  it("leaves no heading alone at the end of a part [CH-RENDER-8]", () => {
    const text = sentence.repeat(50).trim();
    const [first, second] = splitFor("guildchat", `${text}\n\n## Next\n\n${text}`);
    expect(first).toBe(text);
    expect(second).toBe(`## Next\n\n${text}`);
  });

  it("keeps emphasis and links whole across parts [CH-RENDER-8]", () => {
    const bold = splitFor("botchat", `**${"word ".repeat(1500)}end**`);
    expect(bold).toHaveLength(2);
    for (const part of bold) expect(render("botchat", part)).toMatch(/^<b>[a-z ]+<\/b>$/);
    const link = "[a link with words](https://e.example/path)";
    for (const part of splitFor("guildchat", `${link} `.repeat(200))) {
      expect(part.replaceAll(link, "").trim()).toBe("");
    }
  });

  it("keeps code as code, with its language, cut between lines [CH-RENDER-9]", () => {
    const code = Array.from({ length: 300 }, (_, line) => `  const value${line} = ${line};`).join("\n");
    const parts = splitFor("guildchat", `Look:\n\n\`\`\`ts\n${code}\n\`\`\`\n\nDone.`);
    expect(parts.length).toBeGreaterThan(3);
    for (const part of parts) expect(part).toMatch(/```ts\n {2}const.*;\n```/s);
    expect(parts[0]).toMatch(/^Look:/);
    expect(parts.at(-1)).toMatch(/Done\.$/);
    expect(parts.map(plainOf).join("\n")).toContain(code.slice(0, 500));
    const ticks = splitFor("guildchat", `\`\`\`\`\`\n${"```\n".repeat(1500)}\`\`\`\`\``);
    for (const part of ticks) expect(plainOf(part)).toMatch(/^(?:```\n?)+$/);
  });

  it("keeps tables in columns, cut between rows [CH-RENDER-9]", () => {
    const rows = Array.from({ length: 200 }, (_, row) => `| row ${row} | [l](https://e.example) | **ไทย** |`);
    const parts = splitFor("guildchat", `| A | B | C |\n|---|---|---|\n${rows.join("\n")}`);
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) {
      expect(render("guildchat", part)).toMatch(/^```\n(?:A {2,}\| B|row \d+ *\| l).*ไทย\n```$/s);
    }
  });

  it("turns a row that fits no message into text [CH-RENDER-9]", () => {
    const parts = splitFor("guildchat", `| A | B |\n|---|---|\n| ${"word ".repeat(900)} | b |\n| c | d |`);
    expect(plainOf(parts.at(-1) ?? "")).toMatch(/word \| b\s+c \| d$/);
  });

  it("keeps lists and quotes, cut between items and lines [CH-RENDER-9]", () => {
    const items = Array.from({ length: 200 }, (_, index) => `${index + 1}. item **${index}**\n   - part`);
    for (const part of splitFor("guildchat", items.join("\n"))) {
      expect(render("guildchat", part)).toMatch(/^(?:\d+\. item| {3}- part)/);
    }
    for (const part of splitFor("guildchat", `> ${"quoted words ".repeat(400)}`))
      expect(part).toMatch(/^> quoted/);
  });
});

describe("time", () => {
  const texts: Record<string, (size: number) => string> = {
    prose: (size) => fill("Lorem **ipsum** `dolor` [sit](https://e.example) amet. ", size),
    paragraphs: (size) => fill("Lorem _ipsum_.\n\n", size),
    "one word": (size) => fill("a", size),
    thai: (size) => fill("ภาษาไทยไม่มีช่องว่าง", size),
    combining: (size) => `a${fill("\u0301", size)}`,
    brackets: (size) => fill("[", size),
    "half links": (size) => fill("[a](", size),
    "half titles": (size) => fill('[a](b "', size),
    stars: (size) => fill("*a **b _c __d ~~e ", size),
    ticks: (size) => fill("`a``b```c````d", size),
    spaces: (size) => `# a${fill(" ", size)}b\n\`\`\`${fill(" ", size)}\``,
    quotes: (size) => fill("> > > > > > > a\n", size),
    list: (size) => fill("- item\n", size),
    table: (size) => `| a | b |\n|---|---|\n${fill("| x | y |\n", size)}`,
    columns: (size) => `${fill("|a", size)}|\n${fill("|-", size)}|\n${fill("|\n", size)}`,
    tables: (size) => fill("a|b\n-|-\n", size),
    address: (size) => `https://e.example/${fill("x_.", size)}`,
    entities: (size) => fill("&lt;", size),
    code: (size) => `\`\`\`\n${fill("x", size)}`,
    breaks: (size) => fill("a<br>", size),
  };
  const fill = (text: string, size: number) => text.repeat(Math.ceil(size / text.length)).slice(0, size);
  /** Processor time in ms, which other programs do not add to. */
  function timeOf(text: string): number {
    const before = process.cpuUsage();
    for (const part of splitFor("guildchat", text)) render("guildchat", part);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  }

  it.each(Object.keys(texts))("grows with the text alone: %s [CH-RENDER-10]", (name) => {
    const make = texts[name]!;
    timeOf(make(20_000));
    const small = Math.min(timeOf(make(25_000)), timeOf(make(25_000)));
    const large = Math.min(timeOf(make(200_000)), timeOf(make(200_000)));
    // Eight times the text; a quadratic reader would take 64 times as long.
    expect(large).toBeLessThan(24 * Math.max(small, 5));
  });
});
