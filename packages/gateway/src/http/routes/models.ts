import { routes } from "@agent-gateway/contract";
import type { AgentConfig } from "../../config/index.ts";
import type { AgentModels, Models } from "../../models/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";

export interface ModelRouteDeps {
  models: Pick<Models, "list">;
  agentModels: Pick<AgentModels, "require">;
  requireAgent(agentId: string): AgentConfig;
  /** Writes the model into the agent's entry of the configuration. */
  saveModel(agentId: string, model: string): Promise<unknown>;
}

export function modelRoutes({ models, agentModels, requireAgent, saveModel }: ModelRouteDeps): Endpoint[] {
  return [
    endpoint(routes.listModels, async () => json({ models: await models.list() })),
    endpoint(routes.setAgentModel, async ({ params, body }) => {
      const model = await agentModels.require(requireAgent(params.agentId), body.model);
      await saveModel(params.agentId, model);
      return json({ model });
    }),
  ];
}
