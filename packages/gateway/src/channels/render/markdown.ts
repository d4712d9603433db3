import {
  type Block,
  DEL,
  EM,
  quote,
  type Row,
  type Run,
  runText,
  STRONG,
} from "@agent-gateway/contract/markdown";

const WORD = /[\p{L}\p{N}]/u;

/** Fence or code marker: longer than each run of backticks in the text. */
const ticks = (text: string, least: number) =>
  "`".repeat((text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length + 1), least));

/** A block of code. */
export function codeMarkdown(language: string, text: string): string {
  const fence = ticks(text, 3);
  return `${fence}${language}\n${text}\n${fence}`;
}

const escapeText = (text: string) => text.replace(/[\\`*_~[\]<&|]/g, "\\$&");
/** Escapes what would make a line of text a heading, a quote or an item. */
export const escapeStarts = (text: string) =>
  text.replace(/^( *)([#>+-])/gm, "$1\\$2").replace(/^( *\d{1,9})([.)])/gm, "$1\\$2");

/** Each mark escaped: reads as it is under every circumstance, but for the look of its runs. */
export const literalMarkdown = (runs: readonly Run[]): string =>
  runs
    .map(runText)
    .join("")
    .replace(/[!-/:-@[-`{-~]/g, "\\$&");

function runMarkdown(run: Run, before: string, after: string): string {
  const text = run.text.trim();
  if (text === "") return run.text;
  let body = escapeText(text);
  if (run.type === "link") body = run.text === run.href ? `<${run.href}>` : `[${body}](${run.href})`;
  if (run.type === "code") {
    const marker = ticks(run.text, 1);
    const pad = /^[` ]|[` ]$/.test(run.text) ? " " : "";
    body = `${marker}${pad}${run.text}${pad}${marker}`;
  }
  const em = WORD.test(before) || WORD.test(after) ? "*" : "_";
  if (run.marks & EM) body = `${em}${body}${em}`;
  if (run.marks & STRONG) body = `**${body}**`;
  if (run.marks & DEL) body = `~~${body}~~`;
  if (run.type !== "text") return body;
  const lead = run.text.length - run.text.trimStart().length;
  return run.text.slice(0, lead) + body + run.text.slice(lead + text.length);
}

/** Runs as Markdown that reads as the same runs, save where their marks touch in ways that Markdown cannot tell. */
export function inlineMarkdown(runs: readonly Run[]): string {
  const parts = runs.map((run, index) =>
    runMarkdown(run, runs[index - 1]?.text.at(-1) ?? "", runs[index + 1]?.text[0] ?? ""),
  );
  return escapeStarts(parts.join(""));
}

/** Rows as a table; without `head` the head's cells are empty. */
export function tableMarkdown(rows: readonly Row[], head: boolean): string {
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 1);
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const all = rows.map((row) => line(row.map((cell) => inlineMarkdown(cell.runs).replaceAll("\n", " "))));
  const [first, ...rest] = head ? all : [line(Array<string>(columns).fill("")), ...all];
  const width = head ? (rows[0]?.length ?? 1) : columns;
  return [first, line(Array<string>(width).fill("---")), ...rest].join("\n");
}

/** A whole block as Markdown. */
export const blockMarkdown = (block: Block): string =>
  block.type === "code" ? codeMarkdown(block.language, block.text) : block.source;

/** A text's first line with its marker, quoted where the block is. */
export function textMarkdown(indent: number, marker: string, text: string, quoted: boolean): string {
  const line = `${" ".repeat(indent)}${marker ? `${marker} ` : ""}${text}`;
  return quoted ? quote(line) : line;
}
