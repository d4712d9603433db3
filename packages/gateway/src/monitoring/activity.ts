import type { Clock } from "../lib/clock.ts";

/** Length of a step. */
const STEP_MS = 300_000;
/** A day of them, the present one included. */
const STEPS = 288;
/** How often the memory is looked at. */
const SAMPLE_MS = 60_000;
/** Durations are counted in classes, each of which ends 10 % above the one before; the last one has no end. */
const GROWTH = Math.log(1.1);
const CLASSES = 200;

interface Step {
  /** Which step since the start. */
  nth: number;
  received: number;
  replies: number;
  turns: number;
  failed: number;
  /** How many turns took how long; absent until one has ended. */
  durations: Uint32Array | undefined;
  /** Bytes; the most that was seen. */
  memory: number | null;
}

const classOf = (ms: number) =>
  Math.min(CLASSES - 1, Math.max(0, Math.ceil(Math.log(Math.max(ms, 1)) / GROWTH)));

/** The duration that this share of the counted ones stays within, to 10 %; null when none were counted. */
function within(counts: Uint32Array | undefined, share: number): number | null {
  if (!counts) return null;
  const wanted = Math.ceil(counts.reduce((sum, count) => sum + count, 0) * share);
  let seen = 0;
  const found = counts.findIndex((count) => {
    seen += count;
    return seen >= wanted;
  });
  return Math.round(Math.exp(found * GROWTH));
}

/**
 * What happened in the last 24 hours, by steps of five minutes, and how much memory it took. It is kept in memory and
 * begins anew with each start. Steps are counted by a clock that nobody sets.
 */
export function createActivity(clock: Clock, memory: () => number = () => process.memoryUsage.rss()) {
  const begun = clock.elapsed();
  const steps: Step[] = [];
  const now = () => Math.floor((clock.elapsed() - begun) / STEP_MS);
  const step = (): Step => {
    const nth = now();
    const last = steps.at(-1);
    if (last?.nth === nth) return last;
    const next = { nth, received: 0, replies: 0, turns: 0, failed: 0, durations: undefined, memory: null };
    steps.push(next);
    while (steps[0]!.nth <= nth - STEPS) steps.shift();
    return next;
  };
  const sample = () => {
    const current = step();
    current.memory = Math.max(current.memory ?? 0, memory());
  };
  clock.every(SAMPLE_MS, sample);

  return {
    received: () => void step().received++,
    sent: () => void step().replies++,
    ended(status: string, ms: number) {
      const current = step();
      current.turns++;
      if (status === "failed") current.failed++;
      current.durations ??= new Uint32Array(CLASSES);
      current.durations[classOf(ms)]! += 1;
    },
    /** One number of each kind for every step, the oldest first; the last step is still going on. */
    report() {
      sample();
      const last = now();
      const first = Math.max(0, last - STEPS + 1);
      const known = new Map(steps.map((one) => [one.nth, one]));
      const all = Array.from({ length: last - first + 1 }, (_, index) => known.get(first + index));
      return {
        from: Math.round(clock.now() - (clock.elapsed() - begun - first * STEP_MS)),
        stepMs: STEP_MS,
        received: all.map((one) => one?.received ?? 0),
        replies: all.map((one) => one?.replies ?? 0),
        turns: all.map((one) => one?.turns ?? 0),
        failed: all.map((one) => one?.failed ?? 0),
        p50Ms: all.map((one) => within(one?.durations, 0.5)),
        p95Ms: all.map((one) => within(one?.durations, 0.95)),
        memory: all.map((one) => one?.memory ?? null),
      };
    },
  };
}
