import { describe, expect, it } from "vitest";
import { plainOf, render } from "../../../packages/gateway/src/channels/render/index.ts";

describe("Telegram", () => {
  const html = (markdown: string) => render("botchat", markdown);

  it("is written in its HTML, all else escaped [CH-RENDER-1]", () => {
    expect(html("**a** _b_ ~~c~~ `d<e>` <b>&</b>")).toBe(
      "<b>a</b> <i>b</i> <s>c</s> <code>d&lt;e&gt;</code> &lt;b&gt;&amp;&lt;/b&gt;",
    );
    expect(html("# Title\nText")).toBe("<b>Title</b>\nText");
    expect(html('[a "quoted" <link>](https://e.example/?a=1&b=2)')).toBe(
      '<a href="https://e.example/?a=1&amp;b=2">a "quoted" &lt;link&gt;</a>',
    );
    expect(html("```js\nif (a < b) c();\n```")).toBe(
      '<pre><code class="language-js">if (a &lt; b) c();</code></pre>',
    );
    expect(html('```"><script>\nx\n```')).toBe("<pre>x</pre>");
    expect(html("> one\n> two\n\nthree")).toBe("<blockquote>one\ntwo</blockquote>\n\nthree");
  });

  it("links to web addresses alone, and shows the others [CH-RENDER-1]", () => {
    expect(html("[x](javascript:alert(1))")).toBe("[x](javascript:alert(1))");
    expect(html("[mail](mailto:a@e.example)")).toBe("mail (mailto:a@e.example)");
    expect(html("see https://e.example/a_b_c.")).toBe(
      'see <a href="https://e.example/a_b_c">https://e.example/a_b_c</a>.',
    );
  });

  it("keeps malformed markup as text [CH-RENDER-1]", () => {
    for (const text of ["**open", "a * b * c", "snake_case_name", "[x](", "![", "`", "</b>", "\\"]) {
      expect(plainOf(text)).toBe(text);
    }
    expect(html("**a _b** c_")).toBe("<b>a _b</b> c_");
    expect(html("**a **b** c**")).toBe("<b>a **b</b> c**");
  });
});

describe("Slack", () => {
  const mrkdwn = (markdown: string) => render("teamchat", markdown);

  it("is written in its mrkdwn [CH-RENDER-2]", () => {
    expect(mrkdwn("## Head\n**a** _b_ ~~c~~ `d` **_e_**")).toBe("*Head*\n*a* _b_ ~c~ `d` *_e_*");
    expect(mrkdwn("[a & b](https://e.example/x|y)")).toBe("<https://e.example/x%7Cy|a &amp; b>");
    expect(mrkdwn("```py\nprint(1)\n```")).toBe("```\nprint(1)\n```");
    expect(mrkdwn("- a\n- b")).toBe("• a\n• b");
  });

  it("lets no text forge a mention or a command [CH-RENDER-2]", () => {
    expect(mrkdwn("<!channel> <@U1> `<!here>` <https://e.example|x>")).toBe(
      "&lt;!channel&gt; &lt;@U1&gt; `&lt;!here&gt;` &lt;https://e.example|x&gt;",
    );
    expect(mrkdwn("[<!channel>](https://e.example)")).toBe("<https://e.example|&lt;!channel&gt;>");
    expect(mrkdwn("\\<!channel> &lt;!channel&gt;")).toBe("&lt;!channel&gt; &lt;!channel&gt;");
  });

  it("shows no signs where Slack would show them as they are [CH-RENDER-2]", () => {
    expect(mrkdwn("foo**bar**baz 这是**重点**内容")).toBe("foobarbaz 这是重点内容");
    expect(mrkdwn("**one  \ntwo **")).toBe("**one\ntwo **");
    expect(mrkdwn("**one\ntwo** three")).toBe("*one*\n*two* three");
  });
});

