import type { AdapterContext, InboundMessage, JsonObject } from "../types.ts";
import { boundedMap } from "./bounded.ts";
import { keyOf } from "./compose.ts";
import { createCredentials } from "./credentials.ts";
import { bareJid } from "./jid.ts";
import { keepTemporaryFilesIn } from "./library.ts";
import { createLinkState } from "./link-state.ts";
import { createManager } from "./manager.ts";
import { fetchMedia } from "./media.ts";
import { send } from "./send.ts";
import type { DeviceAdapter } from "./types.ts";
import { createWorking } from "./working.ts";

/** Pings go out every 30 s. */
const ALIVE_WITHIN_MS = 90_000;
/** So many messages can be quoted with what they said. */
const RECENT = 1_000;
const MAX_QUOTE_CHARS = 200;

/** One account of the linked-device channel. */
export async function createAdapter(context: AdapterContext): Promise<DeviceAdapter> {
  const { agent, place, clock, log } = context;
  const settings = agent.devicechat?.accounts.find(({ id }) => id === place.account);
  const url = agent.devicechat?.waWebSocketUrl;
  await keepTemporaryFilesIn(context.tempDir);
  const credentials = createCredentials(context.stateDir, clock);
  // The connection tells what is wrong with them, and looks again.
  const state = createLinkState(clock, await credentials.linkedAs().catch(() => undefined));
  const recent = boundedMap<JsonObject>(RECENT, () => clock.elapsed());
  const onMessage = ({ messageId, senderId, text }: InboundMessage) => {
    if (messageId === undefined) return;
    const quoted = { id: messageId, text: text.slice(0, MAX_QUOTE_CHARS) };
    recent.set(messageId, { participant: senderId, quoted });
  };
  const manager = createManager({ credentials, state, url, clock, log, onMessage });
  const working = createWorking(() => manager.live, clock);
  const acknowledges = settings?.reactionLevel !== "off";

  return {
    connect: manager.connect,
    aliveWithinMs: ALIVE_WITHIN_MS,
    send: (outgoing, signal) => send(manager.live, outgoing, clock, signal),
    // Under the same id, as WhatsApp's own clients send what was not confirmed: it is shown once.
    repeatable: () => true,
    working: (target) => (acknowledges ? working.start(target) : () => {}),
    settle: (messageId) => working.settle(messageId),
    fetchMedia: (media, signal) => fetchMedia(media, url, signal),
    markRead(target) {
      const key = keyOf(target);
      if (settings?.sendReadReceipts === false || !key || !manager.live?.isOpen) return;
      manager.live.sock.readMessages([key]).catch(() => {});
    },
    quote: (messageId) => recent.get(messageId) ?? { quoted: { id: messageId, text: "" } },
    async aliases(jid) {
      if (!jid.endsWith("@lid") || !manager.live) return [];
      const number = await manager.live.sock.signalRepository.lidMapping.getPNForLID(jid).catch(() => null);
      return number === null ? [] : [bareJid(number)];
    },
    status: () => state.status(),
    link: manager.link,
    requestPairingCode: manager.requestPairingCode,
    unlink: manager.unlink,
    async close() {
      working.stop();
    },
  };
}
