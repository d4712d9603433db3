import { GatewayError, routes } from "@agent-gateway/contract";
import { hasLevel, type Principal, reaches } from "../../auth/index.ts";
import type { Usage } from "../../usage/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";

export interface UsageRouteDeps {
  usage: Pick<Usage, "report" | "knowsAgent">;
  agentExists(agentId: string): boolean;
}

/** What turns used. */
export function usageRoutes(deps: UsageRouteDeps): Endpoint[] {
  const requireAgent = async (agentId: string, principal: Principal) => {
    // An agent that was deleted is still known by what it used.
    if (!deps.agentExists(agentId) && !(await deps.usage.knowsAgent(agentId)))
      throw new GatewayError("AGENT_NOT_FOUND");
    if (!reaches(principal, agentId))
      throw new GatewayError("FORBIDDEN", "This key has no access to this agent.");
  };
  return [
    endpoint(routes.showUsage, async ({ query, principal }) => {
      const { from, to, group: groups, agent: agentId, key } = query;
      const admin = hasLevel(principal, "admin");
      if (agentId !== undefined) await requireAgent(agentId, principal);
      if (!admin && key !== undefined && key !== principal.keyId)
        throw new GatewayError("FORBIDDEN", "Only an admin key may see what other keys used.");
      const keyId = admin ? key : (principal.keyId ?? "");
      return json(await deps.usage.report({ from, to, groups, agentId, keyId }));
    }),
  ];
}
