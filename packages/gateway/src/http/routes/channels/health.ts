import { type ChannelState, type Delivery, GatewayError, routes, type Trace } from "@agent-gateway/contract";
import { type Endpoint, endpoint, json } from "../../endpoint.ts";

type Channel = ChannelState["channel"];

export interface ChannelHealthRouteDeps {
  channels: { list(agentId: string): readonly ChannelState[] | Promise<readonly ChannelState[]> };
  deliveries: {
    list(
      agentId: string,
      which: { state?: Delivery["state"] | undefined; limit: number },
    ): Promise<Delivery[]>;
    /** Rejects with `NOT_FOUND` or `CONFLICT`. */
    sendAgain(agentId: string, id: number): Promise<void>;
  };
  trace: { find(agentId: string, id: string, channel?: Channel): Promise<Trace | undefined> };
  /**
   * Adds an id to the list of users or groups. `account` is empty for the agent's first.
   * Rejects with `INVALID_REQUEST` for an impossible id or account.
   */
  allow(
    place: { agentId: string; channel: Channel; account: string },
    kind: "user" | "group",
    id: string,
  ): Promise<void>;
}

/** State of the channels, delivery outcomes, and adding to an allowlist directly. */
export function channelHealthRoutes(deps: ChannelHealthRouteDeps): Endpoint[] {
  const { channels, deliveries, trace, allow } = deps;
  return [
    endpoint(routes.listChannels, async ({ params }) =>
      json({ channels: [...(await channels.list(params.agentId))] }),
    ),
    endpoint(routes.traceMessage, async ({ params, query }) => {
      const found = await trace.find(params.agentId, params.messageId, query.channel);
      if (!found) throw new GatewayError("NOT_FOUND", "This agent's channels have no message with this id.");
      return json(found);
    }),
    endpoint(routes.listDeliveries, async ({ params, query }) =>
      json({ deliveries: await deliveries.list(params.agentId, query) }),
    ),
    endpoint(routes.sendDeliveryAgain, async ({ params }) => {
      await deliveries.sendAgain(params.agentId, Number(params.id));
      return json({ ok: true as const });
    }),
    endpoint(routes.allowInChannel, async ({ params, body }) => {
      const { channel, id, kind, account_id } = body;
      await allow({ agentId: params.agentId, channel, account: account_id ?? "" }, kind, id);
      return json({ ok: true as const });
    }),
  ];
}
