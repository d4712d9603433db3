import { isDeepStrictEqual } from "node:util";
import type { AgentConfig, Config } from "../config/index.ts";
import type { Told } from "./told.ts";

/** Names of the settings in which two versions of an agent differ. */
function changed(before: AgentConfig, after: AgentConfig): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof AgentConfig>;
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name])).sort();
}

/** What a change of the configuration means for the agents. Tells names of settings, never their values. */
export function agentChanges(next: Config, previous: Config): Told[] {
  const before = new Map(previous.agents.map((agent) => [agent.id, agent]));
  const after = new Set(next.agents.map(({ id }) => id));
  const told: Told[] = [];
  for (const agent of next.agents) {
    const known = before.get(agent.id);
    if (!known) told.push({ type: "agent.created", agentId: agent.id });
    else {
      const settings = changed(known, agent);
      if (settings.length > 0) told.push({ type: "agent.updated", agentId: agent.id, data: { settings } });
    }
  }
  for (const agentId of before.keys()) if (!after.has(agentId)) told.push({ type: "agent.deleted", agentId });
  return told;
}
