import { createCounter, createGauge, type Family } from "./families.ts";

/** One connection of a channel as its supervisor knows it now. */
export interface ChannelReport {
  agentId: string;
  channel: string;
  /** Account of `devicechat`; empty elsewhere. */
  account: string;
  connected: boolean;
  lastInboundAt: number | null;
  lastOutboundAt: number | null;
  lastError: string | null;
  /** Messages that wait for their turn, and replies that wait to be sent. */
  queued: number;
  /** Replies of which nobody knows whether they arrived, and that were not sent again. */
  unknown: number;
}

const PLACE = ["agent", "channel", "account"] as const;
const labels = ({ agentId, channel, account }: Pick<ChannelReport, "agentId" | "channel" | "account">) => [
  agentId,
  channel,
  account,
];

/** What channels count since the start, and their state now. `reports` are of enabled channels alone. */
export function createChannelMetrics(reports: () => Promise<readonly ChannelReport[]>) {
  const received = createCounter(
    "agent_gateway_channel_messages_received_total",
    "Messages of channels that were stored.",
    PLACE,
  );
  const denied = createCounter(
    "agent_gateway_channel_messages_denied_total",
    "Messages of channels that the access rules kept from the agent.",
    PLACE,
  );
  const deliveries = createCounter(
    "agent_gateway_channel_deliveries_total",
    "Attempts at sending, by what became of them.",
    [...PLACE, "state"],
  );
  const reconnects = createCounter(
    "agent_gateway_channel_reconnects_total",
    "Connections that ended and were made anew.",
    PLACE,
  );
  const counters: Family[] = [received, denied, deliveries, reconnects];
  type Place = Pick<ChannelReport, "agentId" | "channel" | "account">;

  return {
    /** A message was stored. */
    received: (place: Place) => received.add(1, ...labels(place)),
    /** The rules kept a stored message from the agent. */
    denied: (place: Place) => denied.add(1, ...labels(place)),
    /** An attempt at sending ended: `sent`, `retry`, `markup`, `failed`, `unknown`. */
    delivered: (place: Place, state: string) => deliveries.add(1, ...labels(place), state),
    /** A connection ended and is made anew. */
    reconnected: (place: Place) => reconnects.add(1, ...labels(place)),

    /** Prometheus text. */
    async render(): Promise<string> {
      const now = await reports();
      const gauge = (name: string, help: string, value: (report: ChannelReport) => number) =>
        createGauge(name, help, PLACE, () => now.map((report) => [labels(report), value(report)] as const));
      const gauges = [
        gauge(
          "agent_gateway_channel_connected",
          "1 while a channel's connection is proven alive.",
          (report) => Number(report.connected),
        ),
        gauge(
          "agent_gateway_channel_queue",
          "Messages that wait for their turn, and replies that wait to be sent.",
          ({ queued }) => queued,
        ),
        gauge(
          "agent_gateway_channel_unknown_deliveries",
          "Replies of the last 30 days of which nobody knows whether they arrived.",
          ({ unknown }) => unknown,
        ),
        gauge(
          "agent_gateway_channel_last_inbound_timestamp_seconds",
          "When the provider was last heard of, 0 for never.",
          ({ lastInboundAt }) => (lastInboundAt ?? 0) / 1000,
        ),
      ];
      return [...counters, ...gauges].map((family) => family.render()).join("");
    },

    /** `channels` of each agent in `/status`, by name; several accounts of a channel are one there. */
    async byAgent(): Promise<Map<string, Record<string, ChannelStatus>>> {
      const agents = new Map<string, Record<string, ChannelStatus>>();
      for (const report of await reports()) {
        const channels = agents.get(report.agentId) ?? {};
        const known = channels[report.channel];
        channels[report.channel] = known ? joined(known, report) : statusOf(report);
        agents.set(report.agentId, channels);
      }
      return agents;
    },
  };
}
export type ChannelMetrics = ReturnType<typeof createChannelMetrics>;

type ChannelStatus = Omit<ChannelReport, "agentId" | "channel" | "account"> & { enabled: true };

const statusOf = ({
  connected,
  lastInboundAt,
  lastOutboundAt,
  lastError,
  queued,
  unknown,
}: ChannelReport) => ({
  enabled: true as const,
  connected,
  lastInboundAt,
  lastOutboundAt,
  lastError,
  queued,
  unknown,
});

const latest = (a: number | null, b: number | null) => (a === null || (b !== null && b > a) ? b : a);

/** A channel with several accounts is connected when one of them is. */
function joined(known: ChannelStatus, report: ChannelReport): ChannelStatus {
  return {
    enabled: true,
    connected: known.connected || report.connected,
    lastInboundAt: latest(known.lastInboundAt, report.lastInboundAt),
    lastOutboundAt: latest(known.lastOutboundAt, report.lastOutboundAt),
    lastError: known.lastError ?? report.lastError,
    queued: known.queued + report.queued,
    unknown: known.unknown + report.unknown,
  };
}
