import * as z from "zod";
import { route } from "../route.ts";
import { agentParams } from "../schemas/common.ts";
import { incident, incidentAct } from "../schemas/incidents.ts";

export const listIncidents = route({
  method: "GET",
  path: "/api/v1/agents/:agentId/incidents",
  auth: "key",
  summary: "List the agent's latest incidents, newest first.",
  tag: "incidents",
  params: agentParams,
  responses: { 200: () => z.object({ incidents: z.array(incident()) }) },
  cli: { noun: "incidents", verb: "list", args: ["agentId"] },
});

export const actOnIncident = route({
  method: "POST",
  path: "/api/v1/agents/:agentId/incidents/:incidentId/act",
  auth: "admin",
  summary: "Do something about an open incident.",
  tag: "incidents",
  params: () => z.object({ agentId: z.string(), incidentId: z.string() }),
  body: incidentAct,
  responses: { 200: () => z.object({ incident: incident() }) },
  errors: ["NOT_FOUND", "CONFLICT"],
  cli: { noun: "incidents", verb: "act", args: ["agentId", "incidentId", "action"] },
});
