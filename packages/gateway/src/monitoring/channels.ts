import { createCounter, createGauge, type Family } from "./families.ts";

/** Current state of a channel's connection. */
export interface ChannelReport {
  agentId: string;
  channel: string;
  /** Account of `devicechat`; empty elsewhere. */
  account: string;
  connected: boolean;
  lastInboundAt: number | null;
  lastOutboundAt: number | null;
  lastError: string | null;
  /** Messages waiting for their turn, and replies waiting to be sent. */
  queued: number;
  /** Replies that may or may not have arrived and were not sent again. */
  unknown: number;
}

const PLACE = ["agent", "channel", "account"] as const;
const labels = ({ agentId, channel, account }: Pick<ChannelReport, "agentId" | "channel" | "account">) => [
  agentId,
  channel,
  account,
];

/** The channels' counters since the start, and their current state. `reports` covers only enabled channels. */
export function createChannelMetrics(reports: () => Promise<readonly ChannelReport[]>) {
  const received = createCounter(
    "agent_gateway_channel_messages_received_total",
    "Channel messages that were stored.",
    PLACE,
  );
  const denied = createCounter(
    "agent_gateway_channel_messages_denied_total",
    "Channel messages that the access rules denied.",
    PLACE,
  );
  const deliveries = createCounter(
    "agent_gateway_channel_deliveries_total",
    "Delivery attempts, by outcome.",
    [...PLACE, "state"],
  );
  const reconnects = createCounter(
    "agent_gateway_channel_reconnects_total",
    "Connections that were lost and reconnected.",
    PLACE,
  );
  const counters: Family[] = [received, denied, deliveries, reconnects];
  type Place = Pick<ChannelReport, "agentId" | "channel" | "account">;

  return {
    /** A message was stored. */
    received: (place: Place) => received.add(1, ...labels(place)),
    /** The access rules denied a stored message. */
    denied: (place: Place) => denied.add(1, ...labels(place)),
    /** A delivery attempt ended: `sent`, `retry`, `markup`, `failed`, `unknown`. */
    delivered: (place: Place, state: string) => deliveries.add(1, ...labels(place), state),
    /** A connection was lost and is reconnecting. */
    reconnected: (place: Place) => reconnects.add(1, ...labels(place)),

    /** Metrics of the moment. */
    async families(): Promise<Family[]> {
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
          "Messages waiting for their turn, and replies waiting to be sent.",
          ({ queued }) => queued,
        ),
        gauge(
          "agent_gateway_channel_unknown_deliveries",
          "Replies of the last 30 days that may or may not have arrived.",
          ({ unknown }) => unknown,
        ),
        gauge(
          "agent_gateway_channel_last_inbound_timestamp_seconds",
          "When the provider was last heard from; 0 for never.",
          ({ lastInboundAt }) => (lastInboundAt ?? 0) / 1000,
        ),
      ];
      return [...counters, ...gauges];
    },

    /** `channels` of each agent in `/status`, by name; a channel's accounts are combined there. */
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

/** A channel with several accounts is connected if one of them is. */
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
