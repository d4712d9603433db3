import { feedLive, type Noun, onFeed } from "./feed.ts";

/** Several events in a row are one reason to look. */
const SOON_MS = 100;
/** Between two looks that events caused. */
const REST_MS = 1000;
/** While the feed tells what changes: for what no event tells, and for a connection that died without a word. */
const CALM_MS = 30_000;

/** What makes a look unnecessary. */
export interface Told {
  /** Events of these nouns change what is shown. */
  by: readonly Noun[];
  /** False while something changes that no event tells of. */
  wholly?: () => boolean;
}

/**
 * Calls `task` now, then `everyMs` after it has ended, while the page is visible; the result ends it. What the feed
 * tells of is looked at when it changes, and by time only while the feed does not come.
 */
export function poll(task: (signal: AbortSignal) => Promise<void>, everyMs: number, told?: Told): () => void {
  const control = new AbortController();
  const { signal } = control;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let due = Number.POSITIVE_INFINITY;
  let running = false;
  let again = false;
  let endedAt = Number.NEGATIVE_INFINITY;

  const plan = (waitMs: number) => {
    if (signal.aborted) return;
    clearTimeout(timer);
    due = performance.now() + waitMs;
    timer = setTimeout(run, waitMs);
  };
  const calm = () => told !== undefined && feedLive.peek() && (told.wholly?.() ?? true);
  const run = async () => {
    clearTimeout(timer);
    due = Number.POSITIVE_INFINITY;
    if (running || document.hidden || signal.aborted) return;
    running = true;
    again = false;
    await task(signal).catch(() => {});
    running = false;
    endedAt = performance.now();
    plan(again ? REST_MS : calm() ? CALM_MS : everyMs);
  };
  const changed = () => {
    if (running) again = true;
    else {
      const waitMs = Math.max(SOON_MS, endedAt + REST_MS - performance.now());
      if (performance.now() + waitMs < due) plan(waitMs);
    }
  };

  const unheard = told && onFeed((noun) => (noun === undefined || told.by.includes(noun)) && changed());
  // A feed that has ended says nothing of what happens now.
  const unwatched = told && feedLive.subscribe((live) => live || (!running && endedAt > 0 && plan(everyMs)));
  document.addEventListener("visibilitychange", run, { signal });
  void run();
  return () => {
    control.abort();
    clearTimeout(timer);
    unheard?.();
    unwatched?.();
  };
}
