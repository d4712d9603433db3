import { type ChannelState, type Delivery, GatewayError, routes, type Trace } from "@agent-gateway/contract";
import type { Access } from "../../../channels/index.ts";
import type { AgentConfig } from "../../../config/index.ts";
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
  access(): Promise<Pick<Access, "allow">>;
  /** @throws GatewayError `AGENT_NOT_FOUND` */
  requireAgent(agentId: string): AgentConfig;
}

/** State of the channels, delivery outcomes, and adding to an allowlist directly. */
export function channelHealthRoutes(deps: ChannelHealthRouteDeps): Endpoint[] {
  const { channels, deliveries, trace, access, requireAgent } = deps;
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
      const place = { agentId: params.agentId, channel, account: account_id ?? "" };
      await (await access()).allow(place, requireAgent(params.agentId), kind, id);
      return json({ ok: true as const });
    }),
  ];
}
