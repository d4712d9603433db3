import { join } from "node:path";
import type { AgentConfig } from "../config/index.ts";
import { type Clock, sleep } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { createMutex } from "../lib/mutex.ts";
import type { Store } from "../store/index.ts";
import { WEBHOOK_PROOF_MS } from "./health.ts";
import { connectionKey, placeKey, placesOf } from "./place.ts";
import { type ConnectionState, supervise } from "./supervisor.ts";
import type {
  AdapterContext,
  AdapterFactory,
  ChannelAdapter,
  ChannelName,
  ChannelPlace,
  InboundMessage,
} from "./types.ts";

/** A connection that has not closed by then is left behind: the other channels wait for it. */
const CLOSE_MS = 10_000;
/** Pauses between attempts to create an adapter. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 60_000;

export interface AdaptersDeps {
  store: Pick<Store, "positions" | "forAgent">;
  clock: Clock;
  log: Logger;
  agents(): readonly AgentConfig[];
  publicUrl(): string | undefined;
  tempDir: string;
  commands: AdapterContext["commands"];
  /** Those that the agent has besides. */
  ownCommands(agent: AgentConfig, channel: ChannelName): Promise<AdapterContext["commands"]>;
  publicLink(agentId: string, path: string): Promise<string | undefined>;
  /** Loads a channel's code, with its provider's library. */
  load(channel: ChannelName): Promise<AdapterFactory>;
  receive(place: ChannelPlace, messages: readonly InboundMessage[]): Promise<void>;
  onReconnect(place: ChannelPlace): void;
  /** Called when a place's connection has come alive, or is lost. */
  onConnected(place: ChannelPlace, connected: boolean): void;
  /** Called when an adapter becomes available: work that waited for it can continue. Never throws. */
  onReady(place: ChannelPlace, agent: AgentConfig): void;
}

interface Slot {
  place: ChannelPlace;
  /** The settings that the connection was made with. */
  key: string;
  state: ConnectionState;
  adapter: ChannelAdapter | undefined;
  /** Failed attempts to create the adapter. */
  failures: number;
  /** Cancels the next attempt. */
  cancel(): void;
  /** Ends the connection and frees the adapter. */
  close(): Promise<void>;
}

