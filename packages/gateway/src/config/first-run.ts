import { randomBytes } from "node:crypto";
import { link, mkdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeBeside } from "../lib/atomic-file.ts";
import { PathError } from "../lib/safe-path.ts";
import { readDotenv, writeDotenv } from "./dotenv.ts";
import { type Env, homeEnvFile } from "./paths.ts";
import { readText } from "./read-text.ts";
import { CONFIG_VERSION } from "./schema.ts";
import type { Paths } from "./types.ts";

const ADMIN_KEY = "GATEWAY_ADMIN_KEY";

/** The configuration of a first start: one agent, one admin key. */
function firstConfig(): string {
  const config = {
    configVersion: CONFIG_VERSION,
    gateway: {
      api: { keys: [{ key: `\${${ADMIN_KEY}}`, description: "admin", agents: "*", admin: true }] },
    },
    agents: [
      { id: "assistant", name: "Assistant", description: "Answers questions.", runtime: { type: "auto" } },
    ],
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

/** Creates a file with its complete text, or leaves an existing one alone. */
async function createOnce(path: string, text: string): Promise<void> {
  const temp = await writeBeside(path, text, 0o600);
  try {
    await link(temp, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(temp, { force: true });
  }
}

/**
 * The key that concurrent first starts agree on. They race for one file that only one of them can create; a start
 * that comes after its removal finds the key in `.env`.
 */
async function agreeOnKey(paths: Paths): Promise<string> {
  const stored = async () => (await readDotenv(homeEnvFile(paths)))[ADMIN_KEY] || undefined;
  const proposal = join(paths.home, ".first-key");
  for (;;) {
    const known = await stored();
    if (known) return known;
    await createOnce(proposal, `gk_${randomBytes(24).toString("base64url")}`);
    const agreed = await readText(proposal).catch((error: unknown) => {
      if (error instanceof PathError && error.problem === "missing") return null;
      throw error;
    });
    // Already gone: another start has finished.
    if (agreed === null) continue;
    const key = (await stored()) ?? agreed;
    await writeDotenv(homeEnvFile(paths), ADMIN_KEY, key);
    await rm(proposal, { force: true });
    return key;
  }
}

export interface FirstRun {
  /** Value of the admin key, to be shown once. */
  adminKey: string;
  /** True if the key came from the environment and is not stored. */
  fromEnvironment: boolean;
}

/**
 * Creates the home directory (mode 0700) and, if there is no configuration file, a first one with an admin key.
 * @returns null if there was a configuration file.
 */
export async function firstRun(paths: Paths, env: Env): Promise<FirstRun | null> {
  await mkdir(paths.home, { recursive: true, mode: 0o700 });
  const there = await stat(paths.configFile).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
  );
  if (there) return null;
  const given = env[ADMIN_KEY];
  const adminKey = given || (await agreeOnKey(paths));
  await mkdir(dirname(paths.configFile), { recursive: true, mode: 0o700 });
  await createOnce(paths.configFile, firstConfig());
  return { adminKey, fromEnvironment: Boolean(given) };
}
