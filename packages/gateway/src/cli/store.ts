import { access } from "node:fs/promises";
import { createPaths, type Paths } from "../config/index.ts";
import { systemClock } from "../lib/clock.ts";
import { HomeInUseError, lockHome } from "../lib/home-lock.ts";
import { diskProblem } from "../lib/start-error.ts";
import { type CopyPlace, type Loss, openVersions, type StoreVersions } from "../store/index.ts";
import { VERSION } from "../version.ts";
import { isDatabaseInUse } from "./database-lock.ts";
import { CliError, UsageError } from "./errors.ts";
import { type Flag, GLOBAL_FLAGS, isOn, last, type Parsed, parseFlags } from "./flags.ts";
import { print, printJson } from "./output.ts";
import { copyCommand } from "./store-copy.ts";
import { configuredPlace } from "./store-place.ts";

const FLAGS = new Map<string, Flag>([
  ...GLOBAL_FLAGS,
  ["to", { key: "to" }],
  ["from", { key: "from" }],
  ["schema", { key: "schema" }],
  ["discard", { key: "discard", boolean: true }],
]);

const lossText = ({ table, column, rows }: Loss) =>
  `${column === undefined ? table : `${table}.${column}`} (${rows} ${rows === 1 ? "row" : "rows"})`;

const running = ({ home }: Paths) => new CliError(`A gateway is running with ${home}; stop it first.`);

/** Works while no gateway runs with the home, and none can start. */
async function alone(paths: Paths, work: () => Promise<void>): Promise<void> {
  const lock = await lockHome(paths.home, systemClock).catch((error) => {
    throw error instanceof HomeInUseError ? running(paths) : error;
  });
  try {
    await work();
  } finally {
    await lock.release();
  }
}

/** Works on the store of a gateway; `stopped` for one that does not run, and stays so meanwhile. */
async function withStore(
  paths: Paths,
  stopped: boolean,
  work: (store: StoreVersions) => Promise<void>,
): Promise<void> {
  const place = await configuredPlace(paths, process.env);
  if (place.driver === "sqlite") {
    const there = await access(paths.database).then(
      () => true,
      () => false,
    );
    if (!there) throw missing(paths, place);
  }
  const use = () => withPlace(paths, place, stopped, work);
  return stopped ? alone(paths, use) : use();
}

const missing = ({ home }: Paths, place: CopyPlace) =>
  new CliError(
    place.driver === "sqlite"
      ? `There is no database in ${home} yet.`
      : `There is no store in the schema ${place.schema} yet.`,
  );

async function withPlace(
  paths: Paths,
  place: CopyPlace,
  stopped: boolean,
  work: (store: StoreVersions) => Promise<void>,
): Promise<void> {
  let store: StoreVersions | undefined;
  try {
    if (stopped && (await isDatabaseInUse(paths.database))) throw running(paths);
    store = await openVersions(place, systemClock, stopped);
    // An empty file.
    if (store.version === 0) throw missing(paths, place);
    if (stopped && !store.known) {
      throw new CliError(
        `The database has schema ${store.version}, which this version of the gateway does not know; use the one that wrote it.`,
      );
    }
    await work(store);
  } catch (error) {
    if (place.driver === "postgres") throw new CliError((error as Error).message, { cause: error });
    const reason = diskProblem(error);
    throw reason === undefined
      ? error
      : new CliError(`The database (${paths.database}) cannot be used: ${reason}.`);
  } finally {
    store?.close();
  }
}

async function version(store: StoreVersions, parsed: Parsed): Promise<void> {
  const { version, oldest } = store;
  if (isOn(parsed, "json")) await printJson({ version, oldest });
  else await print(`Schema ${version}; gateways that know schema ${oldest} or a newer one may use it.\n`);
}

async function downgrade(store: StoreVersions, parsed: Parsed): Promise<void> {
  const to = Number(last(parsed, "to"));
  if (to >= store.version) {
    throw new CliError(`The database has schema ${store.version}; a downgrade needs an older one.`);
  }
  const losses = await store.lossesAt(to);
  if (losses.length > 0 && !isOn(parsed, "discard")) {
    throw new CliError(
      `Schema ${to} has no place for ${losses.map(lossText).join(", ")}. Nothing was changed; use --discard to give that up.`,
    );
  }
  await store.downgrade(to);
  if (isOn(parsed, "json")) await printJson({ version: to, discarded: losses });
  else {
    const lost = losses.length > 0 ? ` Discarded: ${losses.map(lossText).join(", ")}.` : "";
    await print(`The database has schema ${to} now.${lost}\n`);
  }
}

async function contract(store: StoreVersions, parsed: Parsed): Promise<void> {
  await store.contract(VERSION);
  if (isOn(parsed, "json")) await printJson({ version: store.version, oldest: store.version });
  else await print(`Only gateways that know schema ${store.version} may use the database now.\n`);
}

const VERBS: Readonly<Record<string, (store: StoreVersions, parsed: Parsed) => Promise<void>>> = {
  version,
  downgrade,
  contract,
};

/** `store version | downgrade | contract | copy`, on the store of the home directory that `GATEWAY_HOME` names. */
export async function storeCommand(tokens: readonly string[]): Promise<number> {
  const parsed = parseFlags(tokens, FLAGS);
  const [verb = "", ...more] = parsed.positionals;
  const run = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
  if (!run && verb !== "copy") {
    throw new UsageError("store has the commands version, downgrade, contract and copy.");
  }
  if (more.length > 0) throw new UsageError(`Unexpected argument: ${more[0]}.`);
  if (verb === "downgrade" && !/^[1-9]\d{0,5}$/.test(last(parsed, "to") ?? "")) {
    throw new UsageError("store downgrade needs --to with the number of a schema.");
  }
  const paths = createPaths(process.env);
  // Databases that it writes hold all messages.
  process.umask(0o077);
  if (run) await withStore(paths, verb !== "version", (store) => run(store, parsed));
  else await alone(paths, () => copyCommand(paths, parsed));
  return 0;
}