/** The adapters of all agents: created, supervised and replaced as the configuration changes. */
export function createAdapters(deps: AdaptersDeps) {
  const { store, clock, log } = deps;
  const slots = new Map<string, Slot>();
  const oneByOne = createMutex();
  let closed = false;
  /** Asked for, and not begun. */
  let waiting: Promise<void> | undefined;

  const stateDir = (agent: AgentConfig, { channel, account }: ChannelPlace) =>
    join(agent.workspace, `.${channel}-state`, ...(account === "" || account === "default" ? [] : [account]));

  const logOf = (agentId: string, { channel, account }: ChannelPlace) =>
    log.child({ agent: agentId, channel, ...(account && { account }) });
  const isCurrent = (slot: Slot) => slots.get(placeKey(slot.place)) === slot;

  /** Creates the adapter of a slot and connects it. */
  const begin = async (slot: Slot, agent: AgentConfig): Promise<void> => {
    const { place, state } = slot;
    const own = logOf(agent.id, place);
    const create = await deps.load(place.channel);
    const adapter = await create({
      place,
      agent,
      stateDir: stateDir(agent, place),
      publicUrl: deps.publicUrl(),
      tempDir: deps.tempDir,
      publicLink: (path) => deps.publicLink(agent.id, path),
      commands: [...deps.commands, ...(await deps.ownCommands(agent, place.channel))],
      clock,
      log: own,
    });
    try {
      const units = store.forAgent(agent.id);
      let position = await store.positions.get(place);
      state.lastError = null;
      const end = adapter.connect
        ? supervise({
            adapter,
            clock,
            log: own,
            state,
            receive: (messages) => deps.receive(place, messages),
            position: () => position,
            savePosition: async (value) => {
              await units.commit(store.positions.save(place, value));
              position = value;
            },
            onReconnect: () => deps.onReconnect(place),
          })
        : restoreProof(state, Number(position ?? 0), clock.now());
      slot.close = async () => {
        slot.adapter = undefined;
        await end();
        await adapter.close();
      };
      slot.adapter = adapter;
    } catch (error) {
      await adapter.close();
      throw error;
    }
  };

  /** Attempts to create a slot's adapter until it succeeds or the slot is dropped. */
  const attempt = async (slot: Slot, known: AgentConfig): Promise<void> => {
    slot.cancel();
    const agent = deps.agents().find(({ id }) => id === known.id) ?? known;
    try {
      await begin(slot, agent);
    } catch (error) {
      slot.state.lastError = "Could not start the channel; see the log for the reason. Still trying.";
      const backoff = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(slot.failures, 10));
      const failures = ++slot.failures;
      logOf(agent.id, slot.place).error({ err: error, failures }, "could not start the channel");
      // With jitter, so that many channels do not resume at the same moment.
      slot.cancel = clock.after(backoff * (0.75 + Math.random() / 4), () => void again(slot, agent));
      return;
    }
    deps.onReady(slot.place, agent);
  };
  const again = (slot: Slot, agent: AgentConfig) =>
    oneByOne(async () => {
      if (!closed && isCurrent(slot) && !slot.adapter) await attempt(slot, agent);
    });

  const open = async (agent: AgentConfig, place: ChannelPlace): Promise<Slot> => {
    const slot: Slot = {
      place,
      key: connectionKey(agent, place, deps.publicUrl()),
      state: watchedState((connected) => deps.onConnected(place, connected)),
      adapter: undefined,
      failures: 0,
      cancel: () => {},
      close: async () => {},
    };
    slots.set(placeKey(place), slot);
    await attempt(slot, agent);
    return slot;
  };

  const drop = async (key: string) => {
    const slot = slots.get(key);
    slots.delete(key);
    if (!slot) return;
    slot.cancel();
    const closing = slot.close().catch((error) => log.error({ err: error }, "could not close a channel"));
    const cancelled = new AbortController();
    const late = sleep(clock, CLOSE_MS, cancelled.signal).then(() => "late" as const);
    if ((await Promise.race([closing, late])) === "late") {
      log.warn({ ...slot.place }, "a channel did not close in time; continuing without it");
    }
    cancelled.abort();
  };

  return {
    /** Updates the adapters to match the configuration. Never rejects. */
    reconfigure(): Promise<void> {
      waiting ??= oneByOne(async () => {
        waiting = undefined;
        if (closed) return;
        const wanted = new Map(
          deps
            .agents()
            .flatMap((agent) => placesOf(agent).map((place) => [placeKey(place), { agent, place }] as const)),
        );
        const stale = [...slots].filter(([key, slot]) => {
          const want = wanted.get(key);
          return !want || connectionKey(want.agent, want.place, deps.publicUrl()) !== slot.key;
        });
        await Promise.all(stale.map(([key]) => drop(key)));
        const missing = [...wanted].filter(([key]) => !slots.has(key));
        await Promise.all(missing.map(([, { agent, place }]) => open(agent, place)));
      });
      return waiting;
    },
    /** The adapter of a place that need not be configured: an account that is about to be linked. */
    require: (agent: AgentConfig, place: ChannelPlace): Promise<ChannelAdapter | undefined> =>
      oneByOne(async () => {
        const slot = slots.get(placeKey(place));
        if (!slot) return (await open(agent, place)).adapter;
        if (!slot.adapter) await attempt(slot, agent);
        return slot.adapter;
      }),
    drop: (place: ChannelPlace) => oneByOne(() => drop(placeKey(place))),
    get: (place: ChannelPlace): ChannelAdapter | undefined => slots.get(placeKey(place))?.adapter,
    state: (place: ChannelPlace): ConnectionState | undefined => slots.get(placeKey(place))?.state,
    /** Ends every connection: no new messages arrive, but those already accepted can still be answered. */
    close: () =>
      oneByOne(async () => {
        closed = true;
        await Promise.all([...slots.keys()].map(drop));
      }),
  };
}

/** For a channel whose provider calls the gateway: proof from before a restart still counts. */
function restoreProof(state: ConnectionState, provenAt: number, now: number): () => Promise<void> {
  state.lastAliveAt = provenAt || null;
  state.until = provenAt + WEBHOOK_PROOF_MS;
  state.connected = now < state.until;
  return async () => {
    state.connected = false;
  };
}

/** The state of a new connection, which reports when it changes between connected and not. */
function watchedState(onChange: (connected: boolean) => void): ConnectionState {
  let connected = false;
  return {
    get connected() {
      return connected;
    },
    set connected(value) {
      if (value === connected) return;
      connected = value;
      onChange(value);
    },
    lastAliveAt: null,
    until: null,
    lastError: null,
    attempts: 0,
  };
}
export type Adapters = ReturnType<typeof createAdapters>;
