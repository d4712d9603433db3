import { createClient, GatewayError } from "@agent-gateway/contract";

/** `<prefix>/cli/<pairing>`, and what comes below it. */
const [, prefix = "", pairingId = ""] = /^(.*)\/cli\/([^/]+)/.exec(location.pathname) ?? [];

/** The pairing that this page belongs to. */
export const params = { pairingId };
/** Where the gateway is, as this page reaches it. */
const base = `${location.origin}${prefix}`;
export const client = createClient({ baseUrl: base });
export const viewAddress = `${prefix}/cli/${pairingId}/view`;

/** Address of the socket that a ticket opens. */
export const socketAddress = (agentId: string, ticket: string): string =>
  `${base.replace(/^http/, "ws")}/api/v1/agents/${encodeURIComponent(agentId)}/pty-stream?ticket=${ticket}`;

const GONE = "This link has expired. Send /cli again in the chat.";

/** The user-facing message for any thrown value. */
export function sentence(error: unknown): string {
  if (!(error instanceof GatewayError)) return "Something went wrong on this page. Reload it and try again.";
  if (error.code === "NOT_FOUND") return GONE;
  return error.code === "UPSTREAM_UNAVAILABLE" ? "The gateway cannot be reached." : error.message;
}
