import { type FeedEvent, GatewayError } from "@agent-gateway/contract";
import type { ConfigStore } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Change, EventFilter, Store, StoredEvent } from "../store/index.ts";
import { agentChanges } from "./config-changes.ts";
import { createSequencer, pruneEvents } from "./sequencer.ts";
import type { Told } from "./told.ts";

export type { Told };

/** A numbered event, as the feed shows it. */
export interface Numbered {
  seq: number;
  event: FeedEvent;
}

/** What a reader may see, and wants to. */
export type { EventFilter } from "../store/index.ts";

export interface Page {
  events: Numbered[];
  /** True when more events up to `upTo` follow. */
  more: boolean;
  /** Everything up to this number has been considered. */
  upTo: number;
}

/** The feed of what happens. */
export interface Feed {
  /** The change that tells an event, to be committed with what makes it true. */
  event(told: Told): Change;
  /** Tells events that no row makes true, in their order. Never throws; a failure is logged. */
  tell(...told: readonly Told[]): void;
  /** What is told of the channels. */
  channels: { connected(place: Place, connected: boolean): void; knocked(place: Place): void };
  /** The newest number; 0 before the first. */
  last(): Promise<number>;
  /**
   * Events after a number, oldest first.
   * @throws GatewayError `EVENTS_GONE` when some of them are no longer kept, `CURSOR_AHEAD` for a number not given yet
   */
  after(after: number, limit: number, filter: EventFilter): Promise<Page>;
  /** The latest events, oldest first. */
  latest(limit: number, filter: EventFilter): Promise<Page>;
  /** Called when there are new events, and once more, with `closing`, when the feed ends. */
  follow(listener: (closing: boolean) => void): () => void;
  /** Removes what became too old while little happened. */
  housekeeping: { everyMs: number; changes(): readonly Change<unknown>[] };
  /** Wakes the readers if others that share the store have numbered events. */
  lookAgain(): Promise<void>;
  /** Numbers what a crash left without a number. */
  start(): void;
  /** Tells the last event and ends the streams; events that follow are stored for the next start. */
  end(told: Told): Promise<void>;
  close(): void;
}

/** One account of a channel of an agent. */
interface Place {
  agentId: string;
  channel: string;
  account: string;
}

const SWEEP_MS = 600_000;
const SWEEP_BATCH = 10_000;

const shown = ({ seq, type, at, agentId, data, text, cut }: StoredEvent): Numbered => ({
  seq,
  event: {
    id: `evt_${seq}`,
    type,
    timestamp: new Date(at).toISOString(),
    data: {
      ...(agentId !== null && { agentId }),
      ...data,
      ...(text !== null && { text }),
      ...(cut && { truncated: true as const }),
    },
  },
});

export interface FeedDeps {
  store: Pick<Store, "events" | "commit" | "onEvents">;
  /** Its changes are told. */
  config: Pick<ConfigStore, "onChange" | "onReload">;
  clock: Clock;
  log: Logger;
}

export function createFeed({ store, config, clock, log }: FeedDeps): Feed {
  const listeners = new Set<(closing: boolean) => void>();
  /** The newest number that was looked for. */
  let seen = 0;
  const announce = (closing: boolean) => {
    for (const listener of listeners) listener(closing);
  };
  const sequencer = createSequencer({ store, clock, log, onNumbered: () => announce(false) });
  const stopListening = store.onEvents(sequencer.wake);
  const { events } = store;

  const event = (told: Told) => events.add({ ...told, at: clock.now() });
  const keep = async (told: readonly Told[]) => {
    if (told.length === 0) return;
    try {
      await store.commit(...told.map(event));
    } catch (error) {
      log.warn({ err: error, types: told.map(({ type }) => type) }, "could not store events");
    }
  };
  const pageOf = (found: StoredEvent[], limit: number, upTo: number): Page => {
    const more = found.length > limit;
    const rows = more ? found.slice(0, limit) : found;
    return { events: rows.map(shown), more, upTo: more ? rows.at(-1)!.seq : upTo };
  };

  const tell = (...told: readonly Told[]) => void keep(told);
  const tellOf = (what: "connected" | "disconnected" | "knock", { agentId, channel, account }: Place) =>
    tell({
      type: `channel.${what}`,
      agentId,
      data: { channel, ...(account !== "" && { accountId: account }) },
    });
  config.onChange((next, previous) => tell(...agentChanges(next, previous)));
  config.onReload((errors) =>
    tell(
      errors.length > 0
        ? { type: "config.refused", data: { problems: errors.length } }
        : { type: "config.reloaded" },
    ),
  );

  return {
    event,
    tell,
    channels: {
      connected: (place, connected) => tellOf(connected ? "connected" : "disconnected", place),
      knocked: (place) => tellOf("knock", place),
    },
    last: async () => (await events.bounds()).last,
    async after(after, limit, filter) {
      // Read first, so that nothing up to here can be missing from what is read next.
      const { last } = await events.bounds();
      if (after > last) throw new GatewayError("CURSOR_AHEAD");
      const found = await events.after(after, last, limit + 1, filter);
      // Read last: some may have been removed meanwhile.
      const { removed } = await events.bounds();
      if (after < removed)
        throw new GatewayError("EVENTS_GONE", undefined, { extra: { oldest: removed + 1 } });
      return pageOf(found, limit, last);
    },
    async latest(limit, filter) {
      const { last } = await events.bounds();
      return { events: (await events.latest(last, limit, filter)).map(shown), more: false, upTo: last };
    },
    follow(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    housekeeping: {
      everyMs: SWEEP_MS,
      changes: () => [pruneEvents(store, clock, SWEEP_BATCH)],
    },
    async lookAgain() {
      const { last } = await events.bounds();
      if (last > seen) announce(false);
      seen = Math.max(seen, last);
    },
    start: sequencer.wake,
    async end(told) {
      await keep([told]);
      await sequencer.flush();
      announce(true);
    },
    close() {
      stopListening();
      sequencer.stop();
      listeners.clear();
    },
  };
}
