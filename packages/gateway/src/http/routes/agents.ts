import { routes } from "@agent-gateway/contract";
import type { Agents } from "../../agents/index.ts";
import { hasLevel, reaches } from "../../auth/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";

export interface AgentRouteDeps {
  agents: Agents;
  /** Ends everything that still runs or waits for an agent that is no longer configured. */
  onRemoved(agentId: string): Promise<void>;
}

export function agentRoutes({ agents, onRemoved }: AgentRouteDeps): Endpoint[] {
  return [
    endpoint(routes.listAgents, async ({ principal }) =>
      json({ agents: (await agents.list()).filter(({ id }) => reaches(principal, id)) }),
    ),
    endpoint(routes.createAgent, async ({ body }) => json({ agent: await agents.create(body) }, 201)),
    endpoint(routes.getAgent, async ({ params }) => json({ agent: await agents.get(params.agentId) })),
    endpoint(routes.updateAgent, async ({ params, body, principal }) =>
      json({ agent: await agents.update(params.agentId, body, { isAdmin: hasLevel(principal, "admin") }) }),
    ),
    endpoint(routes.deleteAgent, async ({ params }) => {
      await agents.remove(params.agentId);
      await onRemoved(params.agentId);
      return json({ deleted: true as const, id: params.agentId });
    }),
  ];
}
