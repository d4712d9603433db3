import { isRecord } from "../lib/is-record.ts";
import { error, type Problem } from "./problems.ts";

export type Raw = Record<string, unknown>;

/** JSON.parse's error with a line number, without the quoted piece of the file, which may contain a secret. */
function syntaxProblem(message: string, text: string): string {
  const [what = message] = message.split(/, (?=\.{3}"|")| in JSON/);
  const known = /line \d+/.exec(message)?.[0];
  // V8 quotes ten characters on either side of the error.
  const quoted = /(\.{3})?"(.{0,80}?)"(?:\.{3})? is not valid JSON$/s.exec(message);
  const start = quoted ? text.indexOf(quoted[2]!) : -1;
  const before = start === -1 ? null : text.slice(0, start + (quoted?.[1] ? 10 : 0));
  const where = known ?? (before === null ? null : `near line ${before.split("\n").length}`);
  return `the file is not valid JSON: ${what}${where ? ` (${where})` : ""}`;
}

/** Parses the file's text. */
export function parseConfig(text: string): { raw: Raw } | { problems: Problem[] } {
  try {
    const raw: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
    return isRecord(raw) ? { raw } : { problems: [error("", "the file must contain one JSON object")] };
  } catch (failure) {
    return { problems: [error("", syntaxProblem((failure as Error).message, text))] };
  }
}
