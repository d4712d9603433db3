import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "@agent-gateway/contract";
import { isRecord } from "../lib/is-record.ts";
import type { Ran, Run, RunOptions } from "./run.ts";
import { readPacked } from "./tarball.ts";
import { isVersion } from "./version.ts";

const ASK_MS = 15_000;
const INSTALL_MS = 600_000;
/** Longest part of a changelog that is read. */
const MAX_CHANGELOG_BYTES = 1024 * 1024;
/** How npm says that there is no such version, or no such package. */
const UNKNOWN = /\b(?:ETARGET|E404)\b|No matching version found/;

/** npm, as far as packages need it. */
export interface Npm {
  /**
   * The newest version in the registry.
   * @throws GatewayError `UPSTREAM_UNAVAILABLE` (503)
   */
  latest(name: string): Promise<string>;
  /** The version that is installed globally; null when none is, undefined when npm does not say. */
  installed(name: string): Promise<string | null | undefined>;
  /** Where global packages are; null when npm does not say. */
  prefix(): Promise<string | null>;
  install(name: string, version: string, onStart?: RunOptions["onStart"]): Promise<Ran>;
  /**
   * The changelog in the package of a version; null when it has none.
   * @throws GatewayError `NOT_FOUND` for a version that npm does not know, `UPSTREAM_UNAVAILABLE` (503)
   */
  changelog(name: string, version: string): Promise<string | null>;
}

const unavailable = (sentence: string) => new GatewayError("UPSTREAM_UNAVAILABLE", sentence, { status: 503 });

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}

export interface NpmDeps {
  run: Run;
  env: Readonly<Record<string, string>>;
  /** Folder for what npm packs; nobody else's. */
  tempDir: string;
}

export function createNpm({ run, env, tempDir }: NpmDeps): Npm {
  const ask = (...args: string[]) => run(["npm", ...args], { env, timeoutMs: ASK_MS });

  async function pack(name: string, version: string, folder: string): Promise<string | null> {
    const ran = await ask("pack", `${name}@${version}`, "--json", "--pack-destination", folder);
    if (ran.code !== 0) {
      if (UNKNOWN.test(ran.tail)) {
        throw new GatewayError("NOT_FOUND", `The package registry has no version ${version}.`);
      }
      throw unavailable(`The changelog could not be fetched: npm ${ran.problem ?? "failed"}.`);
    }
    // Its name is told in more than one way by different versions of npm.
    const archive = (await readdir(folder)).find((entry) => entry.endsWith(".tgz"));
    if (archive === undefined) throw unavailable("The changelog could not be fetched: npm packed nothing.");
    try {
      return await readPacked(join(folder, archive), "CHANGELOG.md", MAX_CHANGELOG_BYTES);
    } catch {
      throw unavailable("The changelog could not be read: what npm packed is damaged.");
    }
  }

  return {
    async latest(name) {
      const { code, stdout, problem } = await ask("view", name, "version", "--json");
      const said = code === 0 ? parsed(stdout) : undefined;
      const version: unknown = Array.isArray(said) ? said.at(-1) : said;
      if (isVersion(version)) return version;
      const why = code !== 0 ? `npm ${problem ?? "failed"}` : "npm gave an answer that is no version";
      throw unavailable(`The package registry could not be asked about ${name}: ${why}.`);
    },
    async installed(name) {
      // Its exit code tells of problems of any package, and says nothing of this one.
      const listed = parsed((await ask("ls", "-g", "--depth=0", "--json")).stdout);
      if (!isRecord(listed)) return undefined;
      const { dependencies } = listed;
      const found = isRecord(dependencies) && Object.hasOwn(dependencies, name) ? dependencies[name] : null;
      return isRecord(found) && isVersion(found.version) ? found.version : null;
    },
    async prefix() {
      const { code, stdout } = await ask("prefix", "-g");
      const path = stdout?.trim() ?? "";
      return code === 0 && path.startsWith("/") && !/[\0\n]/.test(path) ? path : null;
    },
    install: (name, version, onStart) =>
      run(["npm", "install", "-g", `${name}@${version}`], {
        // Nothing in the gateway needs to run code of its own while it is installed.
        env: { ...env, npm_config_ignore_scripts: "true" },
        timeoutMs: INSTALL_MS,
        mayOutlive: true,
        ...(onStart && { onStart }),
      }),
    async changelog(name, version) {
      await mkdir(tempDir, { recursive: true });
      const folder = await mkdtemp(join(tempDir, "pack-"));
      try {
        return await pack(name, version, folder);
      } finally {
        await rm(folder, { recursive: true, force: true, maxRetries: 3 });
      }
    },
  };
}

/**
 * What npm gets: everything that its user has set for it, and nothing of the gateway or of model providers, because
 * packages may run code of their own while they are installed.
 */
export function npmEnvironment(
  host: Readonly<Record<string, string | undefined>>,
  isSecret: (name: string) => boolean,
): Record<string, string> {
  const own = /^GATEWAY_/;
  const forNpm = /^npm_/i;
  return Object.fromEntries(
    Object.entries(host).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !own.test(entry[0]) && (forNpm.test(entry[0]) || !isSecret(entry[0])),
    ),
  );
}
