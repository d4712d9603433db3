import { DEL, EM, quote, type Run, runText, STRONG } from "@agent-gateway/contract/markdown";
import { escapeText, escapeXml } from "../../lib/xml.ts";
import { escapeStarts } from "./markdown.ts";

/** How a chat writes what Markdown says. */
export interface Dialect {
  /** Length of rendered text as the provider counts it. */
  length(rendered: string): number;
  /** Most that one UTF-16 unit of text takes when rendered. */
  cost(unit: number): number;
  /** Most that the markup around a run takes, on each of its lines. */
  markup: number;
  /** `before` and `after` are the characters next to the run. */
  run(run: Run, before: string, after: string): string;
  /** A text's lines as they go out, after its runs. */
  lines(text: string): string;
  heading(level: number, runs: readonly Run[], inline: (runs: readonly Run[]) => string): string;
  code(language: string, text: string): string;
  quote(text: string): string;
  bullet: string;
  /** Tables are set in columns of one width a character. */
  columns: boolean;
}

const AMP = 38;
const LESS = 60;
const MORE = 62;
const TICK = 96;
const WORD = /[\p{L}\p{N}]/u;

/** Text with the marks of each of its lines around what the line says: chats want no space inside of them. */
function wrapLines(text: string, open: string, close: string): string {
  if (open === "") return text;
  return text
    .split("\n")
    .map((line) => {
      const own = line.trim();
      if (own === "") return line;
      const lead = line.length - line.trimStart().length;
      return `${line.slice(0, lead)}${open}${own}${close}${line.slice(lead + own.length)}`;
    })
    .join("\n");
}

const bold = (runs: readonly Run[]): Run[] => runs.map((run) => ({ ...run, marks: run.marks | STRONG }));
/** Marks by their signs, from the outside in. */
function signs(marks: number, strong: string, em: string, del: string): [open: string, close: string] {
  const open = [marks & DEL ? del : "", marks & STRONG ? strong : "", marks & EM ? em : ""];
  return [open.join(""), open.toReversed().join("")];
}

export const plain: Dialect = {
  length: (rendered) => rendered.length,
  cost: () => 1,
  markup: 0,
  run: runText,
  lines: (text) => text,
  heading: (_level, runs, inline) => inline(runs),
  code: (_language, text) => text,
  quote,
  bullet: "•",
  columns: false,
};

/** Three backticks would end the block: a space of no width parts them. */
const fenced = (head: string, text: string) =>
  `\`\`\`${head}\n${text.replace(/`{3,}/g, (run) => run.split("").join("\u200b"))}\n\`\`\``;

const web = (href: string) => /^https?:/i.test(href);

/** Telegram's HTML. Its limit counts the text without tags, an entity as what it stands for. */
export const telegram: Dialect = {
  ...plain,
  length: (rendered) => rendered.replace(/<[^<>]*>/g, "").replace(/&(?:amp|lt|gt|quot);/g, "&").length,
  run(run) {
    if (run.type === "code") return `<code>${escapeText(run.text)}</code>`;
    let body = escapeText(run.text);
    if (run.type === "link") {
      body = web(run.href) ? `<a href="${escapeXml(run.href)}">${body}</a>` : escapeText(runText(run));
    }
    if (run.text.trim() === "") return body;
    if (run.marks & DEL) body = `<s>${body}</s>`;
    if (run.marks & EM) body = `<i>${body}</i>`;
    return run.marks & STRONG ? `<b>${body}</b>` : body;
  },
  heading: (_level, runs, inline) => inline(bold(runs)),
  code: (language, text) =>
    language
      ? `<pre><code class="language-${language}">${escapeText(text)}</code></pre>`
      : `<pre>${escapeText(text)}</pre>`,
  quote: (text) => `<blockquote>${text}</blockquote>`,
  columns: true,
};

/** Escaped in text; a line break, because what follows it may be. */
const DISCORD_ESCAPED = new Set([..."\\`*_~|[]\n"].map((char) => char.charCodeAt(0)));
const discordText = (text: string) => text.replace(/[\\`*_~|[\]]/g, "\\$&");

/** Discord's Markdown: no tables, no pictures, no headings below the third level. */
export const discord: Dialect = {
  ...plain,
  cost: (unit) => (DISCORD_ESCAPED.has(unit) ? 2 : 1),
  markup: 12,
  run(run, before, after) {
    const em = WORD.test(before) || WORD.test(after) ? "*" : "_";
    const [open, close] = signs(run.marks, "**", em, "~~");
    if (run.type === "code") {
      if (run.text.includes("``")) return wrapLines(discordText(run.text), open, close);
      const body = run.text.includes("`") ? `\`\` ${run.text} \`\`` : `\`${run.text}\``;
      return `${open}${body}${close}`;
    }
    if (run.type === "text") return wrapLines(discordText(run.text), open, close);
    const shown = runText(run);
    if (shown === run.href) return run.href;
    // Discord shows the source of a link whose text looks like another address.
    if (!web(run.href) || run.text.includes("://")) return `${discordText(run.text)} (${run.href})`;
    const href = run.href.replaceAll("(", "%28").replaceAll(")", "%29");
    return `${open}[${discordText(run.text)}](${href})${close}`;
  },
  lines: escapeStarts,
  heading: (level, runs, inline) =>
    level <= 3 ? `${"#".repeat(level)} ${inline(runs)}` : inline(bold(runs)),
  code: fenced,
  bullet: "-",
  columns: true,
};

/** Slack's and WhatsApp's marks work between words only; inside a word they would show. */
function light(run: Run, text: string, before: string, after: string): string {
  if (WORD.test(before) && WORD.test(run.text[0] ?? "")) return text;
  if (WORD.test(after) && WORD.test(run.text.at(-1) ?? "")) return text;
  return wrapLines(text, ...signs(run.marks, "*", "_", "~"));
}

const slackHref = (href: string) => escapeText(href).replaceAll("|", "%7C");

/** Slack's mrkdwn. With `&`, `<` and `>` escaped no text becomes a mention or a command such as `<!channel>`. */
export const slack: Dialect = {
  ...plain,
  cost: (unit) => (unit === AMP ? 5 : unit === LESS || unit === MORE ? 4 : unit === TICK ? 2 : 1),
  markup: 8,
  run(run, before, after) {
    const text = escapeText(run.text);
    if (run.type === "code") return run.text.includes("`") ? text : `\`${text}\``;
    if (run.type === "text") return light(run, text, before, after);
    const href = slackHref(run.href);
    return runText(run) === run.href ? `<${href}>` : `<${href}|${text}>`;
  },
  heading: (_level, runs, inline) => inline(bold(runs)),
  code: (_language, text) => fenced("", escapeText(text)),
  columns: true,
};

/** WhatsApp's signs, which also read well where they are not shown as looks. */
export const whatsapp: Dialect = {
  ...plain,
  cost: (unit) => (unit === TICK ? 2 : 1),
  markup: 8,
  run(run, before, after) {
    if (run.type === "code") return run.text.includes("`") ? run.text : `\`${run.text}\``;
    return run.type === "link" ? runText(run) : light(run, run.text, before, after);
  },
  heading: (_level, runs, inline) => inline(bold(runs)),
  code: (_language, text) => fenced("", text),
  columns: true,
};
