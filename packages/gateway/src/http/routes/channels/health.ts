import { type ChannelState, GatewayError, routes, type Trace } from "@agent-gateway/contract";
import { type Endpoint, endpoint, json } from "../../endpoint.ts";

type Channel = ChannelState["channel"];

export interface ChannelHealthRouteDeps {
  channels: { list(agentId: string): readonly ChannelState[] | Promise<readonly ChannelState[]> };
  trace: { find(agentId: string, id: string, channel?: Channel): Promise<Trace | undefined> };
  /**
   * Puts an id on the list of users or of groups. `account` is empty for the agent's first.
   * Rejects with `INVALID_REQUEST` for an id or account that cannot be.
   */
  allow(
    place: { agentId: string; channel: Channel; account: string },
    kind: "user" | "group",
    id: string,
  ): Promise<void>;
}

/** State of the channels, what became of a message, and the direct way onto an allowlist. */
export function channelHealthRoutes({ channels, trace, allow }: ChannelHealthRouteDeps): Endpoint[] {
  return [
    endpoint(routes.listChannels, async ({ params }) =>
      json({ channels: [...(await channels.list(params.agentId))] }),
    ),
    endpoint(routes.traceMessage, async ({ params, query }) => {
      const found = await trace.find(params.agentId, params.messageId, query.channel);
      if (!found) throw new GatewayError("NOT_FOUND", "No message of this agent's channels has this id.");
      return json(found);
    }),
    endpoint(routes.allowInChannel, async ({ params, body }) => {
      const { channel, id, kind, account_id } = body;
      await allow({ agentId: params.agentId, channel, account: account_id ?? "" }, kind, id);
      return json({ ok: true as const });
    }),
  ];
}
