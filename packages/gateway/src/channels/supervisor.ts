import { type Clock, sleep } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { ChannelAdapter, Connection, InboundMessage } from "./types.ts";

/** State of one connection; times are Unix ms. */
export interface ConnectionState {
  /** Whether inbound life was proven within the channel's own interval. */
  connected: boolean;
  lastAliveAt: number | null;
  /** When the proof expires by itself; null if the supervisor watches it. */
  until: number | null;
  lastError: string | null;
  /** Connections started since the gateway's start. */
  attempts: number;
}

export interface SupervisorDeps {
  adapter: ChannelAdapter;
  clock: Clock;
  log: Logger;
  state: ConnectionState;
  receive(messages: readonly InboundMessage[]): Promise<void>;
  position(): string | undefined;
  savePosition(value: string): Promise<void>;
  /** Called before each connection but the first. */
  onReconnect(): void;
}

const BACKOFF_FIRST_MS = 1_000;
const BACKOFF_MAX_MS = 60_000;
/** A connection that was alive this long was a good one: the next failure starts with the shortest pause. */
const GOOD_AFTER_MS = 10_000;
/** Failures counted after a connection that was alive for a moment: a pause of up to 8 s. */
const MOST_AFTER_LIFE = 4;
const DEFAULT_ALIVE_MS = 90_000;
/** An adapter that does not let go of its connection in this time is given up with an error in the log. */
const ENDING_MS = 30_000;

/**
 * Keeps one connection alive: never two at a time, with a jittered pause between them, and none that is silent for
 * longer than its channel allows. The returned function ends it, and resolves when the connection is gone.
 */
export function supervise(deps: SupervisorDeps): () => Promise<void> {
  const { adapter, clock, log, state } = deps;
  const stopped = new AbortController();

  /** Resolves when the connection is gone, to whether it ever came alive. */
  const once = async (): Promise<boolean> => {
    const ended = new AbortController();
    const signal = AbortSignal.any([stopped.signal, ended.signal]);
    const allowed = adapter.aliveWithinMs ?? DEFAULT_ALIVE_MS;
    let last = clock.elapsed();
    let lived = false;
    let resting = false;
    let silent = false;
    const watch = clock.every(Math.max(250, Math.min(5_000, allowed / 4)), () => {
      if (resting || clock.elapsed() - last <= allowed) return;
      silent = true;
      state.connected = false;
      state.lastError = "Nothing received from the provider for too long.";
      ended.abort();
    });
    const connection: Connection = {
      signal,
      alive() {
        if (signal.aborted) return;
        last = clock.elapsed();
        lived = true;
        resting = false;
        state.connected = true;
        state.lastAliveAt = clock.now();
        state.lastError = null;
      },
      rest() {
        resting = true;
        state.connected = false;
      },
      async receive(messages) {
        // A message from a connection that was given up is not lost: the provider keeps what was not confirmed.
        if (signal.aborted) throw new Error("the connection was closed");
        await deps.receive(messages);
      },
      position: deps.position,
      savePosition: deps.savePosition,
    };
    try {
      await untilGone(adapter.connect!(connection), signal, clock, log);
      if (!silent && !stopped.signal.aborted) state.lastError ??= "The connection was closed.";
    } catch (error) {
      if (!silent && !stopped.signal.aborted) {
        state.lastError = error instanceof Error ? error.message : "The connection was lost.";
      }
    } finally {
      watch();
      state.connected = false;
    }
    return lived;
  };

  const run = async () => {
    let failures = 0;
    while (!stopped.signal.aborted) {
      const begun = clock.elapsed();
      if (state.attempts++ > 0) deps.onReconnect();
      const alive = await once();
      if (stopped.signal.aborted) return;
      const good = alive && clock.elapsed() - begun > GOOD_AFTER_MS;
      // A connection that came alive shows that the provider is there, so its pause is shorter than for one that never did.
      failures = good ? 1 : Math.min(failures + 1, alive ? MOST_AFTER_LIFE : Number.POSITIVE_INFINITY);
      const backoff = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** Math.min(failures - 1, 10));
      log.warn({ why: state.lastError, failures }, "connection lost; reconnecting");
      await sleep(clock, backoff * (0.5 + Math.random() / 2), stopped.signal);
    }
  };

  const running = run();
  return async () => {
    stopped.abort();
    await running;
  };
}

/** Resolves with the connection, which has a while to end after its signal fires. */
async function untilGone(
  connecting: Promise<void>,
  signal: AbortSignal,
  clock: Clock,
  log: Logger,
): Promise<void> {
  let cancel = () => {};
  const overdue = new Promise<void>((resolve) => {
    const arm = () => {
      cancel = clock.after(ENDING_MS, () => {
        log.error({}, "a connection did not close when asked to");
        resolve();
      });
    };
    if (signal.aborted) arm();
    else signal.addEventListener("abort", arm, { once: true });
  });
  try {
    await Promise.race([connecting, overdue]);
  } finally {
    cancel();
  }
}
