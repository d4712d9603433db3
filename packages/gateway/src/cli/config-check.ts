import { checkConfig, createPaths, describeProblem } from "../config/index.ts";
import { UsageError } from "./errors.ts";
import { type Flag, GLOBAL_FLAGS, isOn, last, parseFlags } from "./flags.ts";
import { print, printable, printJson } from "./output.ts";

const FLAGS = new Map<string, Flag>([...GLOBAL_FLAGS, ["config", { key: "config" }]]);

/** `config check`: exit code 1 if an error keeps part of the file from being used. */
export async function configCommand(tokens: readonly string[]): Promise<number> {
  const parsed = parseFlags(tokens, FLAGS);
  const [verb, ...more] = parsed.positionals;
  if (verb !== "check") throw new UsageError("config has one command: check.");
  if (more.length > 0) throw new UsageError(`Unexpected argument: ${more[0]}.`);
  const file = last(parsed, "config");
  const env = { ...process.env, ...(file !== undefined && { GATEWAY_CONFIG: file }) };
  const paths = createPaths(env);
  const problems = await checkConfig(paths, env);
  const ok = !problems.some(({ level }) => level === "error");
  if (isOn(parsed, "json")) {
    await printJson({ ok, file: paths.configFile, problems });
  } else {
    const lines = problems.map((problem) => `${problem.level}: ${describeProblem(problem)}\n`);
    await print(printable(lines.join("") || `${paths.configFile}: no problems\n`));
    if (!ok) process.stderr.write(`${paths.configFile} has errors.\n`);
  }
  return ok ? 0 : 1;
}
