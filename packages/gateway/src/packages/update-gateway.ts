import { access } from "node:fs/promises";
import { join } from "node:path";
import type { UpdateNote } from "./note.ts";
import type { Npm } from "./npm.ts";
import type { Ran, Run } from "./run.ts";

const CHECK_MS = 15_000;

/** Why an update failed, with what the programs said. */
export interface Failure {
  /** One sentence. */
  reason: string;
  said: string;
}

export interface GatewayUpdateDeps {
  npm: Npm;
  run: Run;
  note: UpdateNote;
  /** Of the running gateway; `config check` gets all of it, because the file may name any variable. */
  checkEnv: Readonly<Record<string, string>>;
  /** The Node.js that runs the gateway. */
  execPath: string;
}

const because = ({ code, problem }: Ran) => problem ?? `ended with exit code ${code}`;

/** Installs a version of the gateway and brings the old one back when the new one is not fit to run. */
export function createGatewayUpdate({ npm, run, note, checkEnv, execPath }: GatewayUpdateDeps) {
  /** Null when the installed gateway is this version and can load the running configuration. */
  async function problemOf(name: string, version: string): Promise<Failure | null> {
    const installed = await npm.installed(name);
    if (installed !== version) {
      const found =
        installed === undefined ? "does not say what is installed" : `shows ${installed ?? "none"}`;
      return { reason: `npm ${found} in place of version ${version}`, said: "" };
    }
    const prefix = await npm.prefix();
    if (prefix === null) return { reason: "npm does not say where global packages are", said: "" };
    const program = join(prefix, "bin/agent-gateway");
    const checked = await run([program, "config", "check"], { env: checkEnv, timeoutMs: CHECK_MS });
    if (checked.code !== 0) {
      return { reason: `its \`config check\` ${because(checked)}`, said: checked.tail };
    }
    const node = await access(execPath).then(
      () => true,
      () => false,
    );
    return node ? null : { reason: "the Node.js that the gateway runs with is gone", said: "" };
  }

  async function tryInstall(name: string, from: string | null, to: string): Promise<Failure | null> {
    const installed = await npm.install(name, to, (pid) => note.begin({ from, to }, pid));
    if (installed.code !== 0) return { reason: `npm ${because(installed)}`, said: installed.stderr };
    return problemOf(name, to);
  }

  /** Resolves to true when the old version is in place again. */
  async function comeBack(name: string, from: string, to: string): Promise<boolean> {
    await npm.install(name, from, (pid) => note.begin({ from, to }, pid));
    return (await npm.installed(name)) === from;
  }

  /** Resolves to null when the new version is in place and can start. */
  return async (name: string, from: string | null, to: string): Promise<Failure | null> => {
    const failure = await tryInstall(name, from, to);
    let outcome = "";
    if (failure && from !== null) {
      outcome = (await comeBack(name, from, to))
        ? ` Version ${from} is in place again.`
        : ` Version ${from} could not be brought back: run \`npm install -g ${name}@${from}\` before the gateway restarts.`;
    }
    await note.remove();
    if (!failure) return null;
    return { ...failure, reason: `Version ${to} could not be installed: ${failure.reason}.${outcome}` };
  };
}