describe("Discord", () => {
  const discord = (markdown: string) => render("guildchat", markdown);

  it("keeps its own Markdown and replaces what it lacks [CH-RENDER-3]", () => {
    expect(discord("# A\n#### B\n**c** *d* ~~e~~ `f`")).toBe("# A\n**B**\n**c** _d_ ~~e~~ `f`");
    expect(discord("![pic](https://e.example/p.png)")).toBe("[pic](https://e.example/p.png)");
    expect(discord("[w](https://e.example/a_(b))")).toBe("[w](https://e.example/a_%28b%29)");
    expect(discord("[https://a.example](https://b.example)")).toBe("https://a.example (https://b.example)");
    expect(discord("| A | B |\n|---|---|\n| 1 | 2 |")).toBe("```\nA | B\n--|--\n1 | 2\n```");
  });

  it("escapes what is no markup in the reply [CH-RENDER-3]", () => {
    expect(discord("\\*a\\* snake_case 1\\. x")).toBe("\\*a\\* snake\\_case 1. x");
    expect(discord("1\\. x\n\\# y\n\\> z")).toBe("1\\. x\n\\# y\n\\> z");
  });

  it("ends no code early [CH-RENDER-3]", () => {
    expect(discord("````\n```\ninner\n```\n````")).toBe("```\n`\u200b`\u200b`\ninner\n`\u200b`\u200b`\n```");
    expect(discord("`` a`b ``")).toBe("`` a`b ``");
  });
});

describe("WhatsApp and LINE", () => {
  it("get light signs, and plain text [CH-RENDER-4]", () => {
    const markdown = "# Head\n**a** _b_ ~~c~~ `d` [e](https://e.example)\n```js\nf()\n```";
    for (const channel of ["devicechat", "cloudchat"] as const) {
      expect(render(channel, markdown)).toBe("*Head*\n*a* _b_ ~c~ `d` e (https://e.example)\n```\nf()\n```");
    }
    expect(render("sigchat", markdown)).toBe("Head\na b c d e (https://e.example)\nf()");
    expect(plainOf(markdown)).toBe(render("sigchat", markdown));
  });
});

describe("plain text", () => {
  it("is readable [CH-RENDER-5]", () => {
    expect(plainOf("see [the docs](https://e.example/docs) and [e.example](https://e.example/)")).toBe(
      "see the docs (https://e.example/docs) and https://e.example/",
    );
    expect(plainOf("- a\n  - b\n    1. c\n- [ ] d\n- [x] e")).toBe("• a\n  • b\n    1. c\n• ☐ d\n• ☑ e");
    expect(plainOf("> a\n> b\n\n---\nc")).toBe("> a\n> b\n\n———\nc");
    expect(plainOf("| A | B |\n|:--|--:|\n| `x\\|y` | z<br>w |")).toBe("A | B\nx|y | z w");
    expect(plainOf("&lt;p&gt; &amp;&nbsp;&#233; a<br>b")).toBe("<p> &\u00a0é a\nb");
  });

  it("keeps every script as it is [CH-RENDER-5]", () => {
    for (const text of [
      "ภาษาไทย น้ำ",
      "中文。日本語、한국어",
      "👨‍👩‍👧‍👦 🏳️‍🌈 e\u0301",
      "שלום עולם",
      "مرحبا؟ نعم",
    ]) {
      expect(plainOf(text)).toBe(text);
      expect(plainOf(`**${text}**`)).toBe(text);
    }
    expect(plainOf("**重点：**内容，**结束。**")).toBe("重点：内容，结束。");
  });

  it("keeps code in lists and quotes, whatever fences stand there [CH-RENDER-5]", () => {
    expect(plainOf("1. Run:\n   ```sh\n   npm i\n     x\n   ```\n2. Done")).toBe(
      "1. Run:\nnpm i\n  x\n2. Done",
    );
    expect(plainOf("- ```\n  **a**\n  ```\n- b")).toBe("-\n**a**\n• b");
    expect(plainOf("> ```\n> a\n\nafter")).toBe("a\n\nafter");
    expect(plainOf("```\n\tindent\n\n\nend")).toBe("\tindent\n\n\nend");
  });
});
