import { readDotenv } from "./dotenv.ts";
import { stringifyLike } from "./edit.ts";
import { agentIds, type Loaded, loadConfig } from "./load.ts";
import type { LoadInput } from "./load-gateway.ts";
import { migrate } from "./migrate.ts";
import { parseConfig } from "./parse.ts";
import { agentEnvFile, type Env, homeEnvFile } from "./paths.ts";
import type { Problem } from "./problems.ts";
import type { Paths } from "./types.ts";

/** Reads the current `.env` files that the configuration may refer to. */
export async function readInput(raw: Record<string, unknown>, paths: Paths, env: Env): Promise<LoadInput> {
  const own = agentIds(raw).map(async (id) => [id, await readDotenv(agentEnvFile(paths, id))] as const);
  const [homeEnv, agentEnv] = await Promise.all([readDotenv(homeEnvFile(paths)), Promise.all(own)]);
  return { paths, env, homeEnv, agentEnv: new Map(agentEnv) };
}

interface FromText {
  /** The text, migrated if it was older. */
  text: string;
  /** Its old version if it was migrated, else null. */
  migratedFrom: string | null;
}

/** From the file's text to a configuration: parse, migrate, read the `.env` files, load. Writes nothing. */
export async function loadText(
  text: string,
  paths: Paths,
  env: Env,
): Promise<(Loaded & FromText) | { config: null; problems: Problem[] }> {
  const parsed = parseConfig(text);
  if ("problems" in parsed) return { config: null, problems: parsed.problems };
  const { from, problems } = migrate(parsed.raw);
  const loaded = loadConfig(parsed.raw, await readInput(parsed.raw, paths, env));
  const all = [...problems, ...loaded.problems];
  if (!loaded.config) return { config: null, problems: all };
  return {
    ...loaded,
    problems: all,
    text: from === null ? text : stringifyLike(parsed.raw, text),
    migratedFrom: from,
  };
}
