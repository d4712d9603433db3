import { rm } from "node:fs/promises";
import type { ChannelState } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import { bootId } from "../lib/boot-id.ts";
import { type Clock, sleep } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { oneLine } from "../lib/one-line.ts";
import type { Store } from "../store/index.ts";
import { type Adapters, createAdapters } from "./adapters.ts";
import { createDelivery, createJournal, type FeedPort } from "./delivery/index.ts";
import { createHandshakes, type Handshake } from "./handshakes.ts";
import { createHealth } from "./health.ts";
import { createInboundMedia, type InboundMediaPort } from "./inbound-media.ts";
import { createIntake, type IntakeDeps } from "./intake/index.ts";
import { loadChannel } from "./load.ts";
import { deviceAccounts, placesOf } from "./place.ts";
import { splitFor } from "./render/index.ts";
import type { ChannelStep } from "./steps.ts";
import { createTrace } from "./trace.ts";
import type {
  AccessPort,
  ChannelName,
  ChannelPlace,
  Content,
  InboundMessage,
  SendOutcome,
  Target,
} from "./types.ts";

const MAX_NAME_CHARS = 128;

export {
  type Access,
  createAccess,
  type FileChannel,
  type Knock,
  type SenderChannel,
} from "./access/index.ts";
export { imageFile } from "./attachment.ts";
export {
  accountsOf,
  createDeviceAccounts,
  type DeviceAccounts,
  noAccount,
  onlyAccount,
} from "./devicechat/accounts.ts";
export type { DeviceAdapter } from "./devicechat/index.ts";
export { checkToken } from "./load.ts";
export { deviceAccounts } from "./place.ts";
export { splitFor } from "./render/index.ts";
export type { ChannelStep } from "./steps.ts";
export * from "./types.ts";
export { WEBHOOKS } from "./webhooks.ts";

/** Senders choose their own names, which owners see in lists, logs and terminals. */
function withPlainName({ senderName, ...message }: InboundMessage): InboundMessage {
  const name = oneLine(senderName, MAX_NAME_CHARS);
  return { ...message, ...(name !== undefined && { senderName: name }) };
}

/** What the channel rooms need from the access rules. */
export interface ChannelAccess extends AccessPort {
  handshakes(place: ChannelPlace, agent: AgentConfig): Promise<readonly Handshake[]>;
  onApproved(listener: (place: ChannelPlace) => void): () => void;
  /** The place's policy without secrets, for the agent's record. */
  policyOf(place: ChannelPlace, agent: AgentConfig): Promise<object>;
  /** Why no one is admitted, if that is the case. */
  problem(place: ChannelPlace, agent: AgentConfig): Promise<string | undefined>;
}

export interface ChannelsDeps
  extends Pick<IntakeDeps, "sessions" | "parseCommand" | "runCommand" | "commands" | "attachment"> {
  store: Store;
  feed: FeedPort;
  clock: Clock;
  log: Logger;
  agents(): readonly AgentConfig[];
  /** False for an agent of another gateway: what comes in for it is stored, and nothing else. */
  serves(agentId: string): boolean;
  /** Throws while no new data may be stored; a message then stays with its provider. */
  takeSpace(): void;
  publicUrl(): string | undefined;
  publicLink(agentId: string, path: string): Promise<string | undefined>;
  /** File that says which sends had begun when the gateway was killed. */
  journal: string;
  /** Folder for files of a moment. */
  tempDir: string;
  media: InboundMediaPort;
  access: ChannelAccess;
  step(label: ChannelStep): void;
  /** Called when a place's connection has come alive, or is lost. */
  onConnected(place: ChannelPlace, connected: boolean): void;
  /** Counts for monitoring. */
  counters: {
    received(place: ChannelPlace): void;
    denied(place: ChannelPlace): void;
    delivered(place: ChannelPlace, state: string): void;
    reconnected(place: ChannelPlace): void;
  };
}

const SWEEP_MS = 3_600_000;
/** How long connections have to close when the gateway stops. */
const CLOSE_GRACE_MS = 1_500;
const DAY_MS = 86_400_000;
/** Providers repeat events for a few hours at most; rows of answered messages are kept longer, for their trace. */
const KEEP_MS = 30 * DAY_MS;
const KEEP_DENIED_MS = 3 * DAY_MS;

