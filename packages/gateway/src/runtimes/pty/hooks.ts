import { join } from "node:path";
import { openRoot, READ } from "../../lib/guarded/index.ts";
import { PathError } from "../../lib/safe-path.ts";
import { GATEWAY_SERVER, isFields } from "../agent-cli/index.ts";
import { splitAllowed } from "../mcp-names.ts";
import type { OpenOptions } from "../types.ts";

const NAME = "hooks.jsonl";
const REFUSED = "This agent may not use this tool.";

/** Settings of the program: it tells the ends of its turns, and keeps tools away that the agent may not use. */
export function hookSettings({
  sessionDir,
  allowTools,
}: Pick<OpenOptions, "sessionDir" | "allowTools">): string {
  const tell = hook(`{ cat; echo; } >> ${quoted(join(sessionDir, NAME))}`);
  const hooks: Record<string, unknown[]> = { Stop: [tell], StopFailure: [tell] };
  if (allowTools !== true) {
    const { external } = splitAllowed(allowTools === false ? [] : allowTools);
    const own = [`mcp__${GATEWAY_SERVER}`, ...external].map((name) => `${escaped(name)}(?:__|$)`);
    hooks.PreToolUse = [
      {
        matcher: `mcp__(?!(?:${own.map((name) => name.slice(5)).join("|")})).*`,
        ...hook(`echo '${REFUSED}' >&2; exit 2`),
      },
    ];
  }
  return JSON.stringify({ hooks });
}

const hook = (command: string) => ({ hooks: [{ type: "command", command }] });
const quoted = (path: string) => `'${path.replaceAll("'", `'\\''`)}'`;
const escaped = (name: string) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Opens the file in which the program tells of its turns; undefined while there is none. */
export async function openHooks(sessionDir: string) {
  await using folder = await openRoot(sessionDir);
  return (await folder.stat(NAME)) === undefined ? undefined : await folder.open(NAME, READ);
}

/** Removes what an earlier process told. */
export async function removeHooks(sessionDir: string): Promise<void> {
  try {
    await using folder = await openRoot(sessionDir);
    await folder.remove(NAME);
  } catch (error) {
    if (!(error instanceof PathError)) throw error;
  }
}

/** Whether a line says that the program has ended its answer. */
export function saysStopped(line: string): boolean {
  try {
    const told: unknown = JSON.parse(line);
    return isFields(told) && (told.hook_event_name === "Stop" || told.hook_event_name === "StopFailure");
  } catch {
    return false;
  }
}
