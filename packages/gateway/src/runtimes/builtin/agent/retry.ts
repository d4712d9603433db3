import { retryEvent } from "../../upstream.ts";
import type { WireEvent } from "../protocol.ts";

const FIRST_MS = 500;
/** A provider may ask for a longer pause; together the pauses stay within 15 s at three repeats. */
const MAX_MS = 4_500;

/** Answers after which the same request may succeed. */
const mayPass = (status: number) => status === 408 || status === 409 || status === 429 || status >= 500;

export interface RetryOptions {
  /** Further attempts after the first. */
  maxRetries: number;
  emit(event: WireEvent): void;
  fetch?: typeof fetch;
  /** Resolves after `ms`, or rejects when the signal is aborted. */
  pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** `fetch` for model calls: repeats what may pass, with growing pauses, and tells of each repeat. */
export function createRetryingFetch(options: RetryOptions): typeof fetch {
  const { maxRetries, emit, pause = pauseFor } = options;
  const ask = options.fetch ?? fetch;
  return async (input, init) => {
    const signal = init?.signal ?? undefined;
    for (let attempt = 1; ; attempt++) {
      const last = attempt > maxRetries;
      let answer: Response | undefined;
      try {
        answer = await ask(input, init);
        if (last || !mayPass(answer.status)) return answer;
        await answer.body?.cancel();
      } catch (error) {
        if (last || signal?.aborted) throw error;
      }
      emit(retryEvent({ attempt, of: maxRetries, status: answer?.status }));
      await pause(pauseAfter(attempt, answer), signal);
    }
  };
}

function pauseAfter(attempt: number, answer: Response | undefined): number {
  const asked = Number(answer?.headers.get("retry-after") ?? 0) * 1000;
  const growing = FIRST_MS * 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
  return Math.min(MAX_MS, Math.max(growing, asked || 0));
}

function pauseFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