/** Everything between the providers of chat channels and the core's sessions. */
export function createChannels(deps: ChannelsDeps) {
  const { store, clock, access } = deps;
  const log = deps.log;
  const agent = (id: string) => deps.agents().find((entry) => entry.id === id);
  const adapter: Adapters["get"] = (place) => adapters.get(place);
  const health = createHealth({ store, clock });
  const inboundMedia = createInboundMedia({ media: deps.media, clock, log });
  const delivery = createDelivery({
    store,
    feed: deps.feed,
    clock,
    log,
    adapter,
    serves: deps.serves,
    journal: createJournal({ path: deps.journal, boot: bootId, now: () => clock.now() }),
    step: deps.step,
    onOutcome(place, outcome) {
      health.onOutcome(place, outcome);
      deps.counters.delivered(place, outcome.status);
    },
  });
  const intake = createIntake({
    ...deps,
    agent,
    adapter,
    delivery,
    split: splitFor,
    async fetchMedia(own, place, config, message, signal) {
      const { files, notes } = await inboundMedia.fetch(own ?? {}, place, config, message, signal);
      return inboundMedia.describe(files, notes);
    },
    onInbound: health.onInbound,
    onStored: deps.counters.received,
    onDenied: deps.counters.denied,
  });
  const receive: typeof intake.receive = async (place, messages) => {
    deps.takeSpace();
    await intake.receive(place, messages.map(withPlainName));
  };
  const handshakes = createHandshakes({ store, clock, log, delivery, list: access.handshakes });
  const adapters = createAdapters({
    store,
    clock,
    log,
    agents: () => deps.agents().filter(({ id }) => deps.serves(id)),
    publicUrl: deps.publicUrl,
    publicLink: deps.publicLink,
    tempDir: deps.tempDir,
    commands: deps.commands,
    load: loadChannel,
    onReconnect: deps.counters.reconnected,
    onConnected: deps.onConnected,
    receive,
    onReady(place, config) {
      delivery.wakeAll();
      intake.wakeAll();
      void handshakes(place, config);
    },
  });
  access.onApproved((place) => {
    const config = agent(place.agentId);
    if (config && adapter(place)) void handshakes(place, config);
  });

  const sources = {
    state: adapters.state,
    async queued(place: ChannelPlace) {
      const [coming, going] = await Promise.all([intake.queued(place), delivery.queued(place)]);
      return coming + going;
    },
    unknown: delivery.unsettled.unknown,
  };
  /** State of an agent's channels. */
  const list = async (agentId: string): Promise<ChannelState[]> => {
    const config = agent(agentId);
    if (!config) return [];
    const states = await health.list(config, sources);
    return Promise.all(
      states.map(async (state) => {
        const problem = await access.problem({ agentId, channel: state.channel, account: "" }, config);
        return problem === undefined ? state : { ...state, lastError: problem };
      }),
    );
  };

  const abandon = (which: { agentId: string } | { before: number }, why: string) => [
    intake.abandon(which, clock.now(), why),
    delivery.abandon(which, clock.now(), why),
  ];
  const forgetOld = () => [
    intake.forget(clock.now() - KEEP_MS, clock.now() - KEEP_DENIED_MS),
    delivery.forget(clock.now() - KEEP_MS),
    // For example, those of an agent that has been missing from the configuration all this time.
    ...abandon({ before: clock.now() - KEEP_MS }, "It has waited too long."),
  ];

  let started = false;

  return {
    receive,
    cutOff: intake.cutOff,
    receipt: delivery.receipt,
    trace: createTrace(store),
    deliveries: { list: delivery.unsettled.list, sendAgain: delivery.unsettled.sendAgain },
    /** A request with a valid signature arrived: the provider can reach the gateway. */
    proven(place: ChannelPlace) {
      const state = adapters.state(place);
      // A channel that checks its own inbound way proves it by that.
      if (state && !adapter(place)?.connect) health.prove(place, state);
    },
    adapter,
    /** The adapter of an account that may not be configured yet, created and supervised from now on. */
    requireAdapter: adapters.require,
    dropAdapter: adapters.drop,

    /** Sends at once and reports the outcome; never retried. */
    sendNow: (place: ChannelPlace, target: Target, content: Content): Promise<SendOutcome> =>
      delivery.now({ place, chatId: target.chatId, inbox: null, purpose: "direct", target, content }),
    /** Account that received the latest message of a chat. */
    lastInboundAccount: (agentId: string, channel: ChannelName, chatId: string) =>
      store.inbox.lastAccount({ agent_id: agentId, channel, chat_id: chatId }),

    list,
    /** State and policy of each channel, for the agent's record. */
    async view(agentId: string) {
      const config = agent(agentId);
      if (!config) return {};
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
      await delivery.recover(agentId, former);
      await intake.recover(agentId);
    },
    recovered: delivery.recovered,
    /** Takes up what another gateway has stored for agents of this one. */
    lookAgain: intake.wakeAll,
    /** Deletes old messages. */
    housekeeping: { everyMs: SWEEP_MS, changes: forgetOld },
    /** Connects everything that is configured. */
    async start() {
      started = true;
      await rm(deps.tempDir, { recursive: true, force: true }).catch(() => {});
      await adapters.reconfigure();
      intake.wakeAll();
    },
    /** Applies a changed configuration. */
    async reconfigure() {
      // What begins before `recover` has ended would be taken for something that a crash cut off; `start` applies what
      // is configured by then.
      if (!started) return;
      await adapters.reconfigure();
      delivery.wakeAll();
      intake.wakeAll();
    },
    /** Closes waiting messages of an agent that is removed for good; one merely missing from the file keeps its messages. */
    async removeAgent(agentId: string) {
      await store.commit(...abandon({ agentId }, "The agent was removed."));
    },
    /** Accepts nothing more; running turns are not affected. */
    stopIntake() {
      intake.stop();
    },
    /** Runs after the turns have ended: their replies may still go out for a moment, then every connection ends. */
    async close() {
      await intake.idle();
      await delivery.close();
      await Promise.race([adapters.close(), sleep(clock, CLOSE_GRACE_MS)]);
    },
  };
}
export type Channels = ReturnType<typeof createChannels>;
