import { homedir } from "node:os";
import { join } from "node:path";
import { readNamed } from "../lib/guarded/index.ts";

const MAX_BYTES = 4 * 1024 * 1024;

/** The strings in the `env` block of the agent CLI's settings file; empty when there is no such file or block. */
export async function readCliSettings(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Record<string, string>> {
  const folder = env.CLAUDE_CONFIG_DIR || join(env.HOME || homedir(), ".claude");
  const file = join(folder, "settings.json");
  try {
    const parsed = JSON.parse((await readNamed(file, MAX_BYTES)).toString("utf8")) as {
      env?: Record<string, unknown>;
    } | null;
    const strings = Object.entries(parsed?.env ?? {}).filter(([, value]) => typeof value === "string");
    return Object.fromEntries(strings) as Record<string, string>;
  } catch {
    return {};
  }
}
