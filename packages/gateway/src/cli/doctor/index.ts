import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { checkConfig, createPaths, loadText, type Problem } from "../../config/index.ts";
import { isDatabaseInUse } from "../database-lock.ts";
import { UsageError } from "../errors.ts";
import { GLOBAL_FLAGS, isOn, parseFlags } from "../flags.ts";
import { print, printable, printJson } from "../output.ts";
import { checkAgents } from "./agents.ts";
import { checkDatabase } from "./database.ts";
import { checkConfiguration, checkHome } from "./home.ts";
import { checkAgentCli, checkDisk, checkNode, checkPort, isGateway } from "./machine.ts";
import type { Check, Patient } from "./types.ts";

const isMissing = (file: string) =>
  access(file).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT",
  );

async function examine(): Promise<Check[]> {
  const { env } = process;
  const paths = createPaths(env);
  const text = await readFile(paths.configFile, "utf8").catch(() => null);
  const config = text === null ? null : (await loadText(text, paths, env)).config;
  const problems: Problem[] =
    text === null && (await isMissing(paths.configFile))
      ? [
          {
            level: "warning",
            path: "",
            message: "There is no configuration yet; the first start creates one.",
          },
        ]
      : await checkConfig(paths, env);
  const answers = config !== null && (await isGateway(config.gateway.bind, config.gateway.port));
  // It may have been started with a different port than the one in the file.
  const inUse = [paths.database, join(paths.home, "run/gateway.lock")].map(isDatabaseInUse);
  const running = answers || (await Promise.all(inUse)).includes(true);
  const patient: Patient = { paths, env, config, problems, answers, running };
  const found = await Promise.all([
    checkNode(),
    checkHome(patient),
    checkConfiguration(patient),
    checkPort(patient),
    checkAgentCli(patient),
    checkAgents(patient),
    checkDisk(patient),
    checkDatabase(patient),
  ]);
  return found.flat();
}

const MARKS = { ok: "ok  ", warn: "WARN", fail: "FAIL" } as const;

/** `doctor`: exit code 1 if a check fails. */
export async function doctorCommand(tokens: readonly string[]): Promise<number> {
  const parsed = parseFlags(tokens, GLOBAL_FLAGS);
  if (parsed.positionals.length > 0) throw new UsageError(`Unexpected argument: ${parsed.positionals[0]}.`);
  const checks = await examine();
  const failed = checks.filter(({ status }) => status === "fail");
  if (isOn(parsed, "json")) await printJson({ ok: failed.length === 0, checks });
  else {
    const lines = checks.map(
      ({ name, status, message, fix }) =>
        `${MARKS[status]}  ${name}: ${message}\n${fix ? `        ${fix}\n` : ""}`,
    );
    await print(printable(lines.join("")));
  }
  if (failed.length > 0) process.stderr.write(`${failed.length} of ${checks.length} checks failed.\n`);
  return failed.length > 0 ? 1 : 0;
}
