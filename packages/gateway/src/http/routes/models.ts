import { routes } from "@agent-gateway/contract";
import type { AgentConfig } from "../../config/index.ts";
import type { AgentModels, Models } from "../../models/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";

export interface ModelRouteDeps {
  models: Pick<Models, "list">;
  agentModels: Pick<AgentModels, "require">;
  requireAgent(agentId: string): AgentConfig;
  /** Writes the model into the agent's entry of the configuration, unless `confirm` throws right before. */
  saveModel(agentId: string, model: string, confirm: () => void): Promise<unknown>;
}

export function modelRoutes({ models, agentModels, requireAgent, saveModel }: ModelRouteDeps): Endpoint[] {
  return [
    endpoint(routes.listModels, async () => json({ models: await models.list() })),
    endpoint(routes.setAgentModel, async ({ params, body, confirm }) => {
      const model = await agentModels.require(requireAgent(params.agentId), body.model);
      await saveModel(params.agentId, model, confirm);
      return json({ model });
    }),
  ];
}
