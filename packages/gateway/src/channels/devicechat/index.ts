import { GatewayError } from "@agent-gateway/contract";
import { renderSVG } from "uqr";
import type { AdapterContext, Connection, InboundMessage, JsonObject } from "../types.ts";
import { boundedMap } from "./bounded.ts";
import { keyOf } from "./compose.ts";
import { createCredentials } from "./credentials.ts";
import type { Ending } from "./disconnect.ts";
import { bareJid } from "./jid.ts";
import { loadLibrary } from "./library.ts";
import { createLinkState, LINK_WINDOW_MS } from "./link-state.ts";
import { fetchMedia } from "./media.ts";
import { send } from "./send.ts";
import { type DeviceSocket, openSocket } from "./socket.ts";
import type { DeviceAdapter } from "./types.ts";
import { createWorking } from "./working.ts";

export type { DeviceAdapter, DeviceStatus } from "./types.ts";

/** Pings go out every 30 s. */
const ALIVE_WITHIN_MS = 90_000;
/** How long a caller waits for a pairing code. */
const CODE_MS = 30_000;
/** Clocks of phones and of this machine differ: what is so much older than the link is history. */
const HISTORY_SLACK_MS = 10 * 60_000;

/** So many messages can be quoted with what they said. */
const RECENT = 1_000;
const MAX_QUOTE_CHARS = 200;

const dataUrl = (text: string) =>
  `data:image/svg+xml;base64,${Buffer.from(renderSVG(text, { border: 4 })).toString("base64")}`;

