import { rm } from "node:fs/promises";
import type { ChannelState } from "@agent-gateway/contract";
import { once } from "../lib/once.ts";
import type { Access, AccessDeps } from "./access/index.ts";
import { createHealth, type HealthSources } from "./health.ts";
import { deviceAccounts, placesOf } from "./place.ts";
import type { Room, RoomDeps } from "./room.ts";
import type { createTrace } from "./trace.ts";
import { CHANNELS, type ChannelName, type ChannelPlace } from "./types.ts";

export type { Access, FileChannel, Knock, SenderChannel } from "./access/index.ts";
export { imageFile } from "./attachment.ts";
export {
  accountsOf,
  createDeviceAccounts,
  type DeviceAccounts,
  noAccount,
  onlyAccount,
} from "./device-accounts.ts";
export { replyTool } from "./device-tool.ts";
export type { DeviceAdapter } from "./devicechat/index.ts";
export { checkToken } from "./load.ts";
export { deviceAccounts } from "./place.ts";
export type { Posted, Posts, PostTarget } from "./posts.ts";
export type { ChannelStep } from "./steps.ts";
export * from "./types.ts";
export { WEBHOOKS } from "./webhooks.ts";

/** The access rules, loaded by the first message or request that needs them. */
export function createAccess(deps: AccessDeps) {
  const load = once(async () => (await import("./access/index.ts")).createAccess(deps));
  return {
    load,
    /** Resolves when all writes are done. */
    close: async () => (await load.begun)?.close(),
  };
}

export interface ChannelsDeps extends Omit<RoomDeps, "access" | "health"> {
  access(): Promise<Access>;
}

type Trace = ReturnType<typeof createTrace>;

const SWEEP_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Providers repeat events for a few hours at most; rows of answered messages are kept longer, for their trace. */
const KEEP_MS = 30 * DAY_MS;
const KEEP_DENIED_MS = 3 * DAY_MS;

/**
 * The chat channels. What does their work (`room.ts`) is loaded when an agent has a channel, when the database has
 * messages that are not settled, or by the first request that needs it.
 */
