import * as z from "zod";
import { lazy } from "../lazy.ts";
import { route } from "../route.ts";

const app = lazy(() => z.string().describe("`sigchat`, `teamchat`, `cloudchat` or `botchat`."));
const anyAgent = lazy(() => z.object({ app: app() }));
const oneAgent = lazy(() => z.object({ app: app(), agentId: z.string() }));
const answers = {
  200: () => z.union([z.object({ ok: z.literal(true) }), z.object({ challenge: z.string() })]),
  401: null,
} as const;
const handshake = {
  auth: "signature",
  tag: "webhooks",
  rawReply: "text",
  responses: answers,
  errors: ["NOT_FOUND"],
} as const;
const events = {
  auth: "signature",
  tag: "webhooks",
  rawBody: "binary",
  rawReply: "text",
  responses: answers,
  errors: ["NOT_FOUND", "INVALID_JSON", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "UNAVAILABLE"],
} as const;

export const verifyWebhook = route({
  ...handshake,
  method: "GET",
  path: "/webhooks/:app",
  summary: "Answer a provider's verification request, for the first agent that has the channel.",
  params: anyAgent,
});

export const verifyAgentWebhook = route({
  ...handshake,
  method: "GET",
  path: "/webhooks/:app/:agentId",
  summary: "Answer a provider's verification request.",
  params: oneAgent,
});

export const receiveWebhook = route({
  ...events,
  method: "POST",
  path: "/webhooks/:app",
  summary:
    "Receive a provider's signed events, for the first agent that has the channel; 200 once they are on disk.",
  params: anyAgent,
});

export const receiveAgentWebhook = route({
  ...events,
  method: "POST",
  path: "/webhooks/:app/:agentId",
  summary: "Receive a provider's signed events; 200 once they are on disk.",
  params: oneAgent,
});
