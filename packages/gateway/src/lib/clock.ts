/** The gateway's clock; tests inject their own. */
export interface Clock {
  /** Unix milliseconds: what is stored and shown. The system may set it back or on at any time. */
  now(): number;
  /** Milliseconds since some moment; nothing sets it. For durations and deadlines. */
  elapsed(): number;
  /** Runs `task` once after `ms`; the returned function cancels it. The timer never keeps the process alive. */
  after(ms: number, task: () => void): () => void;
  /** Runs `task` every `ms` until cancelled. */
  every(ms: number, task: () => void): () => void;
}

const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, Math.min(Math.max(0, ms), MAX_TIMER_MS));
    timer.unref();
    return () => clearTimeout(timer);
  },
  every(ms, task) {
    const timer = setInterval(task, Math.min(Math.max(1, ms), MAX_TIMER_MS));
    timer.unref();
    return () => clearInterval(timer);
  },
};

/** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}
