import type { Logger } from "../lib/logger.ts";
import type { RuntimeAgent, RuntimeFactory } from "./deps.ts";

/** How long after the start the log waits for agent programs to report what they are. */
const PROBE_WAIT_MS = 10_000;

/** Logs what runs each agent, and what is wrong with it. */
export function announceRuntimes(
  runtimes: Pick<RuntimeFactory, "describe" | "status">,
  agents: readonly (RuntimeAgent & { id: string })[],
  log: Logger,
): void {
  for (const agent of agents) {
    void runtimes.describe(agent).then(async (text) => {
      log.info({ agent: agent.id }, `runs on ${text}`);
      const { problem, warnings } = await runtimes.status(agent, PROBE_WAIT_MS);
      if (problem !== null) log.warn({ agent: agent.id }, problem);
      for (const warning of warnings) log.warn({ agent: agent.id }, warning);
    });
  }
}
