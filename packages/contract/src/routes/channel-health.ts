import * as z from "zod";
import { route } from "../route.ts";
import { allow, channelName, channelState, trace } from "../schemas/channel-health.ts";
import { agentParams } from "../schemas/common.ts";

export const listChannels = route({
  method: "GET",
  path: "/api/v1/agents/:agentId/channels",
  auth: "key",
  summary: "Show the state of each of an agent's channels, as last proved by its connection.",
  tag: "channels",
  params: agentParams,
  responses: { 200: () => z.object({ channels: z.array(channelState()) }) },
});

export const traceMessage = route({
  method: "GET",
  path: "/api/v1/agents/:agentId/channels/trace/:messageId",
  auth: "key",
  summary: "Trace one message: received, stored, turn, reply, delivery.",
  tag: "channels",
  params: () =>
    z.object({
      agentId: z.string(),
      messageId: z
        .string()
        .describe("The gateway's message number, a request id, or the provider's id of an event or message."),
    }),
  query: () =>
    z.object({
      channel: channelName()
        .optional()
        .describe("Search only this channel; provider ids are not unique across channels."),
    }),
  responses: { 200: trace },
  errors: ["NOT_FOUND"],
});

export const allowInChannel = route({
  method: "POST",
  path: "/api/v1/agents/:agentId/channels/allow",
  auth: "admin",
  summary: "Allow a user or a group to write through a channel.",
  tag: "channels",
  params: agentParams,
  body: allow,
  responses: { 200: () => z.object({ ok: z.literal(true) }) },
  errors: ["CONFLICT"],
  cli: {
    noun: "channels",
    verb: "allow",
    args: ["agentId", "channel", "id"],
    flags: { account: "account_id", group: "kind=group" },
  },
});
