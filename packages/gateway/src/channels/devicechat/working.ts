import type { WAMessageKey } from "baileys";
import type { Clock } from "../../lib/clock.ts";
import type { Target } from "../types.ts";
import { keyOf } from "./compose.ts";
import type { DeviceSocket } from "./socket.ts";

const REACTION = "⏳";
/** Phones stop showing that someone types after a while. */
const TYPING_MS = 10_000;

/** Shows on the message that the agent works on it: a reaction, and that someone types. Best effort throughout. */
export function createWorking(socket: () => DeviceSocket | undefined, clock: Clock) {
  const active = new Map<string, () => void>();

  const react = (key: WAMessageKey, text: string) => {
    const live = socket();
    if (!live?.isOpen || !key.remoteJid) return;
    live.sock.sendMessage(key.remoteJid, { react: { text, key } }).catch(() => {});
  };
  const typing = (jid: string, on: boolean) => {
    const live = socket();
    if (live?.isOpen) live.sock.sendPresenceUpdate(on ? "composing" : "paused", jid).catch(() => {});
  };

  return {
    start(target: Target): () => void {
      const key = keyOf(target);
      if (!key) return () => {};
      active.get(key.id)?.();
      react(key, REACTION);
      typing(target.chatId, true);
      const stop = clock.every(TYPING_MS, () => typing(target.chatId, true));
      const end = () => {
        if (active.get(key.id) !== end) return;
        active.delete(key.id);
        stop();
        react(key, "");
        typing(target.chatId, false);
      };
      active.set(key.id, end);
      return end;
    },
    /** Takes the reaction off one message. */
    settle: (messageId: string) => active.get(messageId)?.(),
    /** Forgets what is shown; nothing is sent. */
    stop() {
      for (const end of [...active.values()]) end();
    },
  };
}
