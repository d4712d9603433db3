import { onTestFinished } from "vitest";
import { createAdapter } from "../../../../packages/gateway/src/channels/botchat/index.ts";
import type {
  AdapterContext,
  ChannelAdapter,
  Connection,
  InboundMessage,
  Outgoing,
} from "../../../../packages/gateway/src/channels/types.ts";
import type { AgentConfig } from "../../../../packages/gateway/src/config/index.ts";
import { type Clock, systemClock } from "../../../../packages/gateway/src/lib/clock.ts";
import { recordingLogger } from "../../../fixtures/temp-home.ts";

/** An agent with nothing but the channel. */
export const agentWith = (botchat: object): AgentConfig =>
  ({
    id: "assistant",
    workspace: "/nonexistent",
    botchat: { enabled: true, coalesceMs: 0, mode: "polling", ...botchat },
  }) as unknown as AgentConfig;

export interface Setup {
  botchat: object;
  clock?: Clock;
  publicUrl?: string;
}

export async function adapterFor({ botchat, clock = systemClock, publicUrl }: Setup) {
  const log = recordingLogger();
  const context: AdapterContext = {
    place: { agentId: "assistant", channel: "botchat", account: "" },
    agent: agentWith(botchat),
    stateDir: "/nonexistent/.botchat-state",
    publicUrl,
    commands: [
      { name: "/session", description: "Shows the session." },
      { name: "/model", description: "Shows or changes the model." },
    ],
    clock,
    log,
  } as AdapterContext;
  const adapter = await createAdapter(context);
  onTestFinished(() => adapter.close());
  return { adapter, log };
}

/** A connection in memory, with what the gateway keeps on disk: the inbox by event id, and the position. */
export function connectionOf(kept = { inbox: new Map<string, InboundMessage>(), position: "" }) {
  const controller = new AbortController();
  const state = { alive: 0, failing: false };
  const connection: Connection = {
    signal: controller.signal,
    alive: () => void state.alive++,
    rest: () => {},
    async receive(messages) {
      if (state.failing) throw new Error("the disk is full");
      for (const message of messages) {
        if (!kept.inbox.has(message.eventId)) kept.inbox.set(message.eventId, message);
      }
    },
    position: () => kept.position || undefined,
    async savePosition(value) {
      kept.position = value;
    },
  };
  return { connection, kept, state, end: () => controller.abort() };
}

/** Connects until the test ends; `done` tells how it ended. */
export function connect(adapter: ChannelAdapter, kept?: ReturnType<typeof connectionOf>["kept"]) {
  const made = connectionOf(kept);
  const done = adapter.connect!(made.connection).then(
    () => "ended",
    (error: unknown) => (error as Error).message,
  );
  onTestFinished(async () => {
    made.end();
    await done;
  });
  return { ...made, done };
}

export const outgoing = (
  content: Outgoing["content"],
  fields: Partial<Outgoing["target"]> = {},
): Outgoing => ({
  target: { chatId: "501", reply: {}, receivedAt: 0, ...fields },
  content,
  key: "00000000-0000-4000-8000-000000000000",
});

export const never = new AbortController().signal;
