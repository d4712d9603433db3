import { GatewayError } from "@agent-gateway/contract";
import { resolveProgram } from "../lib/process.ts";
import type { Ran, Run } from "./run.ts";
import { isVersion } from "./version.ts";

const ASK_MS = 15_000;
const UPDATE_MS = 600_000;
/** `2.1.5 (Claude Code)` */
const FIRST_VERSION = /\d{1,15}\.\d{1,15}\.\d{1,15}[0-9A-Za-z.+-]{0,200}/;
/** A version comes early. */
const READ_CHARS = 4096;

/** The installed agent CLI. */
export interface AgentCli {
  /** Null when there is none, or it does not say. */
  version(): Promise<string | null>;
  /** Has it update itself. @throws GatewayError `INSTALL_FAILED` when there is none */
  update(): Promise<Ran>;
}

/** The agent CLI: `AGENT_CLI_BIN`, else `claude` on PATH. */
export function createAgentCli(
  run: Run,
  {
    env,
    configured,
    cwd,
  }: { env: Readonly<Record<string, string>>; configured: string | undefined; cwd: string },
): AgentCli {
  async function find(): Promise<string | null> {
    for (const name of [configured, "claude"]) {
      if (!name) continue;
      const found = await resolveProgram([name], cwd, env).catch(() => null);
      if (found) return found[0]!;
    }
    return null;
  }
  return {
    async version() {
      const program = await find();
      if (program === null) return null;
      const { code, stdout = "" } = await run([program, "--version"], { env, timeoutMs: ASK_MS });
      const found = code === 0 ? FIRST_VERSION.exec(stdout.slice(0, READ_CHARS))?.[0] : undefined;
      return isVersion(found) ? found : null;
    },
    async update() {
      const program = await find();
      if (program === null) {
        throw new GatewayError(
          "INSTALL_FAILED",
          "The agent CLI is not installed on the gateway's machine, so it cannot update itself: install it first.",
          { extra: { stderr: "" } },
        );
      }
      return run([program, "update"], { env, timeoutMs: UPDATE_MS, mayOutlive: true });
    },
  };
}
