import * as z from "zod";
import { route } from "../route.ts";
import { agentParams } from "../schemas/common.ts";
import { delivery, deliveryState } from "../schemas/deliveries.ts";

export const listDeliveries = route({
  method: "GET",
  path: "/api/v1/agents/:agentId/channels/deliveries",
  auth: "key",
  summary: "List replies of the last 30 days that may not have arrived, newest first.",
  tag: "channels",
  params: agentParams,
  query: () =>
    z.object({
      state: deliveryState().optional().describe("Only replies in this state."),
      limit: z.coerce.number().int().min(1).max(200).default(50),
    }),
  responses: { 200: () => z.object({ deliveries: z.array(delivery()) }) },
  cli: { noun: "channels", verb: "deliveries", args: ["agentId"] },
});

export const sendDeliveryAgain = route({
  method: "POST",
  path: "/api/v1/agents/:agentId/channels/deliveries/:id/send-again",
  auth: "write",
  summary: "Resend a reply that may not have arrived. The recipient may get it twice.",
  tag: "channels",
  params: () =>
    z.object({
      agentId: z.string(),
      id: z.string().regex(/^[1-9]\d{0,14}$/, "must be the number of a delivery"),
    }),
  responses: { 200: () => z.object({ ok: z.literal(true) }) },
  errors: ["NOT_FOUND", "CONFLICT"],
  cli: { noun: "channels", verb: "send-again", args: ["agentId", "id"] },
});
