import type { Changelog } from "@agent-gateway/contract";
import { connect } from "./connection.ts";
import { UsageError } from "./errors.ts";
import { type Flag, GLOBAL_FLAGS, isOn, last, parseFlags, takeWords } from "./flags.ts";
import { print, printable, printJson } from "./output.ts";

const FLAGS = new Map<string, Flag>([...GLOBAL_FLAGS, ["from", { key: "from" }], ["to", { key: "to" }]]);

const shown = ({ entries, from, to }: Changelog): string =>
  entries.length === 0
    ? `Nothing is described between ${from ?? "the first version"} and ${to}.\n`
    : entries
        .map(
          ({ version, date, notes }) => `${version}${date ? ` (${date})` : ""}\n\n${notes || "No notes."}\n`,
        )
        .join("\n");

/** `packages changelog`: what releases say of themselves, as they wrote it. */
export async function changelogCommand(tokens: readonly string[]): Promise<number> {
  const parsed = parseFlags(takeWords(tokens, 1).rest, FLAGS);
  const [name, ...more] = parsed.positionals;
  if (name === undefined || more.length > 0) throw new UsageError("changelog needs the name of one package.");
  const query: Record<string, string> = {};
  for (const end of ["from", "to"] as const) {
    const version = last(parsed, end);
    if (version !== undefined) query[end] = version;
  }
  const response = await connect(parsed, process.env).call("packageChangelog", { params: { name }, query });
  const changelog = (await response.json()) as Changelog;
  if (isOn(parsed, "json")) await printJson(changelog);
  else await print(printable(shown(changelog)));
  return 0;
}
