import { access, constants, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describeProblem, homeEnvFile, type Problem } from "../../config/index.ts";
import { type Check, fail, ok, type Patient, warn } from "./types.ts";

/** Mode bits that let a group or everyone read or change a file. */
const OTHERS = 0o077;

export async function checkHome({ paths }: Patient): Promise<Check[]> {
  const name = "home";
  const stats = await stat(paths.home).catch(() => null);
  if (!stats) return [ok(name, `${paths.home} does not exist yet; the first start creates it`)];
  if (!stats.isDirectory())
    return [fail(name, `${paths.home} is not a directory.`, "Set GATEWAY_HOME to one.")];
  const usable = await access(paths.home, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!usable) {
    return [
      fail(name, `This user cannot write to ${paths.home}.`, `Run: chown -R "$(id -un)" '${paths.home}'`),
    ];
  }
  const checks = [ok(name, paths.home)];
  // Windows has no such modes.
  if (process.platform === "win32") return checks;
  for (const file of [paths.home, homeEnvFile(paths), paths.configFile]) {
    const found = await stat(file).catch(() => null);
    if (!found || (found.mode & OTHERS) === 0) continue;
    const mode = (found.mode & 0o777).toString(8);
    const fix = `Run: chmod ${found.isDirectory() ? 700 : 600} '${file}'`;
    checks.push(warn("permissions", `Other users can access ${file} (mode ${mode}).`, fix));
  }
  const uid = process.getuid?.();
  if (uid !== undefined && uid !== 0 && stats.uid !== uid) {
    checks.push(
      warn("permissions", `${paths.home} belongs to another user.`, "Run the gateway as its owner."),
    );
  }
  return checks.some(({ name: about }) => about === "permissions")
    ? checks
    : [...checks, ok("permissions", "private")];
}

/** Problems with the file, those with its API keys separately. */
export function checkConfiguration({ config, problems }: Patient): Check[] {
  const of = (keys: boolean) => problems.filter(({ path }) => path.startsWith("gateway.api") === keys);
  const tell = (name: string, found: readonly Problem[], fix: string): Check[] =>
    found.map((problem) => (problem.level === "error" ? fail : warn)(name, describeProblem(problem), fix));
  const file = tell("config", of(false), "Fix it in the configuration file, then run `config check`.");
  const keys = tell(
    "keys",
    of(true),
    "gateway.api.keys needs a key with admin: true and no list of agents, whose variable is set.",
  );
  const count = config?.gateway.api.keys.length ?? 0;
  const fine: Check[] = file.length > 0 ? [] : [ok("config", "no problems")];
  if (config && keys.length === 0) {
    fine.push(
      count > 0
        ? ok("keys", `${count} configured`)
        : warn("keys", "No API keys are configured.", "Add one with admin: true to gateway.api.keys."),
    );
  }
  return [...fine, ...file, ...keys];
}

/** Records of child processes that a previous gateway left behind. */
export async function leftoverChildren({ paths, running }: Patient): Promise<number> {
  return running ? 0 : (await readdir(join(paths.home, "run/children")).catch(() => [])).length;
}
