import type * as z from "zod";
import { isRecord } from "../lib/is-record.ts";
import { PathError } from "../lib/safe-path.ts";
import { readDotenv } from "./dotenv.ts";
import { interpolate } from "./interpolate.ts";
import { parseConfig } from "./parse.ts";
import { type Env, homeEnvFile, lastGoodFile } from "./paths.ts";
import { readText } from "./read-text.ts";
import { isPostgresUrl, storeSection } from "./schema-store.ts";
import type { Paths } from "./types.ts";

export type StoreSettings = z.output<typeof storeSection>;

/** `gateway.store` with what the environment puts over it; undefined for an address that is not one of Postgres. */
export function withStoreUrl(section: unknown, env: Env): unknown {
  const url = env.GATEWAY_STORE_URL;
  if (!url) return section;
  return isPostgresUrl(url) ? { ...(isRecord(section) && section), driver: "postgres", url } : undefined;
}

/** The section in a text, whatever is wrong with the rest; undefined if it cannot be used. */
async function sectionOf(text: string, paths: Paths, env: Env): Promise<StoreSettings | undefined> {
  const parsed = parseConfig(text);
  if ("problems" in parsed) return undefined;
  const { gateway } = parsed.raw;
  const homeEnv = await readDotenv(homeEnvFile(paths));
  const { value } = interpolate({ store: isRecord(gateway) ? gateway.store : undefined }, [env, homeEnv]);
  const section = withStoreUrl((value as { store?: unknown }).store ?? {}, env);
  return section === undefined ? undefined : storeSection.safeParse(section).data;
}

/** Settings of the store that a start would use, also without a configuration; undefined if they cannot be read. */
export async function storeSettings(paths: Paths, env: Env): Promise<StoreSettings | undefined> {
  for (const file of [paths.configFile, lastGoodFile(paths)]) {
    const text = await readText(file).catch((error: unknown) =>
      file === paths.configFile && error instanceof PathError && error.problem === "missing" ? "{}" : null,
    );
    const section = text === null ? undefined : await sectionOf(text, paths, env);
    if (section) return section;
  }
  return undefined;
}
