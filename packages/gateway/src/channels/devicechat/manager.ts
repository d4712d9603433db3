import { GatewayError } from "@agent-gateway/contract";
import { renderSVG } from "uqr";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Connection, InboundMessage } from "../types.ts";
import type { Credentials, OpenCredentials } from "./credentials.ts";
import type { Ending } from "./disconnect.ts";
import { type Library, loadLibrary } from "./library.ts";
import { LINK_WINDOW_MS, type LinkMethod, type LinkState } from "./link-state.ts";
import { createDeviceMemory, type DeviceSocket, openSocket } from "./socket.ts";

/** How long a caller waits for a pairing code. */
const CODE_MS = 30_000;
/** Clocks of phones and of this machine differ; messages older than the link by more than this are history. */
const HISTORY_SLACK_MS = 10 * 60_000;

export interface ManagerDeps {
  credentials: Credentials;
  state: LinkState;
  /** Address of the provider; its own when undefined. */
  url: string | undefined;
  clock: Clock;
  log: Logger;
  /** Told of each message before it is stored. */
  onMessage(message: InboundMessage): void;
}

const dataUrl = (text: string) =>
  `data:image/svg+xml;base64,${Buffer.from(renderSVG(text, { border: 4 })).toString("base64")}`;

/** Links one account to its phone, and keeps to one connection at a time. */
export function createManager({ credentials, state, url, clock, log, onMessage }: ManagerDeps) {
  const memory = createDeviceMemory(clock);
  let live: DeviceSocket | undefined;
  let running: Promise<unknown> = Promise.resolve();
  /** Set while the link is being ended. */
  let unlinking: Promise<void> | undefined;

  const askForCode = async (socket: DeviceSocket, phone: string): Promise<void> => {
    try {
      state.showCode(await socket.sock.requestPairingCode(phone));
    } catch (error) {
      log.warn({ err: error }, "could not get a pairing code");
      state.unlinked();
    }
  };

  const runSocket = async (
    library: Library,
    opened: OpenCredentials,
    method: LinkMethod | undefined,
    connection: Connection,
  ): Promise<Ending> => {
    const since = Number(connection.position() ?? 0) - HISTORY_SLACK_MS;
    let asked = false;
    let scanned = false;
    const socket = openSocket({
      library,
      credentials: opened,
      url,
      connection: {
        alive: () => connection.alive(),
        receive(messages) {
          messages.forEach(onMessage);
          return connection.receive(messages);
        },
      },
      clock,
      log,
      memory,
      since: () => since,
      ...(method?.by === "code" && { qrTimeout: LINK_WINDOW_MS }),
      onQr(text) {
        if (method?.by === "qr") state.showQr(dataUrl(text));
        else if (method && !asked) {
          asked = true;
          void askForCode(socket, method.phone);
        }
      },
      onScanned() {
        scanned = true;
        state.scanned();
        connection.savePosition(String(clock.now())).catch((error) => {
          log.warn({ err: error }, "could not store the time of the link");
        });
      },
      onOpen: (me) => state.linked(me),
    });
    live = socket;
    const stop = () => void socket.close();
    connection.signal.addEventListener("abort", stop, { once: true });
    // Given up, or restarted in another way: this socket has no purpose any more.
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
    }
  };

  /** One connection from its beginning to its end. */
  const runOnce = async (method: LinkMethod | undefined, connection: Connection): Promise<Ending> => {
    const library = await loadLibrary();
    const opened = await credentials.open(library);
    try {
      const left = opened.spooled();
      if (left.length > 0) await connection.receive(left);
      for (const { eventId } of left) memory.taken.set(eventId, true);
      await opened.settle(left.map(({ eventId }) => eventId));
      return await runSocket(library, opened, method, connection);
    } finally {
      await opened.close();
    }
  };

  /** Waits until somebody requests a link. */
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

  /** What the end of a connection means for the account; throws a user-facing message if it is a failure. */
  const settle = async (
    ending: Ending,
    method: LinkMethod | undefined,
    { wasLinked, again }: { wasLinked: boolean; again: boolean },
  ): Promise<void> => {
    if (method && !state.method && state.status().status === "unlinked") {
      const what = method.by === "qr" ? "scanned the QR code" : "entered the pairing code";
      throw new Error(`No phone ${what} in time.`);
    }
    if (ending.kind === "logged-out") {
      await credentials.wipe();
      state.unlinked({ loggedOut: wasLinked });
      throw new Error("The phone removed the link; link the account again.");
    }
    // Asked for another way to link, further QR codes, or the connection that follows a scan.
    if (method && state.method && state.method !== method) return;
    if (ending.kind === "qr-spent" && state.method) return;
    if (ending.kind === "restart" && !again) return;
    if (state.method?.by === "code") state.unlinked();
    throw new Error(ending.kind === "broken" ? ending.reason : "WhatsApp keeps asking for a new connection.");
  };

  return {
    /** The current connection. */
    get live() {
      return live;
    },

    async connect(connection: Connection): Promise<void> {
      const { signal } = connection;
      let last: Ending["kind"] | undefined;
      while (!signal.aborted) {
        await unlinking?.catch(() => {});
        const wasLinked = (await credentials.linkedAs()) !== undefined;
        const { method } = state;
        if (!wasLinked && !method) {
          if (state.status().status !== "unlinked") state.unlinked();
          connection.rest();
          await untilAsked(signal);
          continue;
        }
        const run = runOnce(method, connection);
        running = run.catch(() => {});
        const ending = await run;
        const again = last === ending.kind;
        last = unlinking ? undefined : ending.kind;
        if (signal.aborted) return;
        if (!unlinking) await settle(ending, method, { wasLinked, again });
      }
    },

    async link(): Promise<void> {
      await loadLibrary();
      if ((await credentials.linkedAs()) === undefined) state.request({ by: "qr" });
    },

    async requestPairingCode(phone: string): Promise<string> {
      await loadLibrary();
      if ((await credentials.linkedAs()) !== undefined) {
        throw new GatewayError("CONFLICT", "This account is already linked; unlink it first.");
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
      throw new GatewayError("INTERNAL", "Could not get a pairing code from WhatsApp; try again.");
    },

    unlink(): Promise<void> {
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
  };
}
