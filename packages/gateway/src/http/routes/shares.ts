import { GatewayError, routes } from "@agent-gateway/contract";
import { type Principal, reaches } from "../../auth/index.ts";
import type { Shares } from "../../shares/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";
import { sendFile } from "../send-file.ts";

export interface ShareRouteDeps {
  shares: Pick<Shares, "mint" | "agentOfShare" | "revoke" | "open">;
  agentExists(agentId: string): boolean;
  /**
   * The session's folder (absolute) by the caller's `chat_id`.
   * @throws GatewayError `SESSION_NOT_FOUND`
   */
  requireSessionDir(agentId: string, chatId: string, sessionId: string): Promise<string>;
}

export function shareRoutes({ shares, agentExists, requireSessionDir }: ShareRouteDeps): Endpoint[] {
  const requireReach = (principal: Principal, agentId: string) => {
    if (!reaches(principal, agentId)) {
      throw new GatewayError("FORBIDDEN", "This key has no access to this agent.");
    }
  };
  return [
    endpoint(routes.createShares, async ({ body, principal }) => {
      const { agent_id: agentId, session_id: sessionId } = body;
      if (!agentExists(agentId)) throw new GatewayError("AGENT_NOT_FOUND");
      requireReach(principal, agentId);
      const sessionDir = await requireSessionDir(agentId, body.chat_id, sessionId);
      const items = await shares.mint({ agentId, sessionId, sessionDir }, body.refs, body.ttl_seconds);
      return json({ items }, 201);
    }),
    endpoint(routes.revokeShare, async ({ params, principal }) => {
      const agentId = await shares.agentOfShare(params.shareId);
      if (agentId === undefined) throw new GatewayError("NOT_FOUND", "There is no such share.");
      requireReach(principal, agentId);
      await shares.revoke(agentId, params.shareId);
      return json({ revoked: true as const });
    }),
    endpoint(routes.openShare, async ({ params, req }) => sendFile(req, await shares.open(params.token))),
  ];
}
