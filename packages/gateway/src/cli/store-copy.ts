import { access } from "node:fs/promises";
import type { Paths } from "../config/index.ts";
import { systemClock } from "../lib/clock.ts";
import { type CopiedRows, type CopyPlace, copyBetween } from "../store/index.ts";
import { isDatabaseInUse } from "./database-lock.ts";
import { CliError, UsageError } from "./errors.ts";
import { isOn, last, type Parsed } from "./flags.ts";
import { note, print, printJson, table } from "./output.ts";

const DEFAULT_SCHEMA = "agent_gateway";

function placeOf(name: "from" | "to", parsed: Parsed, paths: Paths): CopyPlace {
  const value = last(parsed, name);
  if (value === "sqlite") {
    return { driver: "sqlite", file: paths.database };
  }
  if (value === undefined || !/^postgres(?:ql)?:\/\//.test(value) || !URL.canParse(value)) {
    throw new UsageError(`store copy needs --${name} with \`sqlite\` or a postgres:// address.`);
  }
  return {
    driver: "postgres",
    url: value,
    schema: last(parsed, "schema") ?? DEFAULT_SCHEMA,
    poolSize: 1,
    ssl: "prefer",
  };
}

const isThere = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

/** `store copy`, between the database of this home and a schema of Postgres; both gateways are stopped. */
export async function copyCommand(paths: Paths, parsed: Parsed): Promise<void> {
  const [from, to] = [placeOf("from", parsed, paths), placeOf("to", parsed, paths)];
  if (from.driver === to.driver && from.driver === "sqlite") {
    throw new UsageError("store copy copies to another store: --from and --to name the same one.");
  }
  if (from.driver === "sqlite" && !(await isThere(from.file))) {
    throw new CliError(`There is no database in ${paths.home} yet.`);
  }
  if (await isDatabaseInUse(paths.database)) {
    throw new CliError(`Another program uses ${paths.database}; end it first.`);
  }
  let copied: CopiedRows[];
  try {
    copied = await copyBetween(from, to, systemClock, (what) => note(`copying ${what} …`));
  } catch (error) {
    throw new CliError((error as Error).message, { cause: error });
  }
  if (isOn(parsed, "json")) return printJson({ tables: copied });
  await print(
    table(copied.map(({ table, rows, checksum }) => ({ table, rows, checksum: checksum.slice(0, 16) }))),
  );
  await print("Every table is the same in both stores. Set gateway.store, then start the gateway.\n");
}
