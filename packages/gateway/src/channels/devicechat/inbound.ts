import type { BinaryNode, proto, SignalAuthState, SocketConfig, WAMessage, WASocket } from "baileys";
import type { InboundMessage } from "../types.ts";
import { boundedMap } from "./bounded.ts";
import { bareJid } from "./jid.ts";
import type { Library } from "./library.ts";
import { parseMessage } from "./parse.ts";

/** Ids of messages that were stored a moment ago, and need not be offered again. */
const RECENT = 1_000;

export interface InboundDeps {
  library: Library;
  now(): number;
  /** Own JIDs; the alias is known once the connection is open. */
  me(): { id?: string | undefined; lid?: string | undefined };
  /** Messages that were sent before this (Unix ms) are history. */
  since(): number;
  /** The phone number behind an alias, where the library knows it. */
  numberOf(lid: string): Promise<string | null | undefined>;
  receive(messages: readonly InboundMessage[]): Promise<void>;
  /** Messages cannot be stored: the connection has to end before the library confirms one. */
  fail(error: unknown): void;
}

/**
 * The library confirms a message to the provider before it hands it out. So messages are taken where they are
 * deciphered: within the transaction that advances the cipher, and before the confirmation. A crash in between
 * leaves the cipher where it was; the provider delivers the message again and the inbox knows it.
 */
export function createInbound(deps: InboundDeps) {
  const { library } = deps;
  const stanzas = new WeakMap<Uint8Array, BinaryNode>();
  const taken = boundedMap<true>(RECENT, deps.now);
  const running = new Set<Promise<void>>();

  const store = async (messages: readonly WAMessage[]): Promise<void> => {
    const { id, lid } = deps.me();
    const self = [id, lid].filter((jid) => jid !== undefined);
    const found: InboundMessage[] = [];
    for (const message of messages) {
      const parsed = parseMessage(message, self);
      if (!parsed || taken.has(parsed.eventId) || (parsed.sentAt ?? Number.POSITIVE_INFINITY) < deps.since())
        continue;
      const number = parsed.senderAliases ? undefined : await aliasOf(parsed.senderId);
      found.push(number === undefined ? parsed : { ...parsed, senderAliases: [number] });
    }
    if (found.length === 0) return;
    await deps.receive(found);
    for (const { eventId } of found) taken.set(eventId, true);
  };

  const aliasOf = async (senderId: string): Promise<string | undefined> => {
    if (!senderId.endsWith("@lid")) return undefined;
    const number = await deps.numberOf(senderId).catch(() => undefined);
    return number ? bareJid(number) : undefined;
  };

  const offer = async (messages: readonly WAMessage[]): Promise<void> => {
    const storing = store(messages);
    running.add(storing);
    try {
      await storing;
    } catch (error) {
      deps.fail(error);
      throw error;
    } finally {
      running.delete(storing);
    }
  };

  const takeDeciphered = async (ciphertext: Uint8Array, plain: Uint8Array): Promise<void> => {
    const stanza = stanzas.get(ciphertext);
    const { id, lid } = deps.me();
    if (!stanza || id === undefined) return;
    const { fullMessage } = library.decodeMessageNode(stanza, id, lid ?? "");
    let content: proto.IMessage;
    try {
      content = library.proto.Message.decode(library.unpadRandomMax16(plain));
    } catch {
      // The library says so to the sender, who sends it again.
      return;
    }
    await offer([{ ...fullMessage, message: content }]);
  };

  return {
    /** Follows the socket's stanzas and whatever comes by another way: messages without cipher, ones sent again. */
    attach(sock: Pick<WASocket, "ws" | "ev">): void {
      sock.ws.prependListener("CB:message", (stanza: BinaryNode) => {
        if (!Array.isArray(stanza.content)) return;
        for (const { tag, content } of stanza.content) {
          if (tag === "enc" && content instanceof Uint8Array) stanzas.set(content, stanza);
        }
      });
      sock.ev.on("messages.upsert", ({ messages }) => void offer(messages).catch(() => {}));
    },

    /** The library's cipher, which stores what it deciphers. */
    repository: ((auth, logger, pnToLid) => {
      const inner = library.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, logger, pnToLid);
      const within = <T>(keys: SignalAuthState["keys"], key: string, task: () => Promise<T>) =>
        "transaction" in keys ? keys.transaction(task, key) : task();
      return {
        ...inner,
        decryptMessage: (options) =>
          within(auth.keys, options.jid, async () => {
            const plain = await inner.decryptMessage(options);
            await takeDeciphered(options.ciphertext, plain);
            return plain;
          }),
        decryptGroupMessage: (options) =>
          within(auth.keys, options.group, async () => {
            const plain = await inner.decryptGroupMessage(options);
            await takeDeciphered(options.msg, plain);
            return plain;
          }),
      };
    }) satisfies SocketConfig["makeSignalRepository"],

    /** Waits for what is being stored. */
    settled: () => Promise.allSettled(running),
  };
}
