import {
  type Changelog,
  GatewayError,
  type PackageName,
  type PackageRecord,
  type PackageUpdate,
} from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import { cutToBytes } from "../lib/cut-text.ts";
import type { Logger } from "../lib/logger.ts";
import { createMutex } from "../lib/mutex.ts";
import { isSecretName } from "../lib/secret-names.ts";
import { createAgentCli } from "./agent-cli.ts";
import { readChangelog, releasesBetween } from "./changelog.ts";
import { type BegunUpdate, createUpdateNote, isInstalling } from "./note.ts";
import { createNpm, npmEnvironment } from "./npm.ts";
import { createRun } from "./run.ts";
import { createGatewayUpdate, type Failure } from "./update-gateway.ts";
import { compareVersions, isVersion } from "./version.ts";

export interface PackagesDeps {
  /** Names of the packages in the registry. */
  names(): { gateway: string; agentCli: string };
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  configFile: string;
  /** Folder for what npm packs. */
  tempDir: string;
  /** Remembers an update while it is under way. */
  noteFile: string;
  /** Of the gateway that runs. */
  version: string;
  /** Hides secrets in what programs print. */
  mask(text: string): string;
  /** Tells that a package was updated. */
  onUpdated(update: { package: PackageName; from: string | null; to: string }): void;
  clock: Clock;
  log: Logger;
}

const LIST_MS = 5 * 60_000;
const CHANGELOG_MS = 60 * 60_000;
/** Each holds at most 1 MiB. */
const MAX_CHANGELOGS = 4;
const MAX_STDERR_BYTES = 4096;
/** What says that something starts the gateway again when it ends: systemd, PM2, anything else. */
const SUPERVISORS = ["INVOCATION_ID", "pm_id", "GATEWAY_SUPERVISED"];

/** Something that is worth keeping for a while, asked for once by all who want it. */
function keptFor<T>(clock: Clock, ms: number, load: () => Promise<T>) {
  let kept: { at: number; value: Promise<T>; settled: boolean } | undefined;
  return (fresh: boolean): Promise<T> => {
    if (kept && (!kept.settled || (!fresh && clock.elapsed() - kept.at < ms))) return kept.value;
    const entry = { at: clock.elapsed(), value: load(), settled: false };
    kept = entry;
    entry.value.then(
      () => {
        entry.settled = true;
        entry.at = clock.elapsed();
      },
      () => {
        if (kept === entry) kept = undefined;
      },
    );
    return entry.value;
  };
}

/** The end of what programs said, with secrets hidden. */
function lastWords(text: string, mask: (text: string) => string): string {
  const masked = mask(text).replace(/:\/\/[^\s/@]{1,200}@/g, "://[redacted]@");
  const bytes = Buffer.from(masked);
  return bytes.length <= MAX_STDERR_BYTES
    ? masked
    : cutToBytes(
        bytes
          .subarray(-MAX_STDERR_BYTES)
          .toString("utf8")
          .replace(/^\ufffd+/, ""),
        MAX_STDERR_BYTES,
      );
}

