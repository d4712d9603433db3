import type { Config } from "./schema.ts";

/** Whether the agent CLI of this agent runs in a terminal. With orchestration it never does. */
export function runsInTerminal({ gateway, agents }: Config, agentId: string): boolean {
  if (gateway.headless) return false;
  const agent = agents.find(({ id }) => id === agentId);
  return !(gateway.orchestration.enabled && agent?.orchestration.enabled);
}
