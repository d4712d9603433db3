import { createPaths } from "../../config/index.ts";
import { UsageError } from "../errors.ts";
import { type Flag, GLOBAL_FLAGS, isOn, last, type Parsed, parseFlags } from "../flags.ts";
import { bytes, createProgress, note, print, printJson, render } from "../output.ts";
import { configuredPlace, namedPlace } from "../store-place.ts";

const FLAGS = new Map<string, Flag>([
  ...GLOBAL_FLAGS,
  ["logs", { key: "logs", boolean: true }],
  ["force", { key: "force", boolean: true }],
  ["to", { key: "to" }],
  ["schema", { key: "schema" }],
]);

async function create(file: string, parsed: Parsed): Promise<number> {
  const { createBackup } = await import("./create.ts");
  const withLogs = last(parsed, "logs") !== "false";
  const progress = createProgress();
  const paths = createPaths(process.env);
  const store = await configuredPlace(paths, process.env);
  const made = await createBackup({ file, paths, store, withLogs, progress });
  if (isOn(parsed, "json")) await printJson(made);
  else await print(`${made.file}: ${made.files} files, ${bytes(made.bytes)}\n`);
  for (const path of made.outside) note(`${path} is outside the home directory and is not in the archive.`);
  for (const path of made.unreadable)
    process.stderr.write(`${path} could not be read and is not in the archive.\n`);
  return made.unreadable.length > 0 ? 1 : 0;
}

async function verify(file: string, parsed: Parsed): Promise<number> {
  const { verifyBackup } = await import("./verify.ts");
  const found = await verifyBackup(file, createProgress());
  if (isOn(parsed, "json")) await printJson({ ok: true, ...found });
  else
    await print(
      `The archive is intact: ${found.files} files, created ${found.created} by version ${found.version}.\n`,
    );
  return 0;
}

async function restore(file: string, parsed: Parsed): Promise<number> {
  const { restoreBackup } = await import("./restore.ts");
  const paths = createPaths(process.env);
  const { otherStore, ...done } = await restoreBackup({
    file,
    paths,
    env: process.env,
    to: namedPlace("to", parsed, paths),
    force: isOn(parsed, "force"),
    progress: createProgress(),
  });
  if (isOn(parsed, "json")) await printJson(done);
  else await print(render(done));
  for (const path of done.skippedLinks)
    note(`${path} was left out: the link points outside the home directory.`);
  if (otherStore) note("gateway.store names another store; change it before you start the gateway.");
  return 0;
}

const VERBS: Readonly<Record<string, (file: string, parsed: Parsed) => Promise<number>>> = {
  create,
  verify,
  restore,
};

/** `backup create | verify | restore` of the home directory that `GATEWAY_HOME` names. */
export async function backupCommand(tokens: readonly string[]): Promise<number> {
  const parsed = parseFlags(tokens, FLAGS);
  const [verb = "", file, ...more] = parsed.positionals;
  const run = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
  if (!run) throw new UsageError("backup has the commands create, verify and restore.");
  if (file === undefined) throw new UsageError("Missing: file.");
  if (more.length > 0) throw new UsageError(`Unexpected argument: ${more[0]}.`);
  return run(file, parsed);
}
