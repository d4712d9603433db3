import type { IncomingHttpHeaders } from "node:http";
import type { AgentConfig } from "../config/index.ts";

/** A request as received; nothing is parsed yet. */
export interface RawRequest {
  method: "GET" | "POST";
  headers: IncomingHttpHeaders;
  query: URLSearchParams;
  body: Buffer;
}

/** The reply to the provider. */
export type WebhookAnswer = { json: { ok: true } | { challenge: string } } | { text: string };
export type Refusal = { status: 400 | 401 | 403; error: string };
export type Acceptance<Message, Receipt> = WebhookAnswer & {
  status: 200;
  messages?: readonly Message[];
  receipts?: readonly Receipt[];
};

/** One provider's verification and parsing. */
export interface Provider<Message, Receipt> {
  /** True when the agent has the channel and the secret that signs its webhooks. */
  enabled(agent: AgentConfig): boolean;
  /** The reply to a request that needs no proof. */
  greet?(request: RawRequest): Refusal | Acceptance<Message, Receipt> | undefined;
  handle(request: RawRequest, agent: AgentConfig, now: number): Refusal | Acceptance<Message, Receipt>;
}

/** The agent that receives the messages. */
export interface Place<Name> {
  agentId: string;
  channel: Name;
  account: string;
}
