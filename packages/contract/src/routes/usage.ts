import { route } from "../route.ts";
import { usageQuery, usageReport } from "../schemas/usage.ts";

export const showUsage = route({
  method: "GET",
  path: "/api/v1/usage",
  auth: "key",
  summary: "Sum up the tokens and the cost of turns; below admin, of those that the key caused.",
  tag: "usage",
  query: usageQuery,
  responses: { 200: usageReport },
  errors: ["AGENT_NOT_FOUND"],
  cli: { noun: "usage", verb: "show", flags: { "by-key": "key" } },
});
