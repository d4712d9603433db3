import { writeFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { GatewayError } from "@agent-gateway/contract";
import { sweepTemporary, writeFileAtomic } from "../lib/atomic-file.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { createMutex } from "../lib/mutex.ts";
import { parseForEdit, stringifyLike } from "./edit.ts";
import { keepHeadless } from "./headless.ts";
import { type Loaded, loadConfig } from "./load.ts";
import { migrate } from "./migrate.ts";
import { parseConfig } from "./parse.ts";
import { type Env, lastGoodFile } from "./paths.ts";
import { ConfigFileError, describe, type Problem } from "./problems.ts";
import { loadText, readInput } from "./read.ts";
import { readText } from "./read-text.ts";
import type { Config } from "./schema.ts";
import type { ConfigStore, Paths } from "./types.ts";
import { readSnapshot, type Snapshot, watchFile } from "./watch.ts";

export interface ConfigStoreOptions {
  paths: Paths;
  /** Environment of the process; its `PORT` and `GATEWAY_BIND` override the file. */
  env: Env;
  clock: Clock;
  log: Logger;
  /** Gets the values that must not appear in logs, before they are used. */
  onSecrets?: (values: Iterable<string>) => void;
}

/** Keys of `gateway` that keep their value until a restart. */
const AT_START = ["port", "bind", "store", "publicUrl", "oauthReturnUrl"] as const;

type Outcome = Pick<Loaded, "config" | "skipped"> | { config: null; problems: readonly Problem[] };

const brokenFile = () =>
  new GatewayError("CONFLICT", "The configuration file is broken; fix it before changing it here.");

/** Refuses a change that would make the file, or an agent that was usable before, unusable. */
function refuseWhenWorse(before: Outcome, after: Outcome): asserts after is Loaded {
  const message = "This change would make the configuration invalid.";
  if (!after.config) {
    if (!before.config) throw brokenFile();
    const details = after.problems.filter((problem) => problem.level === "error");
    throw new GatewayError("INVALID_REQUEST", message, {
      details: details.map(({ path, message: why }) => ({ path, message: why })),
    });
  }
  const known = before.config ? before.skipped : after.skipped;
  const fresh = [...after.skipped].filter(([id]) => !known.has(id));
  // One without a name of its own may only have another place in the list.
  if (after.skipped.size > known.size || fresh.some(([id]) => !id.startsWith("#"))) {
    const details = fresh.flatMap(([, problems]) => problems);
    throw new GatewayError("INVALID_REQUEST", message, {
      details: details.map(({ path, message: why }) => ({ path, message: why })),
    });
  }
}

/**
 * Reads the configuration, falling back to the last one that worked, and follows the file from then on.
 * @throws {ConfigFileError} if neither is usable.
 */
export async function createConfigStore(options: ConfigStoreOptions): Promise<ConfigStore> {
  const { paths, env, clock, log, onSecrets } = options;
  const locked = createMutex();
  const listeners = new Set<(next: Config, previous: Config) => void>();
  const readers = new Set<(errors: readonly Problem[]) => void>();
  let told = new Set<string>();
  let seen: Snapshot | null = null;

  function tell(problems: readonly Problem[]): void {
    const lines = new Set<string>();
    for (const problem of problems) {
      const line = describe(problem);
      lines.add(line);
      if (told.has(line)) continue;
      const write = problem.level === "error" ? log.error : log.warn;
      write({ path: problem.path }, `configuration: ${line}`);
    }
    told = lines;
  }

  async function saveLastGood(text: string): Promise<void> {
    try {
      const file = lastGoodFile(paths);
      if ((await readText(file).catch(() => null)) === text) return;
      await writeFileAtomic(file, text, { mode: 0o600, forceMode: true });
    } catch (error) {
      log.warn({ err: error }, "configuration: could not save a copy of the last good configuration");
    }
  }

  /** Keeps a copy of a file of an older version beside it; the first one of each version stays. */
  async function keepOld(text: string, from: string): Promise<string> {
    const backup = `${paths.configFile}.bak-${from}`;
    await writeFile(backup, text, { flag: "wx", mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    return backup;
  }

  /** Replaces the old file with the migrated one. */
  async function saveMigrated(oldText: string, newText: string, from: string): Promise<void> {
    try {
      const backup = await keepOld(oldText, from);
      await writeFileAtomic(paths.configFile, newText);
      seen = await readSnapshot(paths.configFile);
      log.info({ from, backup }, "configuration: migrated from an older version; the old file was kept");
    } catch (error) {
      log.warn({ err: error, from }, "configuration: migrated in memory only; could not write the file");
    }
  }

  async function start(): Promise<Loaded> {
    await sweepTemporary(paths.configFile, clock.now());
    seen = await readSnapshot(paths.configFile);
    const first = seen
      ? await loadText(seen.text, paths, env)
      : {
          config: null,
          problems: [
            {
              level: "error",
              path: "",
              message: "the file cannot be read; it must be a regular file",
            } as const,
          ],
        };
    if (first.config) {
      if (first.migratedFrom !== null) await saveMigrated(seen!.text, first.text, first.migratedFrom);
      await saveLastGood(first.text);
      return first;
    }
    tell(first.problems);
    const why = first.problems
      .filter((problem) => problem.level === "error")
      .map(describe)
      .join("; ");
    const text = await readText(lastGoodFile(paths)).catch(() => null);
    const fallback = text === null ? null : await loadText(text, paths, env);
    if (!fallback?.config)
      throw new ConfigFileError(`The configuration cannot be used: ${why}`, first.problems);
    log.error(
      { why },
      "THE CONFIGURATION FILE IS BROKEN: running with the last one that worked, until it is fixed",
    );
    return fallback;
  }

  const booted = await start();
  let current = booted.config;
  onSecrets?.(booted.secrets);
  tell(booted.problems);

  function apply(loaded: Loaded): void {
    const { config, skipped } = loaded;
    const gateway = { ...config.gateway };
    for (const key of AT_START) {
      if (isDeepStrictEqual(gateway[key], current.gateway[key])) continue;
      log.warn(
        { key: `gateway.${key}` },
        `configuration: gateway.${key} has changed; it applies after a restart`,
      );
      if (current.gateway[key] === undefined) delete gateway[key];
      else Object.assign(gateway, { [key]: current.gateway[key] });
    }
    // An entry that became unusable does not take down a running agent: the agent stays as it was.
    const stay = current.agents.filter(
      ({ id }) => skipped.has(id) && !config.agents.some((agent) => agent.id === id),
    );
    const next: Config = { ...config, gateway, agents: [...config.agents, ...stay] };
    onSecrets?.(loaded.secrets);
    tell(loaded.problems);
    if (isDeepStrictEqual(next, current)) return;
    const previous = current;
    current = next;
    for (const listener of listeners) {
      try {
        listener(next, previous);
      } catch (error) {
        log.error({ err: error }, "configuration: a part of the gateway could not apply the change");
      }
    }
  }

  async function reload(snapshot: Snapshot): Promise<void> {
    seen = snapshot;
    const loaded = await loadText(snapshot.text, paths, env);
    if (!loaded.config) {
      tell(loaded.problems);
      log.error({}, "configuration: the changed file cannot be used; the running configuration stays in use");
      const errors = loaded.problems.filter(({ level }) => level === "error");
      for (const reader of readers) reader(errors);
      return;
    }
    if (loaded.migratedFrom !== null) await saveMigrated(snapshot.text, loaded.text, loaded.migratedFrom);
    apply(loaded);
    await saveLastGood(loaded.text);
    log.info({}, "configuration: reloaded");
    for (const reader of readers) reader([]);
  }

  const stopWatching = watchFile(paths.configFile, clock, () =>
    locked(async () => {
      const snapshot = await readSnapshot(paths.configFile);
      if (!snapshot || (snapshot.text === seen?.text && snapshot.signature === seen.signature)) return;
      await reload(snapshot);
    }).catch((error: unknown) => log.error({ err: error }, "configuration: could not reload")),
  );

  /** The file as it is now, ready to be changed. */
  async function readForUpdate() {
    const text = await readText(paths.configFile).catch(() => null);
    const parsed = text === null ? null : parseConfig(text);
    if (text === null || !parsed || "problems" in parsed) {
      throw brokenFile();
    }
    const raw = parseForEdit(text);
    const { from } = migrate(raw);
    migrate(parsed.raw);
    return { text, raw, from, before: loadConfig(parsed.raw, await readInput(parsed.raw, paths, env)) };
  }

  const store: ConfigStore = {
    get current() {
      return current;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onReload(listener) {
      readers.add(listener);
      return () => readers.delete(listener);
    },
    update: (edit) =>
      locked(async () => {
        const { text, raw, from, before } = await readForUpdate();
        await edit(raw);
        const nextText = stringifyLike(raw, text);
        const loaded = await loadText(nextText, paths, env);
        refuseWhenWorse(before, loaded);
        if (nextText !== text) {
          try {
            if (from !== null) await keepOld(text, from);
            await writeFileAtomic(paths.configFile, nextText);
          } catch (error) {
            throw new GatewayError("INTERNAL", "Could not write the configuration file.", {
              cause: error,
            });
          }
          seen = await readSnapshot(paths.configFile);
        }
        apply(loaded);
        await saveLastGood(nextText);
        return current;
      }),
    async close() {
      stopWatching();
      listeners.clear();
      readers.clear();
      await locked(() => {});
    },
  };
  keepHeadless(store, log);
  return store;
}