export function createRoom(deps: PackagesDeps) {
  const { names, env, clock, log, version } = deps;
  const run = createRun({ clock, log, cwd: deps.home });
  const toolEnv = npmEnvironment(env, isSecretName);
  const npm = createNpm({ run, env: toolEnv, tempDir: deps.tempDir });
  const cli = createAgentCli(run, { env: toolEnv, configured: env.AGENT_CLI_BIN, cwd: process.cwd() });
  const note = createUpdateNote(deps.noteFile);
  const updateGateway = createGatewayUpdate({
    npm,
    run,
    note,
    checkEnv: {
      ...(env as Record<string, string>),
      GATEWAY_HOME: deps.home,
      GATEWAY_CONFIG: deps.configFile,
    },
    execPath: process.execPath,
  });
  const packing = createMutex();
  let updating = false;

  const nameOf = (which: PackageName) => (which === "gateway" ? names().gateway : names().agentCli);
  const currentOf = async (which: PackageName) =>
    which === "gateway" ? await npm.installed(nameOf(which)) : cli.version();

  async function recordOf(which: PackageName): Promise<PackageRecord> {
    const [latest, found] = await Promise.all([npm.latest(nameOf(which)), currentOf(which)]);
    const current = found ?? null;
    const hasUpdate = current !== null && compareVersions(latest, current) > 0;
    const running = which === "gateway" && current !== version ? { running: version } : {};
    return { package: which, current, latest, hasUpdate, ...running };
  }
  const loadList = () => Promise.all([recordOf("gateway"), recordOf("agent-cli")]);
  let list = keptFor(clock, LIST_MS, loadList);
  const changelogOf = (name: string, to: string) =>
    keptFor(clock, CHANGELOG_MS, () =>
      packing(async () => {
        const text = await npm.changelog(name, to);
        return text === null ? [] : readChangelog(text);
      }),
    );
  const changelogs = new Map<string, ReturnType<typeof changelogOf>>();
  const forget = () => {
    list = keptFor(clock, LIST_MS, loadList);
    changelogs.clear();
  };

  function failed({ reason, said }: Failure): GatewayError {
    return new GatewayError("INSTALL_FAILED", deps.mask(reason), {
      extra: { stderr: lastWords(said, deps.mask) },
    });
  }

  /**
   * Finds out what became of an update during which the gateway was killed. Resolves to that update while it is still
   * being installed.
   */
  async function settle(): Promise<BegunUpdate | null> {
    const begun = await note.read();
    if (!begun || (await isInstalling(begun))) return begun;
    await note.remove();
    const { from, to } = begun;
    if (version === to) deps.onUpdated({ package: "gateway", from, to });
    else log.warn({ from, to, running: version }, "an update of the gateway was cut off");
    return null;
  }

  async function newGateway(): Promise<PackageUpdate> {
    const name = names().gateway;
    const installing = await settle();
    if (installing) {
      throw new GatewayError(
        "CONFLICT",
        `Version ${installing.to} of the gateway is still being installed; try again when that has ended.`,
      );
    }
    const [to, from] = await Promise.all([npm.latest(name), npm.installed(name)]);
    if (from === undefined) {
      throw failed({
        reason: "npm does not say which version is installed, so nothing was changed.",
        said: "",
      });
    }
    if (from !== null && compareVersions(to, from) <= 0) {
      return { package: "gateway", from, to: from, updated: false, warning: null };
    }
    log.info({ from, to }, "updating the gateway");
    const failure = await updateGateway(name, from, to);
    if (failure) throw failed(failure);
    const supervised = SUPERVISORS.some((variable) => env[variable] !== undefined);
    return {
      package: "gateway",
      from,
      to,
      updated: true,
      warning: supervised ? "service will restart" : "process will stop — restart manually",
    };
  }

  async function newCli(): Promise<PackageUpdate> {
    const [latest, from] = await Promise.all([npm.latest(names().agentCli), cli.version()]);
    const record = { package: "agent-cli" as const, from, warning: null };
    if (from !== null && compareVersions(latest, from) <= 0) return { ...record, to: from, updated: false };
    log.info({ from, latest }, "updating the agent CLI");
    const ran = await cli.update();
    if (ran.code !== 0) {
      const why = ran.problem ?? `ended with exit code ${ran.code}`;
      throw failed({ reason: `The agent CLI could not be updated: its updater ${why}.`, said: ran.tail });
    }
    const to = await cli.version();
    if (to === null) {
      throw failed({ reason: "The agent CLI does not say its version after the update.", said: ran.tail });
    }
    return { ...record, to, updated: to !== from };
  }

  return {
    /** @throws GatewayError `UPSTREAM_UNAVAILABLE` (503) */
    list: (fresh: boolean): Promise<PackageRecord[]> => list(fresh),

    /** @throws GatewayError `INVALID_REQUEST`, `NOT_FOUND`, `UPSTREAM_UNAVAILABLE` (503) */
    async changelog(which: PackageName, asked: { from?: string | undefined; to?: string | undefined }) {
      for (const name of ["from", "to"] as const) {
        if (asked[name] !== undefined && !isVersion(asked[name])) {
          const message = "must be a version, such as 1.2.3";
          throw new GatewayError("INVALID_REQUEST", undefined, { details: [{ path: name, message }] });
        }
      }
      const known =
        asked.from === undefined || asked.to === undefined
          ? (await list(false)).find((record) => record.package === which)!
          : undefined;
      const from = asked.from ?? known!.current;
      const to = asked.to ?? known!.latest;
      const given = asked.from !== undefined || asked.to !== undefined;
      if (given && from !== null && compareVersions(from, to) > 0) {
        throw new GatewayError("INVALID_REQUEST", undefined, {
          details: [{ path: "from", message: "must not be later than to" }],
        });
      }
      const name = nameOf(which);
      const key = `${name}@${to}`;
      const found = changelogs.get(key) ?? changelogOf(name, to);
      changelogs.delete(key);
      changelogs.set(key, found);
      if (changelogs.size > MAX_CHANGELOGS) changelogs.delete(changelogs.keys().next().value!);
      const entries = releasesBetween(await found(false), from, to);
      return { package: which, from, to, entries } satisfies Changelog;
    },

    /** @throws GatewayError `CONFLICT`, `INSTALL_FAILED`, `UPSTREAM_UNAVAILABLE` (503) */
    async update(which: PackageName): Promise<PackageUpdate> {
      if (updating) throw new GatewayError("CONFLICT", "An update is under way already.");
      updating = true;
      let restarts = false;
      try {
        const result = await (which === "gateway" ? newGateway() : newCli());
        restarts = which === "gateway" && result.updated;
        if (result.updated) {
          log.info({ package: which, from: result.from, to: result.to }, "a package was updated");
          deps.onUpdated({ package: which, from: result.from, to: result.to });
        }
        return result;
      } catch (error) {
        if (error instanceof GatewayError) log.warn({ err: error, package: which }, "an update failed");
        throw error;
      } finally {
        // After a new gateway this process ends, and must not begin another.
        updating = restarts;
        forget();
      }
    },

    /** Tells of an update during which an earlier start of the gateway was killed. */
    recover: settle,
  };
}

export type PackagesRoom = ReturnType<typeof createRoom>;
