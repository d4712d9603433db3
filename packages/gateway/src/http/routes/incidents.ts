import { routes } from "@agent-gateway/contract";
import type { Healing } from "../../healing/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";

/** What was found wrong with turns, and what a person does about it. */
export function incidentRoutes(healing: Pick<Healing, "list" | "require" | "act">): Endpoint[] {
  return [
    endpoint(routes.listIncidents, ({ params }) => json({ incidents: healing.list(params.agentId) })),
    endpoint(
      routes.actOnIncident,
      async ({ params, body }) =>
        json({ incident: await healing.act(params.agentId, params.incidentId, body.action) }),
      { find: ({ agentId, incidentId }) => healing.require(agentId!, incidentId!) },
    ),
  ];
}
