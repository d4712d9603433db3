import { join } from "node:path";
import { makeFolder, readNamed } from "../../lib/guarded/index.ts";
import { isFields } from "./protocol.ts";

const MAX_SETTINGS_BYTES = 4 * 1024 * 1024;
/** Any of these carries the login (or says where it is), so the program needs nothing of the user's own folder. */
export const LOGIN_VARIABLES = [
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "CLAUDE_CODE_USE_BEDROCK",
  "CLAUDE_CODE_USE_VERTEX",
  "CLAUDE_CODE_USE_FOUNDRY",
];

/**
 * Decides where the agent program keeps its state. A folder of the agent's own separates agents from each other and
 * from the user's sessions, but would lose a login or provider settings in the user's folder: so it is used only when
 * the environment carries the login and the user's settings add nothing to it.
 * @param own the agent's folder; created when used.
 * @returns the folder, or undefined to leave the choice as it is.
 */
export async function chooseConfigDir(
  own: string | undefined,
  env: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  if (own === undefined || env.CLAUDE_CONFIG_DIR !== undefined) return undefined;
  if (!LOGIN_VARIABLES.some((name) => env[name])) return undefined;
  if (env.HOME !== undefined && (await hasProviderSettings(join(env.HOME, ".claude", "settings.json")))) {
    return undefined;
  }
  await makeFolder(own);
  return own;
}

async function hasProviderSettings(path: string): Promise<boolean> {
  try {
    const settings: unknown = JSON.parse((await readNamed(path, MAX_SETTINGS_BYTES)).toString("utf8"));
    return isFields(settings) && (settings.env !== undefined || settings.apiKeyHelper !== undefined);
  } catch {
    return false;
  }
}
