import { access } from "node:fs/promises";
import type { Paths } from "../config/index.ts";
import { systemClock } from "../lib/clock.ts";
import { type CopiedRows, copyBetween } from "../store/index.ts";
import { isDatabaseInUse } from "./database-lock.ts";
import { CliError, UsageError } from "./errors.ts";
import { isOn, type Parsed } from "./flags.ts";
import { note, print, printJson, table } from "./output.ts";
import { namedPlace } from "./store-place.ts";

const isThere = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

/** `store copy`, between the database of this home and a schema of Postgres; both gateways are stopped. */
export async function copyCommand(paths: Paths, parsed: Parsed): Promise<void> {
  const [from, to] = [namedPlace("from", parsed, paths), namedPlace("to", parsed, paths)];
  if (!from || !to) {
    throw new UsageError("store copy needs --from and --to, each with `sqlite` or a postgres:// address.");
  }
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
