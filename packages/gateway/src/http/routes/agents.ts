import { routes } from "@agent-gateway/contract";
import type { Agents } from "../../agents/index.ts";
import { hasLevel, reaches } from "../../auth/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";

export interface AgentRouteDeps {
  agents: Agents;
  /** The model to store for an agent; throws `INVALID_REQUEST` for one that its program does not offer. */
  judgeModel(agentId: string, model: string): Promise<string>;
  /** Resolves when an agent that was just made can be used. */
  made(): Promise<void>;
  /** Removes an agent, and ends everything that still runs or waits for it. */
  remove(agentId: string): Promise<void>;
}

export function agentRoutes({ agents, judgeModel, made, remove }: AgentRouteDeps): Endpoint[] {
  return [
    endpoint(routes.listAgents, async ({ principal }) =>
      json({ agents: (await agents.list()).filter(({ id }) => reaches(principal, id)) }),
    ),
    endpoint(routes.createAgent, async ({ body }) => {
      const agent = await agents.create(body);
      await made();
      return json({ agent }, 201);
    }),
    endpoint(routes.getAgent, async ({ params }) => json({ agent: await agents.get(params.agentId) })),
    endpoint(routes.updateAgent, async ({ params, body, principal, confirm }) => {
      const model = typeof body.model === "string" && (await judgeModel(params.agentId, body.model));
      const patch = model ? { ...body, model } : body;
      const isAdmin = hasLevel(principal, "admin");
      return json({ agent: await agents.update(params.agentId, patch, { isAdmin, confirm }) });
    }),
    endpoint(routes.getGreeting, async ({ params }) => json({ text: await agents.greeting(params.agentId) })),
    endpoint(routes.setGreeting, async ({ params, body: { text } }) => {
      await agents.setGreeting(params.agentId, text.trim() === "" ? "" : text);
      return json({ text: await agents.greeting(params.agentId) });
    }),
    endpoint(routes.deleteAgent, async ({ params }) => {
      await remove(params.agentId);
      return json({ deleted: true as const, id: params.agentId });
    }),
  ];
}
