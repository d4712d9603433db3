import { mkdir, readFile, rm } from "node:fs/promises";
import { homedir, userInfo } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { writeFileAtomic } from "../../lib/atomic-file.ts";
import { programFile } from "../../lib/entry.ts";
import { resolveProgram, runProgram } from "../../lib/process.ts";
import { CliError, UsageError } from "../errors.ts";
import { type Flag, GLOBAL_FLAGS, isOn, last, parseFlags, takeWords } from "../flags.ts";
import { note, print, printable, printJson } from "../output.ts";
import { createLaunchd } from "./launchd.ts";
import { planService } from "./plan.ts";
import { createSystemd } from "./systemd.ts";
import { type ServiceManager, type ServiceState, type Tool, WRITTEN_BY } from "./types.ts";

const FLAGS = new Map<string, Flag>([
  ...GLOBAL_FLAGS,
  ["system", { key: "system", boolean: true }],
  ["run-as", { key: "run-as" }],
  ["name", { key: "name" }],
]);
const VERBS = ["install", "status", "uninstall"] as const;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const TOOL_MS = 60_000;
const START_MS = 3_000;
const LOOK_MS = 100;

/** Where the command runs; tests give it another. */
export interface Machine {
  platform: NodeJS.Platform;
  uid: number;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  tool: Tool;
}

function thisMachine(): Machine {
  const env = process.env as Record<string, string>;
  return {
    platform: process.platform,
    uid: userInfo().uid,
    home: env.HOME || homedir(),
    env,
    cwd: process.cwd(),
    tool: (command) => runProgram(command, { env, timeoutMs: TOOL_MS }),
  };
}

/** @throws CliError where nothing of the system runs services */
async function managerOf(machine: Machine, system: boolean): Promise<ServiceManager> {
  const { platform, home, env, uid, tool, cwd } = machine;
  const program = platform === "darwin" ? "launchctl" : platform === "linux" ? "systemctl" : undefined;
  const found = program !== undefined && (await resolveProgram([program], cwd, env).catch(() => null));
  if (!found) {
    throw new CliError(
      "This machine has neither systemd nor launchd: run `agent-gateway start` with what starts programs here.",
    );
  }
  return platform === "darwin"
    ? createLaunchd(tool, { system, home, uid })
    : createSystemd(tool, { system, home, configHome: env.XDG_CONFIG_HOME });
}

/** The text of a service that this command wrote; null where there is none. */
async function readOwn(file: string): Promise<string | null> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (text !== null && !text.includes(WRITTEN_BY)) {
    throw new CliError(
      `${file} was not written by this command: remove it, or choose another name with --name.`,
    );
  }
  return text;
}

async function stateOf(manager: ServiceManager, name: string, system: boolean): Promise<ServiceState> {
  const file = manager.file(name);
  const installed = (await readOwn(file)) !== null;
  const state = installed ? await manager.state(name) : { enabled: false, running: false, pid: null };
  return { manager: manager.manager, scope: system ? "system" : "user", name, file, installed, ...state };
}

function describe({ manager, scope, name, file, installed, enabled, running, pid }: ServiceState): string {
  if (!installed) return `${name} is not installed as a ${scope} service.\n`;
  const doing = running ? `runs${pid === null ? "" : ` (process ${pid})`}` : "does not run";
  const log = manager === "systemd" ? ` ${scope === "user" ? "--user " : ""}-u ${name}` : "";
  return printable(
    [
      `${name} ${doing} and is ${enabled ? "" : "not "}started by itself (${manager}, ${scope}).`,
      `file: ${file}`,
      ...(log ? [`log: journalctl${log}`] : []),
      "",
    ].join("\n"),
  );
}

/** Who a service of the machine runs as: not root unless that is asked for, because agents may do what it may. */
function chooseUser(machine: Machine, system: boolean, asked: string | undefined): string | undefined {
  if (!system) {
    if (asked !== undefined) throw new UsageError("--run-as needs --system.");
    return undefined;
  }
  if (machine.uid !== 0) throw new CliError("A service of the machine needs root: run this again with sudo.");
  const user = asked ?? machine.env.SUDO_USER;
  if (!user || (user === "root" && asked === undefined)) {
    throw new CliError("Name the user that the gateway is to run as: --run-as USER.");
  }
  if (!/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/.test(user))
    throw new UsageError("--run-as takes the name of a user.");
  return user;
}

async function install(machine: Machine, manager: ServiceManager, input: Chosen): Promise<ServiceState> {
  const { name, system, user } = input;
  const { plan, leftOut } = planService({
    name,
    system,
    user: chooseUser(machine, system, user),
    env: machine.env,
    cwd: machine.cwd,
    node: process.execPath,
    program: programFile(),
  });
  const file = manager.file(name);
  const before = await readOwn(file);
  await mkdir(dirname(file), { recursive: true });
  await writeFileAtomic(file, manager.render(plan), { mode: 0o644, forceMode: true });
  try {
    await manager.enable(name);
  } catch (error) {
    if (before === null) await rm(file, { force: true });
    else await writeFileAtomic(file, before, { mode: 0o644, forceMode: true });
    await manager.forget().catch(() => {});
    throw error;
  }
  for (const variable of leftOut) {
    note(
      `${variable} is not passed on, because it may hold a secret: put it into the configuration or its .env.`,
    );
  }
  const deadline = Date.now() + START_MS;
  for (;;) {
    const state = await stateOf(manager, name, system);
    if (state.running || Date.now() > deadline) return state;
    await sleep(LOOK_MS);
  }
}

async function uninstall(manager: ServiceManager, { name, system }: Chosen): Promise<ServiceState> {
  const file = manager.file(name);
  if ((await readOwn(file)) !== null) {
    await manager.disable(name);
    await rm(file, { force: true });
    await manager.forget();
  }
  return stateOf(manager, name, system);
}

interface Chosen {
  name: string;
  system: boolean;
  user: string | undefined;
}

/** `service install|status|uninstall`: exit code 1 unless the service then is as it was asked for, or runs. */
export async function serviceCommand(tokens: readonly string[], machine = thisMachine()): Promise<number> {
  const { words, rest } = takeWords(tokens, 1);
  const verb = VERBS.find((known) => known === words[0]);
  const parsed = parseFlags(rest, FLAGS);
  if (verb === undefined) throw new UsageError(`service has these commands: ${VERBS.join(", ")}.`);
  if (parsed.positionals.length > 0) throw new UsageError(`Unexpected argument: ${parsed.positionals[0]}.`);
  const name = last(parsed, "name") ?? "agent-gateway";
  if (!NAME.test(name)) throw new UsageError("--name takes letters, digits and . _ -");
  const system = last(parsed, "system") === undefined ? machine.uid === 0 : isOn(parsed, "system");
  const chosen = { name, system, user: last(parsed, "run-as") };
  const manager = await managerOf(machine, system);
  const state =
    verb === "install"
      ? await install(machine, manager, chosen)
      : verb === "uninstall"
        ? await uninstall(manager, chosen)
        : await stateOf(manager, name, system);
  if (isOn(parsed, "json")) await printJson(state);
  else await print(describe(state));
  if (verb === "uninstall") return state.installed ? 1 : 0;
  if (verb === "install" && state.running && !system && state.manager === "systemd") {
    note("It ends when you log out, unless you allow it to stay: loginctl enable-linger");
  }
  return state.running ? 0 : 1;
}
