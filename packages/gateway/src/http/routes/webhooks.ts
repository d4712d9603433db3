import { routes } from "@agent-gateway/contract";
import type { Clock } from "../../lib/clock.ts";
import type { Webhooks } from "../../webhooks/index.ts";
import { readBytes } from "../body.ts";
import { type Endpoint, endpoint, json, type Reply, type RequestContext } from "../endpoint.ts";

export interface WebhookRouteDeps {
  webhooks: Webhooks;
  clock: Clock;
}

const LIMITS = { maxBytes: 256 * 1024, idleMs: 5_000, tooLarge: "The body is larger than 256 KB." };

type Answer = Reply<{ ok: true } | { challenge: string }>;

/** Providers authenticate themselves, so the bytes are taken as they are and nothing is parsed before that. */
export function webhookRoutes({ webhooks, clock }: WebhookRouteDeps): Endpoint[] {
  const serve = async (
    method: "GET" | "POST",
    { req }: Pick<RequestContext, "req">,
    { app, agentId }: { app: string; agentId?: string },
  ): Promise<Answer> => {
    webhooks.require(app);
    const url = req.url as string;
    const mark = url.indexOf("?");
    // A path may end in a slash.
    const answer = await webhooks.answer(app, agentId || undefined, {
      method,
      headers: req.headers,
      query: new URLSearchParams(mark < 0 ? "" : url.slice(mark)),
      body: method === "POST" ? await readBytes(req, clock, LIMITS) : Buffer.alloc(0),
    });
    if ("json" in answer) return json(answer.json);
    return { status: 200, headers: { "Content-Type": "text/plain; charset=utf-8" }, bytes: answer.text };
  };
  return [
    endpoint(routes.verifyWebhook, (context) => serve("GET", context, context.params)),
    endpoint(routes.verifyAgentWebhook, (context) => serve("GET", context, context.params)),
    endpoint(routes.receiveWebhook, (context) => serve("POST", context, context.params)),
    endpoint(routes.receiveAgentWebhook, (context) => serve("POST", context, context.params)),
  ];
}
