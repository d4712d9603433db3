import type {
  InboundMessage,
  WebhookChannel,
  WebhookRequest,
  WebhookVerdict,
} from "../../../../packages/gateway/src/channels/types.ts";
import type { AgentConfig } from "../../../../packages/gateway/src/config/index.ts";
import { agentEntry } from "../../../../packages/gateway/src/config/schema.ts";
import { SIGNED_CHANNELS } from "../../../fixtures/webhook-signing.ts";

/** An agent as the loader makes it. */
export function agentWith(blocks: Record<string, unknown> = SIGNED_CHANNELS, id = "assistant"): AgentConfig {
  const parsed = agentEntry.parse({ id, ...blocks });
  return {
    ...parsed,
    name: id,
    workspace: "/nonexistent/workspace",
    history: { retentionDays: null, maxHistoryMessages: 50, cleanupHour: 3, cleanupTimezone: "UTC" },
    session: { idleTimeoutMinutes: 30, maxConcurrent: 20, warmSpares: 0 },
  };
}

export const request = (
  body: string | Buffer,
  headers: WebhookRequest["headers"] = {},
  more: Partial<WebhookRequest> = {},
): WebhookRequest => ({
  method: "POST",
  headers,
  query: new URLSearchParams(),
  body: Buffer.from(body),
  ...more,
});

/** Messages of a verdict; throws when it is a refusal. */
export function messagesOf(verdict: WebhookVerdict): readonly InboundMessage[] {
  if (verdict.status !== 200) throw new Error(`refused: ${verdict.status} ${verdict.error}`);
  return verdict.messages ?? [];
}

export const accepts = (
  channel: WebhookChannel,
  incoming: WebhookRequest,
  agent: AgentConfig,
  now: number,
): boolean => channel.handle(incoming, agent, now).status !== 401;
