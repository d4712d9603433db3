import { readdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isLoopbackHost } from "../lib/loopback.ts";
import { PathError } from "../lib/safe-path.ts";
import { hasVariable } from "./interpolate.ts";
import { collectSecrets } from "./load.ts";
import { isDeadKey } from "./load-gateway.ts";
import { parseConfig } from "./parse.ts";
import { agentEnvFile, type Env, homeEnvFile } from "./paths.ts";
import { error, type Problem, warning } from "./problems.ts";
import { loadText } from "./read.ts";
import { readText } from "./read-text.ts";
import type { GatewaySection } from "./schema.ts";
import type { Paths } from "./types.ts";

/** Mode bits that let every user of the machine read or change a file. */
const EVERYONE = 0o006;
/** Mode bit that lets everyone pass through a folder. */
const ENTER = 0o001;

/** Whether every user of the machine can reach the file's folder. */
async function isReachable(file: string): Promise<boolean> {
  const folder = dirname(resolve(file));
  const found = await stat(folder).catch(() => null);
  if (!found || (found.mode & ENTER) === 0) return false;
  return dirname(folder) === folder || isReachable(folder);
}

/** Files whose secrets everyone can read. `.env` files are judged by their own mode, since they are meant to be copied. */
async function openSecrets(paths: Paths): Promise<string[]> {
  // Windows has no such mode.
  if (process.platform === "win32") return [];
  const agents = await readdir(join(paths.home, "agents")).catch(() => []);
  const files = [homeEnvFile(paths), ...agents.map((id) => agentEnvFile(paths, id))];
  const text = await readText(paths.configFile).catch(() => "");
  const parsed = parseConfig(text);
  const written = new Set<string>();
  if ("raw" in parsed) collectSecrets(parsed.raw, written);
  // A file that cannot be parsed may contain anything.
  if ("problems" in parsed || [...written].some((value) => value !== "" && !hasVariable(value))) {
    files.push(paths.configFile);
  }
  const modes = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  const open = files.filter((_, index) => ((modes[index]?.mode ?? 0) & EVERYONE) !== 0);
  const reachable = await Promise.all(open.map((file) => file !== paths.configFile || isReachable(file)));
  return open.filter((_, index) => reachable[index]);
}

export interface PermissionAudit {
  /** Why the gateway must not start, with the command that fixes it; null if it may. */
  refusal: string | null;
  warnings: string[];
}

/** Checks who can read the files with secrets: on a public address, readable ones prevent the start. */
export async function auditPermissions(paths: Paths, bind: string): Promise<PermissionAudit> {
  const open = await openSecrets(paths);
  if (open.length === 0) return { refusal: null, warnings: [] };
  const quoted = open.map((file) => `'${file.replaceAll("'", "'\\''")}'`).join(" ");
  const fix = `every user of this machine can read secrets; fix it with: chmod 600 ${quoted}`;
  return isLoopbackHost(bind)
    ? { refusal: null, warnings: [`Security: ${fix}`] }
    : { refusal: `The gateway refuses to start on ${bind} while ${fix}`, warnings: [] };
}

/** Warnings for the operator at start, about keys and reachability. */
export function startupWarnings(gateway: GatewaySection): string[] {
  const { keys } = gateway.api;
  const usable = keys.filter((key) => !isDeadKey(key));
  if (keys.length === 0) {
    return isLoopbackHost(gateway.bind)
      ? []
      : [
          `No API keys are configured and ${gateway.bind} can be reached from outside: /status, /processes and /dashboard answer 503 until gateway.api.keys has a key.`,
        ];
  }
  if (usable.length === 0)
    return ["No configured API key can be used, so every request with a key is refused."];
  return usable.some((key) => key.admin)
    ? []
    : ["No configured API key has admin: true, so the dashboard is inaccessible."];
}

/** All errors and warnings about the configuration; changes nothing. */
export async function checkConfig(paths: Paths, env: Env): Promise<Problem[]> {
  const text = await readText(paths.configFile).catch((failure: unknown) => failure);
  if (typeof text !== "string") {
    const why =
      text instanceof PathError && text.problem === "missing"
        ? "does not exist; the first start creates it"
        : "cannot be read";
    return [error("", `the configuration file ${why}`)];
  }
  const loaded = await loadText(text, paths, env);
  if (!loaded.config) return loaded.problems;
  const audit = await auditPermissions(paths, loaded.config.gateway.bind);
  return [
    ...loaded.problems,
    ...startupWarnings(loaded.config.gateway).map((message) => warning("gateway.api.keys", message)),
    ...audit.warnings.map((message) => warning("", message)),
    ...(audit.refusal === null ? [] : [error("", audit.refusal)]),
  ];
}
