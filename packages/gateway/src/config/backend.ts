import type { Config } from "./schema.ts";

/** Whether the agent CLI of this agent runs in a terminal. With orchestration it never does. */
export function runsInTerminal({ gateway, agents }: Config, agentId: string): boolean {
  return !gateway.headless && !agents.find(({ id }) => id === agentId)?.orchestration.enabled;
}
