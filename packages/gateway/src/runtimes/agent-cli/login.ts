import { stat } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { readNamed } from "../../lib/guarded/index.ts";
import { runProgram } from "../../lib/process.ts";
import { childEnvironment } from "../../lib/shared-env.ts";
import type { LoginState } from "../types.ts";
import { LOGIN_VARIABLES } from "./config-dir.ts";
import { locateProgram } from "./probe.ts";
import { isFields } from "./protocol.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** `claude auth status` takes 0.3 s; a burst of other starts makes it slower. */
const STATUS_TIMEOUT_MS = 5000;
/** How long to trust an answer other than "logged in": on some systems a login in a terminal changes no file. */
const RETRY_MS = 10_000;

const known = new Map<string, { login: Promise<LoginState>; at: number }>();

export const NOT_LOGGED_IN =
  "The agent program is not logged in: log in with it as the user that runs the gateway, " +
  "or set ANTHROPIC_API_KEY in the agent's env.";

/** Claude Code's own message, which suggests a command that exists only in its terminal. */
export function saysNotLoggedIn(message: string): boolean {
  return /not logged in|please run \/login|invalid api key · /i.test(message);
}

/**
 * Whether Claude Code can reach its provider as this user: by a key in the environment, by its credentials, else by
 * what `claude auth status` says, once per version of the program. `unknown` for any other program. Never rejects.
 */
export async function readLogin(
  command: readonly string[],
  cwd: string,
  env: Environment,
): Promise<LoginState> {
  if (LOGIN_VARIABLES.some((name) => env[name])) return "ok";
  const program = await locateProgram(command, cwd, env);
  if (!program?.claude) return "unknown";
  const file = join(env.CLAUDE_CONFIG_DIR || join(env.HOME ?? "", ".claude"), ".credentials.json");
  const changed = (await stat(file).catch(() => null))?.mtimeMs ?? 0;
  const key = [program.key, file, changed].join("|");
  const held = known.get(key);
  const now = systemClock.elapsed();
  if (held && ((await held.login) === "ok" || now - held.at < RETRY_MS)) return held.login;
  const login = hasCredentials(file).then((has) => (has ? "ok" : askProgram(program.path, env)));
  known.set(key, { login, at: now });
  return login;
}

const MAX_BYTES = 4 * 1024 * 1024;

async function hasCredentials(file: string): Promise<boolean> {
  try {
    const stored: unknown = JSON.parse((await readNamed(file, MAX_BYTES)).toString("utf8"));
    const login = isFields(stored) && isFields(stored.claudeAiOauth) ? stored.claudeAiOauth : {};
    return [login.accessToken, login.refreshToken].some((token) => typeof token === "string" && token !== "");
  } catch {
    return false;
  }
}

async function askProgram(path: string, env: Environment): Promise<LoginState> {
  const { stdout } = await runProgram([path, "auth", "status", "--json"], {
    env: {
      ...childEnvironment(env, {}, { families: ["anthropic"] }),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    },
    timeoutMs: STATUS_TIMEOUT_MS,
  });
  try {
    const status: unknown = JSON.parse(stdout);
    if (isFields(status) && typeof status.loggedIn === "boolean") return status.loggedIn ? "ok" : "missing";
  } catch {
    // A version without this command, or another program of this name.
  }
  return "unknown";
}
