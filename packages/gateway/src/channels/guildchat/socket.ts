import {
  DefaultWebSocketManagerOptions,
  WebSocketShardEvents as On,
  type SessionInfo,
  WebSocketShard,
} from "@discordjs/ws";
import type { Clock } from "../../lib/clock.ts";
import { type Loose, objectOf } from "../support/payload.ts";
import { API_VERSION } from "./address.ts";

/** Guilds, their messages, direct messages, and what is written in them. */
const INTENTS = (1 << 0) | (1 << 9) | (1 << 12) | (1 << 15);
const HANDSHAKE_MS = 15_000;
const HELLO_MS = 20_000;
/** Until Discord has taken the login. */
const READY_MS = 30_000;
/** The same of a session that is taken up. Whoever says nothing to that does not know it; a new one misses nothing. */
const RESUMED_MS = 5_000;
const CLOSING_MS = 2_000;
/** Any code but 1000 and 1001 leaves the session to be taken up again. */
const KEEP_SESSION = 4200;

/** An event of the socket. */
export interface Dispatch {
  type: string;
  seq: number;
  data: Loose;
}

export interface SocketDeps {
  clock: Clock;
  token: string;
  /** Address for a new session. */
  url: string;
  /** The session to take up, as it stands now; undefined for a new one. */
  session(): { id: string; url: string; seq: number } | undefined;
  /** A new session began. */
  began(session: { id: string; url: string; seq: number }): void;
  /** Discord does not take the session up any more. */
  lost(): void;
  /** Resolves when a login is allowed; rejects when `signal` aborts. */
  loginTurn(signal: AbortSignal): Promise<void>;
  dispatch(event: Dispatch): void;
  /** A heartbeat was acknowledged. */
  beat(): void;
}

/** How one socket ended. */
export interface Ending {
  /** https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes */
  code: number;
  /** The session was taken up, or a new one began. */
  ready: boolean;
  /** Discord greeted. */
  greeted: boolean;
}

/** What is used of the client's own socket. */
interface Wire {
  readonly readyState: number;
  terminate(): void;
}
const OPEN = 1;

/**
 * One socket from its opening to its end, by Discord's own client. The client would open the next one by itself; here
 * each has to be asked for, so that there is never a second one, and pauses are the supervisor's.
 */
export async function runSocket(deps: SocketDeps, signal: AbortSignal): Promise<Ending> {
  const { clock } = deps;
  const ended = Promise.withResolvers<number>();
  let over = false;
  let ready = false;
  let greeted = false;
  let cancelReady = () => {};

  const sessionInfo = (): SessionInfo | null => {
    const session = deps.session();
    if (!session) return null;
    return {
      shardId: 0,
      shardCount: 1,
      sessionId: session.id,
      sequence: session.seq,
      resumeURL: session.url,
    };
  };
  const shard = new WebSocketShard(
    {
      options: {
        ...DefaultWebSocketManagerOptions,
        token: deps.token,
        intents: INTENTS as number,
        version: API_VERSION,
        shardCount: 1,
        gatewayInformation: {
          url: deps.url,
          shards: 1,
          session_start_limit: { total: 1, remaining: 1, reset_after: 0, max_concurrency: 1 },
        },
        handshakeTimeout: HANDSHAKE_MS,
        helloTimeout: HELLO_MS,
        readyTimeout: READY_MS,
      },
      // The client asks for it before it opens a socket: without an answer it opens none.
      retrieveSessionInfo: () => (over ? new Promise<never>(() => {}) : sessionInfo()),
      updateSessionInfo(_, info) {
        if (over) return;
        if (!info) {
          if (greeted) deps.lost();
        } else if (info.sessionId !== deps.session()?.id) {
          deps.began({ id: info.sessionId, url: info.resumeURL, seq: info.sequence });
        }
      },
      waitForIdentify: (_, closed) => deps.loginTurn(AbortSignal.any([closed, signal])),
    },
    0,
  );

  const stop = () => void close();
  const armReady = () => {
    cancelReady();
    cancelReady = clock.after(deps.session() ? RESUMED_MS : READY_MS, () => {
      if (over) return;
      deps.lost();
      stop();
    });
  };
  const close = async () => {
    over = true;
    const wire = () => (Reflect.get(shard, "connection") ?? undefined) as Wire | undefined;
    // The client may be about to open it.
    await new Promise<void>((resolve) => setImmediate(resolve));
    const socket = wire();
    if (!socket) return ended.resolve(KEEP_SESSION);
    const cancel = clock.after(CLOSING_MS, () => {
      socket.terminate();
      ended.resolve(KEEP_SESSION);
    });
    // The client would leave a socket that is not open yet open for ever, and waits in vain for one that is not ready.
    if (!ready || socket.readyState !== OPEN) socket.terminate();
    else void shard.destroy({ code: KEEP_SESSION, reason: "Closing" });
    await ended.promise;
    cancel();
  };

  shard.on(On.Closed, ({ code }) => {
    over = true;
    ended.resolve(code);
  });
  // A close always follows.
  shard.on(On.Error, () => {});
  shard.on(On.Hello, () => {
    greeted = true;
    armReady();
  });
  shard.on(On.HeartbeatComplete, () => {
    if (ready && !over) deps.beat();
  });
  shard.on(On.Dispatch, ({ data: event }) => {
    if (over) return;
    if (event.t === "READY" || event.t === "RESUMED") {
      ready = true;
      cancelReady();
    } else if (!ready) armReady();
    deps.dispatch({ type: event.t, seq: event.s, data: objectOf(event.d) });
  });

  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) return { code: KEEP_SESSION, ready, greeted };
    // Rejects with what the events tell as well.
    shard.connect().catch(() => {});
    const code = await ended.promise;
    return { code, ready, greeted };
  } finally {
    over = true;
    cancelReady();
    signal.removeEventListener("abort", stop);
  }
}
