import { createHash } from "node:crypto";
import { basename, dirname } from "node:path";
import type { AgentConfig } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import { inState, removeState } from "../lib/guarded/index.ts";
import type { Logger } from "../lib/logger.ts";
import { createMutex } from "../lib/mutex.ts";
import type { Store } from "../store/index.ts";
import type { Delivery } from "./delivery/index.ts";
import type { ChannelPlace } from "./types.ts";

/** An approved sender who has not been notified yet: `approved/<senderId>` in the channel's state folder. */
export interface Handshake {
  senderId: string;
  /** Where to send the notification. */
  chatId: string;
  /** Absolute path of the file. */
  file: string;
}

export interface HandshakeDeps {
  store: Pick<Store, "forAgent">;
  clock: Clock;
  log: Logger;
  delivery: Delivery;
  list(place: ChannelPlace, agent: AgentConfig): Promise<readonly Handshake[]>;
}

const TEXT = "You are connected. Send a message to talk to the agent.";

/**
 * Notifies approved senders that they are connected. The file is the intent: it is removed once the message is sent, and
 * its modification time identifies the message, so that no approval is announced twice.
 */
export function createHandshakes({ store, clock, log, delivery, list }: HandshakeDeps) {
  const oneByOne = createMutex();

  const confirm = async (place: ChannelPlace, { senderId, chatId, file }: Handshake): Promise<void> => {
    const stats = await inState(dirname(file), (folder) => folder.stat(basename(file)));
    if (!stats) return;
    const key = uuidOf(`${place.agentId}/${place.channel}/${senderId}/${stats.mtimeMs}`);
    const known = await delivery.handshake(place, key);
    if (known?.state === "pending" || known?.state === "sending") return;
    if (known) {
      await removeState(file);
      return;
    }
    await store.forAgent(place.agentId).commit(
      delivery.add({
        place,
        chatId,
        inbox: null,
        purpose: "handshake",
        target: { chatId, reply: {}, receivedAt: clock.now(), handshake: file },
        contents: [{ kind: "text", text: TEXT }],
        key,
      }),
    );
    delivery.wake(place, chatId);
  };

  /** Processes the files that are there. Never rejects. */
  return async (place: ChannelPlace, agent: AgentConfig): Promise<void> => {
    try {
      await oneByOne(async () => {
        for (const handshake of await list(place, agent)) await confirm(place, handshake);
      });
    } catch (error) {
      log.warn({ err: error, agent: agent.id, channel: place.channel }, "could not notify approved senders");
    }
  };
}

/** A UUID derived from a name, for an idempotency key that is the same after a restart. */
function uuidOf(name: string): string {
  const hex = createHash("sha256").update(name).digest("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}
