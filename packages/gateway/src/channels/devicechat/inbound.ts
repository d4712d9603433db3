import type {
  BinaryNode,
  proto,
  SignalDataSet,
  SignalKeyStore,
  SignalKeyStoreWithTransaction,
  SocketConfig,
  WAMessage,
  WASocket,
} from "baileys";
import type { Clock } from "../../lib/clock.ts";
import type { InboundMessage } from "../types.ts";
import type { BoundedMap } from "./bounded.ts";
import { keepCipherState } from "./cipher-state.ts";
import { SPOOL } from "./credentials.ts";
import { bareJid } from "./jid.ts";
import type { Library } from "./library.ts";
import { parseMessage } from "./parse.ts";
import { serializeTransactions } from "./transactions.ts";

/** A message without content, as the cipher gives it: one byte of padding. */
const EMPTY = Uint8Array.of(1);

export interface InboundDeps {
  library: Library;
  clock: Clock;
  /** Where the library's keys are kept. */
  store: Pick<SignalKeyStore, "set">;
  /** Event ids of messages that were stored a moment ago, by this connection or one before it. */
  taken: BoundedMap<true>;
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

/** Changes to the messages among the keys, of which the library knows nothing. */
const spool = (entries: Record<string, InboundMessage | null>) =>
  ({ [SPOOL]: entries }) as unknown as SignalDataSet;

/**
 * The library confirms a message to the provider before it hands it out. So messages are taken where they are
 * deciphered: what one says is written together with the new state of its cipher, then stored in the inbox, and only
 * then does the library go on. After a crash in between, the provider delivers it again or it is found among the keys.
 */
export function createInbound(deps: InboundDeps) {
  const { library, taken } = deps;
  const stanzas = new WeakMap<Uint8Array, BinaryNode>();
  const running = new Set<Promise<unknown>>();

  /** The message in the gateway's words; undefined for what is none, or is known. */
  const read = async (message: WAMessage): Promise<InboundMessage | undefined> => {
    const { id, lid } = deps.me();
    const parsed = parseMessage(
      message,
      [id, lid].filter((jid) => jid !== undefined),
    );
    if (!parsed || taken.has(parsed.eventId)) return undefined;
    if ((parsed.sentAt ?? Number.POSITIVE_INFINITY) < deps.since()) return undefined;
    if (parsed.senderAliases || !parsed.senderId.endsWith("@lid")) return parsed;
    const number = await deps.numberOf(parsed.senderId).catch(() => undefined);
    return number ? { ...parsed, senderAliases: [bareJid(number)] } : parsed;
  };

  const offer = async (messages: readonly InboundMessage[]): Promise<void> => {
    if (messages.length === 0) return;
    const storing = deps.receive(messages);
    running.add(storing);
    try {
      await storing;
      for (const { eventId } of messages) taken.set(eventId, true);
    } catch (error) {
      deps.fail(error);
      throw error;
    } finally {
      running.delete(storing);
    }
  };

  const readDeciphered = async (ciphertext: Uint8Array, plain: Uint8Array) => {
    const stanza = stanzas.get(ciphertext);
    const { id, lid } = deps.me();
    if (!stanza || id === undefined) return undefined;
    const { fullMessage } = library.decodeMessageNode(stanza, id, lid ?? "");
    let content: proto.IMessage;
    try {
      content = library.proto.Message.decode(library.unpadRandomMax16(plain));
    } catch {
      // The library says so to the sender, who sends it again.
      return undefined;
    }
    return read({ ...fullMessage, message: content });
  };

  /** The provider delivers a message again when its confirmation was lost. */
  const isTaken = (ciphertext: Uint8Array): boolean => {
    const stanza = stanzas.get(ciphertext);
    const { id, lid } = deps.me();
    if (!stanza || id === undefined) return false;
    const { key } = library.decodeMessageNode(stanza, id, lid ?? "").fullMessage;
    return taken.has(`${key.remoteJid}/${key.id}`);
  };

  const decipher = async (
    keys: SignalKeyStoreWithTransaction,
    name: string,
    ciphertext: Uint8Array,
    task: () => Promise<Uint8Array>,
  ): Promise<Uint8Array> => {
    let message: InboundMessage | undefined;
    let plain: Uint8Array;
    try {
      plain = await keys.transaction(async () => {
        const text = await task();
        message = await readDeciphered(ciphertext, text);
        if (message) await keys.set(spool({ [message.eventId]: message }));
        return text;
      }, name);
    } catch (error) {
      // Its key is used up, and the sender need not send it again: let the library confirm it.
      if (isTaken(ciphertext)) return EMPTY;
      throw error;
    }
    if (message) {
      await offer([message]);
      // Should this not be written, the inbox will know the message.
      void Promise.resolve(keys.set(spool({ [message.eventId]: null }))).catch(() => {});
    }
    return plain;
  };

  return {
    /** Follows the socket's stanzas, and whatever comes by another way: messages without cipher, ones sent again. */
    attach(sock: Pick<WASocket, "ws" | "ev">): void {
      sock.ws.prependListener("CB:message", (stanza: BinaryNode) => {
        // The library lets messages that come in now overtake those that waited at the provider.
        delete stanza.attrs.offline;
        if (!Array.isArray(stanza.content)) return;
        for (const { tag, content } of stanza.content) {
          if (tag === "enc" && content instanceof Uint8Array) stanzas.set(content, stanza);
        }
      });
      sock.ev.on("messages.upsert", ({ messages }) => {
        Promise.all(messages.map(read))
          .then((found) => offer(found.filter((message) => message !== undefined)))
          .catch(() => {});
      });
    },

    /** The library's cipher, which stores what it deciphers. */
    repository: ((auth, logger, pnToLid) => {
      // The library hands over keys that have transactions.
      const keys = auth.keys as SignalKeyStoreWithTransaction;
      serializeTransactions(keys, deps.clock);
      const cipher = keepCipherState(keys, deps.store);
      const inner = library.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, logger, pnToLid);
      const addressOf = (jid: string) => inner.jidToSignalProtocolAddress(jid);
      return {
        ...inner,
        decryptMessage: (options) =>
          decipher(keys, options.jid, options.ciphertext, () =>
            cipher.use(addressOf(options.jid), () => inner.decryptMessage(options)),
          ),
        decryptGroupMessage: (options) =>
          decipher(keys, options.group, options.msg, () => inner.decryptGroupMessage(options)),
        encryptMessage: (options) =>
          cipher.encipher(options.jid, addressOf(options.jid), () => inner.encryptMessage(options)),
        encryptGroupMessage: (options) =>
          cipher.encipher(options.group, options.group, () => inner.encryptGroupMessage(options)),
        injectE2ESession: (options) =>
          keys.transaction(
            () => cipher.use(addressOf(options.jid), () => inner.injectE2ESession(options)),
            options.jid,
          ),
      };
    }) satisfies SocketConfig["makeSignalRepository"],

    /** Waits for what is being stored. */
    settled: () => Promise.allSettled(running),
  };
}