export function createChannels(deps: ChannelsDeps) {
  const { store, clock, log } = deps;
  const { inbox, outbox } = store;
  const health = createHealth({ store, clock });
  let recovered = false;
  let started = false;
  let stopped = false;

  const room = once(async (): Promise<Room> => {
    const [{ createRoom }, access] = await Promise.all([import("./room.ts"), deps.access()]);
    const made = createRoom({ ...deps, access, health });
    // What happened while it was being loaded.
    if (recovered) made.recovered();
    if (stopped) made.stopIntake();
    return made;
  });
  const trace = once(async (): Promise<Trace> => (await import("./trace.ts")).createTrace(store));

  const isWanted = () =>
    room.begun !== undefined ||
    deps.agents().some((agent) => CHANNELS.some((channel) => agent[channel]?.enabled === true));
  /** Does something with the room if there is a use for it. Never rejects. */
  const withRoom = async (use: (room: Room) => Promise<void>): Promise<void> => {
    if (!isWanted()) return;
    try {
      await use(await room());
    } catch (error) {
      log.error({ err: error }, "could not load the channels; restart the gateway");
    }
  };
  // While the rest of the gateway starts; what fails is told by whoever needs it.
  if (isWanted()) room().catch(() => {});

  const agentOf = (id: string) => deps.agents().find((entry) => entry.id === id);
  const sources: HealthSources = {
    state: (place) => room.made?.state(place),
    async queued(place) {
      const [coming, going] = await Promise.all([inbox.queued(place), outbox.queued(place)]);
      return coming + going;
    },
    unknown: outbox.unknown,
  };
  /** State of an agent's channels. */
  const list = async (agentId: string): Promise<ChannelState[]> => {
    const config = agentOf(agentId);
    if (!config) return [];
    const [states, access] = await Promise.all([health.list(config, sources), deps.access()]);
    return Promise.all(
      states.map(async (state) => {
        const problem = await access.problem({ agentId, channel: state.channel, account: "" }, config);
        return problem === undefined ? state : { ...state, lastError: problem };
      }),
    );
  };

  const abandon = (which: { agentId: string } | { before: number }, why: string) => [
    inbox.abandon(which, clock.now(), why),
    outbox.abandon(which, clock.now(), why),
  ];
  const abandonAll = (agentId: string) => abandon({ agentId }, "The agent was removed.");
  const forgetOld = () => [
    inbox.forget(clock.now() - KEEP_MS, clock.now() - KEEP_DENIED_MS),
    outbox.forget(clock.now() - KEEP_MS),
    // For example, those of an agent that has been missing from the configuration all this time.
    ...abandon({ before: clock.now() - KEEP_MS }, "It has waited too long."),
  ];

  return {
    receive: async (...message: Parameters<Room["receive"]>) => (await room()).receive(...message),
    receipt: async (...report: Parameters<Room["receipt"]>) => (await room()).receipt(...report),
    /** A request with a valid signature arrived: the provider can reach the gateway. */
    proven: (place: ChannelPlace) => void withRoom(async ({ proven }) => proven(place)),
    /** Changes for a turn that a crash cut off, if it answered a message of a channel. */
    cutOff: async (turn: Parameters<Room["cutOff"]>[0]) =>
      (await inbox.ofTurn(turn.requestId)).length > 0 ? (await room()).cutOff(turn) : [],
    /** Sends a line to the chat of a running turn, in addition to the reply. */
    say: (requestId: string, line: string) => room.made?.say(requestId, line),
    trace: { find: async (...message: Parameters<Trace["find"]>) => (await trace()).find(...message) },
    deliveries: {
      list: async (...which: Parameters<Room["deliveries"]["list"]>) =>
        (await room()).deliveries.list(...which),
      sendAgain: async (...which: Parameters<Room["deliveries"]["sendAgain"]>) =>
        (await room()).deliveries.sendAgain(...which),
    },
    /** Sends what no message of a chat has asked for. */
    posts: async () => (await room()).posts,
    adapter: (place: ChannelPlace) => room.made?.adapter(place),
    /** The adapter of an account that may not be configured yet, created and supervised from now on. */
    requireAdapter: async (...which: Parameters<Room["requireAdapter"]>) =>
      (await room()).requireAdapter(...which),
    dropAdapter: async (place: ChannelPlace) => (await room()).dropAdapter(place),
    /** Sends at once and reports the outcome; never retried. */
    sendNow: async (...message: Parameters<Room["sendNow"]>) => (await room()).sendNow(...message),
    /** Splits a text into parts within the channel's limit, in order. */
    split: async (channel: ChannelName, text: string) => (await room()).split(channel, text),
    /** Account that received the latest message of a chat. */
    lastInboundAccount: async (agentId: string, channel: ChannelName, chatId: string) =>
      (await inbox.lastOf({ agent_id: agentId, channel, chat_id: chatId }))?.account,

    list,
    /** State and policy of each channel, for the agent's record. */
    async view(agentId: string) {
      const config = agentOf(agentId);
      if (!config) return {};
      const access = await deps.access();
      const entries = (await list(agentId)).map(async ({ channel, enabled, connected }) => {
        const account = channel === "devicechat" ? deviceAccounts(config)[0]! : "";
        const policy = await access.policyOf({ agentId, channel, account }, config);
        return [channel, { enabled, connected, ...policy }] as const;
      });
      return Object.fromEntries(await Promise.all(entries));
    },
    /** Every connection of an enabled channel, for monitoring. */
    reports: () => health.reports(deps.agents().flatMap(placesOf), sources),

    /**
     * Decides about what a crash, or the last owner of an agent, left behind; runs before anything else accepts a message.
     */
    async recover(agentId?: string, former = true) {
      const open = await Promise.all([inbox.hasOpen(agentId), outbox.hasOpen(agentId)]);
      if (isWanted() || open.includes(true)) await (await room()).recover(agentId, former);
    },
    recovered() {
      recovered = true;
      room.made?.recovered();
    },
    /** Takes up what another gateway has stored for agents of this one. */
    lookAgain: () => room.made?.lookAgain(),
    /** Deletes old messages. */
    housekeeping: { everyMs: SWEEP_MS, changes: forgetOld },
    /** Connects everything that is configured. */
    async start() {
      started = true;
      await rm(deps.tempDir, { recursive: true, force: true }).catch(() => {});
      await withRoom((loaded) => loaded.start());
    },
    /** Applies a changed configuration. */
    async reconfigure() {
      // What begins before `recover` has ended would be taken for something that a crash cut off; `start` applies what
      // is configured by then.
      if (started) await withRoom((loaded) => loaded.reconfigure());
    },
    abandonAll,
    /** Closes waiting messages of an agent that is removed for good; one merely missing from the file keeps its messages. */
    async removeAgent(agentId: string) {
      await store.forAgent(agentId).commit(...abandonAll(agentId));
    },
    /** Accepts nothing more; running turns are not affected. */
    stopIntake() {
      stopped = true;
      room.made?.stopIntake();
    },
    /** Runs after the turns have ended: their replies may still go out for a moment, then every connection ends. */
    close: async () => (await room.begun?.catch(() => undefined))?.close(),
  };
}
export type Channels = ReturnType<typeof createChannels>;
