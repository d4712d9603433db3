import type { ChannelState } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { Store } from "../store/index.ts";
import type { Database } from "../store/sqlite/index.ts";
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
  queued(place: ChannelPlace): number;
  /** Replies with an unknown outcome. */
  unknown(place: ChannelPlace): number;
}

/** The last proof of life of each channel. */
export function createHealth({ db, store, clock }: { db: Database; store: Store; clock: Clock }) {
  const inbound = new Map<string, number>();
  const outbound = new Map<string, { at: number | null; error: string | null }>();
  const saved = new Map<string, number>();

  const latest = (table: "inbox" | "outbox", { agentId, channel, account }: ChannelPlace): number | null => {
    // Only the channel's newest rows are checked, which the index returns without reading all of them.
    const column = table === "inbox" ? "received_at" : "settled_at";
    const sent = table === "inbox" ? "" : "AND state = 'sent'";
    const rows = db.all<{ at: number }>(
      `SELECT ${column} AS at FROM channel_${table}
       WHERE agent_id = ? AND channel = ? AND account = ? ${sent} ORDER BY id DESC LIMIT 1`,
      [agentId, channel, account],
    );
    return rows[0]?.at ?? null;
  };

  const facts = (place: ChannelPlace, sources: HealthSources): Facts => {
    const key = placeKey(place);
    const state = sources.state(place);
    if (!inbound.has(key)) inbound.set(key, latest("inbox", place) ?? 0);
    if (!outbound.has(key)) outbound.set(key, { at: latest("outbox", place), error: null });
    const out = outbound.get(key)!;
    return {
      connected: state?.connected === true && (state.until === null || clock.now() < state.until),
      lastInboundAt: inbound.get(key) || null,
      lastOutboundAt: out.at,
      lastError: state?.lastError ?? out.error,
      queued: sources.queued(place),
      unknown: sources.unknown(place),
    };
  };

  const newest = (values: ReadonlyArray<number | null>) => {
    const times = values.filter((value) => value !== null);
    return times.length > 0 ? Math.max(...times) : null;
  };

  const ofChannel = (agent: AgentConfig, channel: ChannelName, sources: HealthSources) => {
    const of = (account: string) => facts({ agentId: agent.id, channel, account }, sources);
    if (channel !== "devicechat") return of("");
    const accounts = deviceAccounts(agent).map((id) => ({ id, ...of(id) }));
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
      const before = outbound.get(placeKey(place)) ?? { at: latest("outbox", place), error: null };
      outbound.set(
        placeKey(place),
        outcome.status === "sent"
          ? { at: clock.now(), error: null }
          : { ...before, error: outcome.status === "markup" ? before.error : outcome.reason },
      );
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
      store.commit(store.positions.save(place, String(now))).catch(() => saved.delete(key));
    },
    /** Account that received the latest message of a chat. */
    lastInboundAccount(agentId: string, channel: ChannelName, chatId: string): string | undefined {
      return db.all<{ account: string }>(
        `SELECT account FROM channel_inbox WHERE agent_id = ? AND channel = ? AND chat_id = ?
         ORDER BY id DESC LIMIT 1`,
        [agentId, channel, chatId],
      )[0]?.account;
    },
    /** Each place separately. */
    reports: (places: readonly ChannelPlace[], sources: HealthSources) =>
      places.map((place) => ({ ...place, ...facts(place, sources) })),
    list: (agent: AgentConfig, sources: HealthSources): ChannelState[] =>
      CHANNELS.map((channel) => ({
        channel,
        enabled: isEnabled(agent, channel),
        configured: isConfigured(agent, channel),
        ...ofChannel(agent, channel, sources),
      })),
  };
}
