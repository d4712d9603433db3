import type { Clock } from "../lib/clock.ts";

/** Share of the lease after which an owner that could not renew acts no more; others take its agents after all of it. */
const SELF_STOP = 0.6;
export const BEAT_MS = 1_000;
/** A beat that was not answered by then counts as lost; should it be answered later, it still counts from its start. */
const BEAT_LIMIT_MS = 2_000;

export interface LeaseDeps {
  clock: Clock;
  leaseMs(): number;
  /** @param leaseMs what others are to wait for from then on */
  beat(leaseMs: number): Promise<void>;
  /** True while another gateway is registered: alone, nobody can take anything. */
  shared(): boolean;
  /** Called when the lease is over, and not again before it was good once more. */
  onOver(): void;
  /** Called when it could not renew in time, alone or not, and not again before it could. */
  onDoubt(): void;
  onBeat(error: unknown): void;
}

/** Renews the lease of this process, and knows until when it may act. */
export function createLease({ clock, leaseMs, beat, shared, onOver, onDoubt, onBeat }: LeaseDeps) {
  let sentAt = Number.NEGATIVE_INFINITY;
  /** What others surely wait for: the configuration may change, and a beat be lost. */
  let grantedMs = leaseMs();
  let told = true;
  let doubted = true;
  let cancelBeat = () => {};
  let cancelEnd = () => {};
  let closed = false;
  const end = () => sentAt + SELF_STOP * grantedMs;
  const good = () => !closed && (clock.elapsed() < end() || (!shared() && sentAt >= 0));
  const fresh = () => !closed && clock.elapsed() < end();
  const check = () => {
    cancelEnd();
    if (!closed && !doubted && !fresh()) {
      doubted = true;
      onDoubt();
    }
    if (closed || told) return;
    // Alone, it does not end; whether it is still alone is looked at again then.
    if (good()) cancelEnd = clock.after(Math.max(BEAT_MS / 4, end() - clock.elapsed()), check);
    else {
      told = true;
      onOver();
    }
  };

  async function renew(): Promise<void> {
    const sent = clock.elapsed();
    const asked = leaseMs();
    grantedMs = Math.min(grantedMs, asked);
    try {
      await beat(asked);
      // It may have been over in between, while this process or its timers stood still.
      check();
      // What counts is when it was sent: the answer may have been on its way for long.
      if (sent >= sentAt) {
        sentAt = sent;
        grantedMs = Math.min(asked, leaseMs());
      }
      if (fresh()) told = doubted = false;
      check();
      onBeat(undefined);
    } catch (error) {
      onBeat(error);
    }
  }
  async function once(): Promise<void> {
    const sent = clock.elapsed();
    const { promise: limit, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(BEAT_LIMIT_MS, resolve);
    await Promise.race([renew(), limit]);
    cancel();
    if (closed) return;
    cancelBeat();
    cancelBeat = clock.after(Math.max(0, sent + BEAT_MS - clock.elapsed()), () => void once());
  }

  return {
    /** Begins; resolves after the first beat, or its limit. */
    start: once,
    good,
    /** True while nobody can take anything, whoever is there. */
    fresh,
    check,
    close() {
      closed = true;
      cancelBeat();
      cancelEnd();
    },
  };
}
