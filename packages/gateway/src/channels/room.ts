import type { AgentConfig } from "../config/index.ts";
import { bootId } from "../lib/boot-id.ts";
import { type Clock, sleep } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { oneLine } from "../lib/one-line.ts";
import type { Store } from "../store/index.ts";
import { type Adapters, createAdapters } from "./adapters.ts";
import { createDelivery, createJournal, type FeedPort } from "./delivery/index.ts";
import { createHandshakes, type Handshake } from "./handshakes.ts";
import type { Health } from "./health.ts";
import { createInboundMedia, type InboundMediaPort } from "./inbound-media.ts";
import { createIntake, type IntakeDeps } from "./intake/index.ts";
import { loadChannel } from "./load.ts";
import { createPosts, type PostAccess } from "./posts.ts";
import { splitFor } from "./render/index.ts";
import type { ChannelStep } from "./steps.ts";
import type { AccessPort, ChannelPlace, Content, InboundMessage, SendOutcome, Target } from "./types.ts";

const MAX_NAME_CHARS = 128;

/** Senders choose their own names, which owners see in lists, logs and terminals. */
function withPlainName({ senderName, ...message }: InboundMessage): InboundMessage {
  const name = oneLine(senderName, MAX_NAME_CHARS);
  return { ...message, ...(name !== undefined && { senderName: name }) };
}

/** What the channel rooms need from the access rules. */
export interface ChannelAccess extends AccessPort {
  handshakes(place: ChannelPlace, agent: AgentConfig): Promise<readonly Handshake[]>;
  allowed: PostAccess["allowed"];
  admits: PostAccess["admits"];
  onApproved(listener: (place: ChannelPlace) => void): () => void;
}

export interface RoomDeps
  extends Pick<
    IntakeDeps,
    "sessions" | "parseCommand" | "runCommand" | "cli" | "commands" | "ownCommands" | "attachment"
  > {
  store: Store;
  feed: FeedPort;
  clock: Clock;
  log: Logger;
  agents(): readonly AgentConfig[];
  /** False for an agent of another gateway: what comes in for it is stored, and nothing else. */
  serves(agentId: string): boolean;
  /** False, besides, while no connection may be held for the agent. */
  connects(agentId: string): boolean;
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
  health: Health;
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

/** How long connections have to close when the gateway stops. */
const CLOSE_GRACE_MS = 1_500;

/** What a configuration with channels needs: everything between their providers and the core's sessions. */
export function createRoom(deps: RoomDeps) {
  const { store, clock, access, health } = deps;
  const log = deps.log;
  const agent = (id: string) => deps.agents().find((entry) => entry.id === id);
  const adapter: Adapters["get"] = (place) => adapters.get(place);
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
    agents: () => deps.agents().filter(({ id }) => deps.connects(id)),
    publicUrl: deps.publicUrl,
    publicLink: deps.publicLink,
    tempDir: deps.tempDir,
    commands: deps.commands,
    ownCommands: deps.ownCommands,
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

  return {
    receive,
    posts: createPosts({ ...deps, access, delivery, split: splitFor }),
    cutOff: intake.cutOff,
    say: intake.say,
    receipt: delivery.receipt,
    deliveries: { list: delivery.unsettled.list, sendAgain: delivery.unsettled.sendAgain },
    /** A request with a valid signature arrived: the provider can reach the gateway. */
    proven(place: ChannelPlace) {
      const state = adapters.state(place);
      // A channel that checks its own inbound way proves it by that.
      if (state && !adapter(place)?.connect) health.prove(place, state);
    },
    adapter,
    state: adapters.state,
    /** The adapter of an account that may not be configured yet, created and supervised from now on. */
    requireAdapter: adapters.require,
    dropAdapter: adapters.drop,

    /** Sends at once and reports the outcome; never retried. */
    sendNow: (place: ChannelPlace, target: Target, content: Content): Promise<SendOutcome> =>
      delivery.now({ place, chatId: target.chatId, inbox: null, purpose: "direct", target, content }),
    split: splitFor,

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
    /** Connects everything that is configured. */
    async start() {
      await adapters.reconfigure();
      intake.wakeAll();
    },
    /** Applies a changed configuration. */
    async reconfigure() {
      await adapters.reconfigure();
      delivery.wakeAll();
      intake.wakeAll();
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
export type Room = ReturnType<typeof createRoom>;
