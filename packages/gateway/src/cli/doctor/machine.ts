import { once } from "node:events";
import { statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { runProgram } from "../../lib/process.ts";
import { findAgentCli } from "../../runtimes/index.ts";
import { httpFetch } from "../http.ts";
import { bytes } from "../output.ts";
import { type Check, fail, ok, type Patient, warn } from "./types.ts";

const MIN_NODE = 24;
const FEW_BYTES = 1e9;
const TOO_FEW_BYTES = 1e8;
/** `claude --version` takes 0.2 s. */
const VERSION_MS = 5000;
const HEALTH_MS = 2000;

export function checkNode(): Check {
  const { node } = process.versions;
  return Number.parseInt(node, 10) >= MIN_NODE
    ? ok("node", `Node.js ${node}`)
    : fail("node", `Node.js ${node} is too old.`, `Use Node.js ${MIN_NODE} or newer.`);
}

/** An address at which this machine can reach a server listening on `bind`. */
const reach = (bind: string) => (bind === "0.0.0.0" ? "127.0.0.1" : bind === "::" ? "::1" : bind);
const urlOf = (bind: string, port: number) =>
  `http://${reach(bind).includes(":") ? `[${reach(bind)}]` : reach(bind)}:${port}`;

/** Whether a gateway answers at this address. */
export async function isGateway(bind: string, port: number): Promise<boolean> {
  if (port === 0) return false;
  try {
    const response = await httpFetch(`${urlOf(bind, port)}/health`, {
      signal: AbortSignal.timeout(HEALTH_MS),
    });
    const body = (await response.json()) as { status?: unknown };
    return response.status === 200 && body.status === "ok";
  } catch {
    return false;
  }
}

/** Why it is not possible to listen at an address; null if it is. */
async function listenProblem(host: string, port: number): Promise<string | null> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, "listening");
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "unknown";
  } finally {
    server.close();
  }
}

export async function checkPort({ config, answers, running }: Patient): Promise<Check> {
  const name = "port";
  if (!config)
    return warn(name, "Not checked, because the configuration cannot be used.", "Fix the configuration.");
  const { bind, port } = config.gateway;
  if (answers) return ok(name, `a gateway answers on ${urlOf(bind, port)}`);
  const problem = await listenProblem(bind, port);
  const at = `${bind}:${port}`;
  switch (problem) {
    case null:
      return ok(
        name,
        `${at} is free; ${running ? "a gateway runs at another address" : "no gateway is running"}`,
      );
    case "EADDRINUSE":
      return fail(name, `${at} is taken by another program.`, "Stop it, or choose another gateway.port.");
    case "EACCES":
      return fail(name, `This user may not listen on ${at}.`, "Choose a gateway.port above 1023.");
    case "EADDRNOTAVAIL":
      return fail(
        name,
        `${bind} is not an address of this machine.`,
        "Set gateway.bind to one of its addresses.",
      );
    default:
      return fail(name, `Cannot listen on ${at} (${problem}).`, "Check gateway.bind and gateway.port.");
  }
}

export async function checkAgentCli({ config, env }: Patient): Promise<Check> {
  const name = "agent CLI";
  const needed =
    config?.agents.some(({ runtime }) => runtime.type === "agent-cli" && !runtime.command) ?? false;
  const found = await findAgentCli(env);
  if (!found) {
    const message = "No agent CLI was found.";
    const fix = "Install one and put `claude` on PATH, or set AGENT_CLI_BIN.";
    return needed
      ? fail(name, message, fix)
      : ok(name, "none found; `auto` uses a model provider or the starter");
  }
  const variables = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const { code, stdout } = await runProgram([found.program, "--version"], {
    env: Object.fromEntries(variables),
    timeoutMs: VERSION_MS,
  });
  const version = stdout.trim().split("\n")[0];
  return code === 0 && version
    ? ok(name, `${found.program}: ${version}`)
    : warn(name, `${found.program} does not report its version.`, "Run it with --version to see why.");
}

export async function checkDisk({ paths }: Patient): Promise<Check> {
  const info = await statfs(paths.home).catch(() => statfs(dirname(paths.home)).catch(() => null));
  if (!info)
    return warn(
      "disk",
      "Could not determine the free space.",
      "Check that the home directory's disk is available.",
    );
  const free = info.bavail * info.bsize;
  const message = `${bytes(free)} free`;
  const fix = "Free up space on the home directory's disk.";
  if (free < TOO_FEW_BYTES) return fail("disk", `Only ${message}.`, fix);
  return free < FEW_BYTES ? warn("disk", `Only ${message}.`, fix) : ok("disk", message);
}
