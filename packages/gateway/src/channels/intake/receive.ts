import { GatewayError } from "@agent-gateway/contract";
import { UnsettledError } from "../../store/index.ts";
import { placeKey } from "../place.ts";
import type { ChannelPlace, InboundMessage } from "../types.ts";
import { isUrgent } from "./commands.ts";
import type { IntakeDeps } from "./ports.ts";

/** Messages of a place that may wait for rules; any more stay with the provider. */
const MAX_UNJUDGED = 1_000;

/** Stores what comes in, and wakes whoever works on it. */
export function createReceiver(
  deps: Pick<IntakeDeps, "store" | "clock" | "agent" | "access" | "onInbound" | "onStored" | "step">,
  wake: { chat(place: ChannelPlace, chatId: string): void; command(id: number): void; all(): void },
) {
  const { store, clock, access } = deps;
  /** Messages of each place that cannot be judged yet and are being stored. */
  const arriving = new Map<string, number>();

  const add = async (place: ChannelPlace, messages: readonly InboundMessage[]): Promise<void> => {
    deps.step("before-inbox-row");
    const now = clock.now();
    const adding = store.commit(
      ...messages.map((message) =>
        store.inbox.add(
          {
            place,
            eventId: message.eventId,
            chatId: message.chatId,
            messageId: message.messageId,
            messageKey: message.messageKey,
            senderId: message.senderId,
            groupId: message.kind === "dm" ? "" : (message.groupId ?? message.chatId),
            message: JSON.stringify(message),
            state: isUrgent(message.text) ? "command" : "waiting",
          },
          now,
        ),
      ),
    );
    const ids = await adding.catch((error: unknown) => {
      // Stored all the same, they would wait: their sender repeats them, and then they are known.
      if (error instanceof UnsettledError) void error.outcome.then((stored) => stored && wake.all());
      throw error;
    });
    deps.step("after-inbox-row");
    for (const [index, message] of messages.entries()) {
      const id = ids[index];
      if (id === undefined) continue;
      deps.onStored(place);
      if (isUrgent(message.text)) wake.command(id);
      else wake.chat(place, message.chatId);
    }
  };

  /** Runs the task while there is room for messages that cannot be judged yet. */
  const withRoom = async (place: ChannelPlace, count: number, task: () => Promise<void>): Promise<void> => {
    if (count === 0) return task();
    const key = placeKey(place);
    const change = (by: number) => {
      const sum = (arriving.get(key) ?? 0) + by;
      if (sum > 0) arriving.set(key, sum);
      else arriving.delete(key);
      return sum;
    };
    // Taken before the rows are counted, so that messages that come at the same time count each other.
    const taken = change(count);
    try {
      if ((await store.inbox.queued(place)) + taken > MAX_UNJUDGED) {
        throw new Error("Too many messages are waiting because the channel's access file cannot be read.");
      }
      await task();
    } finally {
      change(-count);
    }
  };

  /**
   * Stores messages; resolves when they are on disk. Known messages, and those that the rules drop, are left out.
   * @throws {GatewayError} `AGENT_NOT_FOUND`; an `Error` when they could not be stored
   */
  return async (place: ChannelPlace, messages: readonly InboundMessage[]): Promise<void> => {
    const agent = deps.agent(place.agentId);
    if (!agent) throw new GatewayError("AGENT_NOT_FOUND");
    const wanted: InboundMessage[] = [];
    let unjudged = 0;
    for (const message of messages) {
      const decision = await access.decide(place, agent, message);
      if (decision !== "ignore") wanted.push(message);
      if (decision === "later") unjudged++;
    }
    await withRoom(place, unjudged, async () => {
      // Rows of an agent that was removed meanwhile would wait for no one.
      if (!deps.agent(place.agentId)) throw new GatewayError("AGENT_NOT_FOUND");
      if (messages.length > 0) deps.onInbound(place);
      if (wanted.length > 0) await add(place, wanted);
    });
  };
}
