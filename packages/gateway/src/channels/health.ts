import type { ChannelState } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { Store } from "../store/index.ts";
import { deviceAccounts, isConfigured, isEnabled, placeKey } from "./place.ts";
import type { ConnectionState } from "./supervisor.ts";
import { CHANNELS, type ChannelName, type ChannelPlace, type SendOutcome } from "./types.ts";

/** A provider that calls the gateway keeps no connection; one valid call proves that it works for this long. */
export const WEBHOOK_PROOF_MS = 24 * 3_600_000;
const SAVE_EVERY_MS = 60_000;

type Facts = Pick<
  ChannelState,
  "connected" | "lastInboundAt" | "lastOutboundAt" | "lastError" | "queued" | "unknown"
>;

/** Sources of what is known about the places. */
export interface HealthSources {
  state(place: ChannelPlace): ConnectionState | undefined;
  /** Messages that wait for their turn, and replies that wait to be sent. */
  queued(place: ChannelPlace): Promise<number>;
  /** Replies with an unknown outcome. */
  unknown(place: ChannelPlace): Promise<number>;
}

/** The last proof of life of each channel. */
export function createHealth({
  store,
  clock,
}: {
  store: Pick<Store, "inbox" | "outbox" | "positions" | "forAgent">;
  clock: Clock;
}) {
  /** When the latest message of each place came in and went out; absent until read, null if there is none. */
  const inbound = new Map<string, number | null>();
  const outbound = new Map<string, number | null>();
  const errors = new Map<string, string | null>();
  const saved = new Map<string, number>();

  /** What the store knows counts only while nothing newer has happened. */
  const remembered = async (
    known: Map<string, number | null>,
    key: string,
    read: () => Promise<number | undefined>,
  ): Promise<void> => {
    if (known.has(key)) return;
    const at = (await read()) ?? null;
    if (!known.has(key)) known.set(key, at);
  };

  const facts = async (place: ChannelPlace, sources: HealthSources): Promise<Facts> => {
    const key = placeKey(place);
    const [queued, unknown] = await Promise.all([
      sources.queued(place),
      sources.unknown(place),
      remembered(inbound, key, () => store.inbox.lastReceivedAt(place)),
      remembered(outbound, key, () => store.outbox.lastSentAt(place)),
    ]);
    // All that is in memory is told as it is now, after the reads.
    const state = sources.state(place);
    return {
      connected: state?.connected === true && (state.until === null || clock.now() < state.until),
      lastInboundAt: inbound.get(key) ?? null,
      lastOutboundAt: outbound.get(key) ?? null,
      lastError: state?.lastError ?? errors.get(key) ?? null,
      queued,
      unknown,
    };
  };

  const newest = (values: ReadonlyArray<number | null>) => {
    const times = values.filter((value) => value !== null);
    return times.length > 0 ? Math.max(...times) : null;
  };

  const ofChannel = async (agent: AgentConfig, channel: ChannelName, sources: HealthSources) => {
    const of = (account: string) => facts({ agentId: agent.id, channel, account }, sources);
    if (channel !== "devicechat") return of("");
    const accounts = await Promise.all(deviceAccounts(agent).map(async (id) => ({ id, ...(await of(id)) })));
    return {
      connected: accounts.some(({ connected }) => connected),
      lastInboundAt: newest(accounts.map(({ lastInboundAt }) => lastInboundAt)),
      lastOutboundAt: newest(accounts.map(({ lastOutboundAt }) => lastOutboundAt)),
      lastError: accounts.find(({ lastError }) => lastError !== null)?.lastError ?? null,
      queued: accounts.reduce((sum, { queued }) => sum + queued, 0),
      unknown: accounts.reduce((sum, { unknown }) => sum + unknown, 0),
      accounts,
    };
  };

  return {
    onInbound(place: ChannelPlace) {
      inbound.set(placeKey(place), clock.now());
    },
    onOutcome(place: ChannelPlace, outcome: SendOutcome) {
      const key = placeKey(place);
      if (outcome.status === "sent") {
        outbound.set(key, clock.now());
        errors.set(key, null);
      } else if (outcome.status !== "markup") errors.set(key, outcome.reason);
    },
    /** A valid call of the provider; saved across restarts, at most once a minute. */
    prove(place: ChannelPlace, state: ConnectionState) {
      const now = clock.now();
      state.connected = true;
      state.lastAliveAt = now;
      state.until = now + WEBHOOK_PROOF_MS;
      state.lastError = null;
      const key = placeKey(place);
      const passed = clock.elapsed();
      if (passed - (saved.get(key) ?? Number.NEGATIVE_INFINITY) < SAVE_EVERY_MS) return;
      saved.set(key, passed);
      const units = store.forAgent(place.agentId);
      units.commit(store.positions.save(place, String(now))).catch(() => saved.delete(key));
    },
    /** Each place separately. */
    reports: (places: readonly ChannelPlace[], sources: HealthSources) =>
      Promise.all(places.map(async (place) => ({ ...place, ...(await facts(place, sources)) }))),
    list: (agent: AgentConfig, sources: HealthSources): Promise<ChannelState[]> =>
      Promise.all(
        CHANNELS.map(async (channel) => ({
          channel,
          enabled: isEnabled(agent, channel),
          configured: isConfigured(agent, channel),
          ...(await ofChannel(agent, channel, sources)),
        })),
      ),
  };
}
export type Health = ReturnType<typeof createHealth>;
