import type { GroupMetadata, proto, WASocket } from "baileys";
import { type Clock, sleep } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Connection } from "../types.ts";
import { type BoundedMap, boundedMap } from "./bounded.ts";
import type { OpenCredentials } from "./credentials.ts";
import { type Ending, endingOf } from "./disconnect.ts";
import { createInbound } from "./inbound.ts";
import type { Library } from "./library.ts";

/** A server that stays silent for this long while connecting is given up. */
const SILENCE_MS = 20_000;
const PING_MS = 30_000;
const QUERY_MS = 20_000;
/** A server that does not answer the end of a connection is not waited for. */
const CLOSING_MS = 1_000;
const GROUP_TTL_MS = 5 * 60_000;
const KEPT_GROUPS = 200;

/** Messages of a moment ago, of this connection and those before it. */
export interface DeviceMemory {
  /** By id, for phones that ask for one again because they could not decipher it. */
  sent: BoundedMap<proto.IMessage>;
  /** Event ids of messages that came in and are stored. */
  taken: BoundedMap<true>;
}

const KEPT_SENT = 500;
const KEPT_TAKEN = 1_000;

export const createDeviceMemory = (clock: Clock): DeviceMemory => ({
  sent: boundedMap(KEPT_SENT, () => clock.elapsed()),
  taken: boundedMap(KEPT_TAKEN, () => clock.elapsed()),
});

export interface SocketDeps {
  library: Library;
  credentials: OpenCredentials;
  /** Address of the provider; its own when undefined. */
  url: string | undefined;
  connection: Pick<Connection, "alive" | "receive">;
  clock: Clock;
  log: Logger;
  /** What outlives a connection. */
  memory: DeviceMemory;
  /** Messages that were sent before this (Unix ms) are history. */
  since(): number;
  /** The text of a QR code to scan; comes again when the code changes. */
  onQr(text: string): void;
  onScanned(): void;
  onOpen(me: string): void;
  /** How long each QR code is good for, ms; the provider's own time when undefined. */
  qrTimeout?: number;
}

/** One connection to the provider. */
export interface DeviceSocket {
  readonly sock: WASocket;
  readonly library: Library;
  /** Aborted when the connection ended. */
  readonly over: AbortSignal;
  readonly isOpen: boolean;
  /** Remembers a message that was sent, for phones that ask for it again. */
  remember(id: string, message: proto.IMessage): void;
  readonly ended: Promise<Ending>;
  /** Ends it; resolves when nothing of it is left. */
  close(): Promise<void>;
}

const nothing = () => {};
/** The library's log holds message texts and keys. */
const silent = {
  level: "silent",
  child: () => silent,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
};

/** Status updates, broadcasts and newsletters are not deciphered at all. */
const isNoise = (jid: string) => jid.endsWith("@broadcast") || jid.endsWith("@newsletter");

export function openSocket(deps: SocketDeps): DeviceSocket {
  const { library, credentials, connection, clock } = deps;
  const { sent, taken } = deps.memory;
  const { creds } = credentials.state;
  const over = new AbortController();
  const { promise: ended, resolve } = Promise.withResolvers<Ending>();
  const groups = boundedMap<GroupMetadata>(KEPT_GROUPS, () => clock.elapsed(), GROUP_TTL_MS);
  let open = false;
  /** A QR code waits for a phone: the library's pings watch over the connection. */
  let waiting = false;

  const finish = (ending: Ending) => {
    open = false;
    disarm();
    over.abort();
    resolve(ending);
  };

  let disarm = nothing;
  const arm = () => {
    disarm();
    disarm = clock.after(SILENCE_MS, () =>
      finish({ kind: "broken", reason: "WhatsApp did not answer in time." }),
    );
  };

  const inbound = createInbound({
    library,
    clock,
    store: credentials.state.keys,
    taken,
    me: () => creds.me ?? {},
    since: deps.since,
    numberOf: (lid) => sock.signalRepository.lidMapping.getPNForLID(lid),
    receive: (messages) => connection.receive(messages),
    fail() {
      // From here on the library cannot tell the provider that it has the message.
      terminate(sock);
      finish({ kind: "broken", reason: "Could not store messages." });
    },
  });

  const sock: WASocket = library.makeWASocket({
    ...(deps.url !== undefined && { waWebSocketUrl: deps.url }),
    ...(deps.qrTimeout !== undefined && { qrTimeout: deps.qrTimeout }),
    auth: credentials.state,
    logger: silent,
    browser: library.Browsers.ubuntu("Chrome"),
    connectTimeoutMs: SILENCE_MS,
    defaultQueryTimeoutMs: QUERY_MS,
    keepAliveIntervalMs: PING_MS,
    markOnlineOnConnect: false,
    syncFullHistory: false,
    shouldSyncHistoryMessage: () => false,
    emitOwnEvents: false,
    transactionOpts: { maxCommitRetries: 2, delayBetweenTriesMs: 200 },
    shouldIgnoreJid: isNoise,
    getMessage: async ({ id }) => (id ? sent.get(id) : undefined),
    cachedGroupMetadata: async (jid) => {
      const known = groups.get(jid);
      if (known) return known;
      const fresh = await sock.groupMetadata(jid);
      groups.set(jid, fresh);
      return fresh;
    },
    makeSignalRepository: inbound.repository,
  });

  inbound.attach(sock);
  sock.ws.on("frame", () => {
    if (open) connection.alive();
    else if (!waiting && !over.signal.aborted) arm();
  });
  sock.ev.on("creds.update", () => {
    credentials.save().catch((error) => deps.log.error({ err: error }, "could not store credentials"));
  });
  sock.ev.on("groups.update", (updates) => {
    for (const { id } of updates) if (id) groups.delete(id);
  });
  sock.ev.on("group-participants.update", ({ id }) => groups.delete(id));
  sock.ev.on("connection.update", ({ connection: state, lastDisconnect, qr, isNewLogin }) => {
    if (over.signal.aborted) return;
    if (qr !== undefined) {
      waiting = true;
      disarm();
      deps.onQr(qr);
    }
    if (isNewLogin) deps.onScanned();
    if (state === "open") {
      open = true;
      disarm();
      connection.alive();
      deps.onOpen(creds.me?.id ?? "");
    }
    if (state === "close") finish(endingOf(lastDisconnect?.error));
  });
  arm();

  return {
    sock,
    library,
    over: over.signal,
    get isOpen() {
      return open;
    },
    remember: (id, message) => sent.set(id, message),
    ended,
    async close() {
      finish({ kind: "broken", reason: "The connection was closed." });
      await Promise.race([sock.end(undefined), sleep(clock, CLOSING_MS)]);
      terminate(sock);
      await inbound.settled();
    },
  };
}

/** Cuts the line. The library has no call for it. */
function terminate({ ws }: WASocket): void {
  const raw: unknown = Reflect.get(ws, "socket");
  if (typeof raw === "object" && raw !== null && "terminate" in raw && typeof raw.terminate === "function") {
    raw.terminate();
  }
}