/** One account of the linked-device channel. */
export async function createAdapter(context: AdapterContext): Promise<DeviceAdapter> {
  const { agent, place, clock, log } = context;
  const settings = agent.devicechat?.accounts.find(({ id }) => id === place.account);
  const url = agent.devicechat?.waWebSocketUrl;
  const credentials = createCredentials(context.stateDir, clock);
  const state = createLinkState(clock, await credentials.linkedAs());
  let live: DeviceSocket | undefined;
  let running: Promise<unknown> = Promise.resolve();
  /** Set while somebody ends the link. */
  let unlinking: Promise<void> | undefined;
  const working = createWorking(() => live, clock);
  const recent = boundedMap<JsonObject>(RECENT, () => clock.now());
  const acknowledges = settings?.reactionLevel !== "off";

  const remember = ({ messageId, senderId, text }: InboundMessage) => {
    if (messageId === undefined) return;
    const quoted = { id: messageId, text: text.slice(0, MAX_QUOTE_CHARS) };
    recent.set(messageId, { participant: senderId, quoted });
  };

  const pairingCode = async (socket: DeviceSocket, phone: string): Promise<void> => {
    try {
      state.showCode(await socket.sock.requestPairingCode(phone));
    } catch (error) {
      log.warn({ err: error }, "no pairing code could be had");
      state.unlinked();
    }
  };

  /** One socket from its beginning to its end. */
  const runOnce = async (connection: Connection): Promise<Ending> => {
    const library = await loadLibrary();
    const opened = await credentials.open(library);
    const { method } = state;
    let asked = false;
    const since = Number(connection.position() ?? 0) - HISTORY_SLACK_MS;
    let scanned = false;
    const socket = openSocket({
      library,
      credentials: opened,
      url,
      connection: {
        alive: () => connection.alive(),
        receive(messages) {
          messages.forEach(remember);
          return connection.receive(messages);
        },
      },
      clock,
      log,
      since: () => since,
      ...(method?.by === "code" && { qrTimeout: LINK_WINDOW_MS }),
      onQr(text) {
        if (method?.by === "qr") state.showQr(dataUrl(text));
        else if (method && !asked) {
          asked = true;
          void pairingCode(socket, method.phone);
        }
      },
      onScanned() {
        scanned = true;
        state.scanned();
        connection.savePosition(String(clock.now())).catch((error) => {
          log.warn({ err: error }, "the time of the link could not be stored");
        });
      },
      onOpen: (me) => state.linked(me),
    });
    live = socket;
    const stop = () => void socket.close();
    connection.signal.addEventListener("abort", stop, { once: true });
    // Given up, or begun in another way: this socket has no purpose any more.
    const unwatch = state.onChange(() => {
      if (method && !scanned && state.method !== method) stop();
    });
    if (connection.signal.aborted || unlinking || state.method !== method) stop();
    try {
      return await socket.ended;
    } finally {
      unwatch();
      connection.signal.removeEventListener("abort", stop);
      live = undefined;
      state.lost();
      await socket.close();
      await opened.close();
    }
  };

  /** Waits until somebody asks for a link. */
  const untilAsked = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const done = () => {
        unwatch();
        signal.removeEventListener("abort", done);
        resolve();
      };
      const unwatch = state.onChange(() => state.method && done());
      signal.addEventListener("abort", done, { once: true });
      if (signal.aborted || state.method) done();
    });

  const connect = async (connection: Connection): Promise<void> => {
    const { signal } = connection;
    let restarts = 0;
    while (!signal.aborted) {
      await unlinking?.catch(() => {});
      const me = await credentials.linkedAs();
      if (me === undefined && !state.method) {
        if (state.status().status !== "unlinked") state.unlinked();
        connection.rest();
        await untilAsked(signal);
        continue;
      }
      const { method } = state;
      const run = runOnce(connection);
      running = run.catch(() => {});
      const ending = await run;
      if (signal.aborted) return;
      if (unlinking) continue;
      if (method && !state.method && state.status().status === "unlinked") {
        throw new Error(
          method.by === "qr"
            ? "No phone scanned the QR code in time."
            : "No phone took the pairing code in time.",
        );
      }
      if (ending.kind === "logged-out") {
        await credentials.wipe();
        state.unlinked({ loggedOut: me !== undefined });
        throw new Error("The phone ended the link; link the account again.");
      }
      if (ending.kind === "restart" && restarts++ === 0) continue;
      if (ending.kind === "qr-spent" && state.method) continue;
      if (method && state.method !== method) continue;
      if (method?.by === "code") state.unlinked();
      throw new Error(
        ending.kind === "broken" ? ending.reason : "WhatsApp asks for a new connection again and again.",
      );
    }
  };

  return {
    connect,
    aliveWithinMs: ALIVE_WITHIN_MS,
    send: (outgoing, signal) => send(live, outgoing, clock, signal),
    working: (target) => (acknowledges ? working.start(target) : () => {}),
    settle: (messageId) => working.settle(messageId),
    quote: (messageId) => recent.get(messageId) ?? { quoted: { id: messageId, text: "" } },
    async aliases(jid) {
      if (!jid.endsWith("@lid") || !live) return [];
      const number = await live.sock.signalRepository.lidMapping.getPNForLID(jid).catch(() => null);
      return number === null ? [] : [bareJid(number)];
    },
    fetchMedia: (media, signal) => fetchMedia(media, url, signal),
    markRead(target) {
      const key = keyOf(target);
      if (settings?.sendReadReceipts === false || !key || !live?.isOpen) return;
      live.sock.readMessages([key]).catch(() => {});
    },
    status: () => state.status(),

    async link() {
      await loadLibrary();
      if ((await credentials.linkedAs()) === undefined) state.request({ by: "qr" });
    },

    async requestPairingCode(phone) {
      await loadLibrary();
      if ((await credentials.linkedAs()) !== undefined) {
        throw new GatewayError("CONFLICT", "This account is linked already; unlink it first.");
      }
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      state.request({ by: "code", phone: phone.replace(/\D/g, "") });
      const { method } = state;
      const unwatch = state.onChange(() => {
        const { pairingCode: code } = state.status();
        if (code !== undefined || state.method !== method) resolve(code);
      });
      const cancel = clock.after(CODE_MS, () => resolve(undefined));
      const code = await promise;
      unwatch();
      cancel();
      if (code !== undefined) return code;
      if (state.method === method) state.unlinked();
      throw new GatewayError("INTERNAL", "WhatsApp gave no pairing code; try again.");
    },

    unlink() {
      unlinking ??= (async () => {
        try {
          if (live?.isOpen) await live.sock.logout().catch(() => {});
          await live?.close();
          // What the connection still writes has to be written before it is wiped.
          await running;
          await credentials.wipe();
          state.unlinked();
        } finally {
          unlinking = undefined;
        }
      })();
      return unlinking;
    },

    async close() {
      working.stop();
    },
  };
}
