/** Calls `task` now, then `everyMs` after it has ended, while the page is visible; the result ends it. */
export function poll(task: (signal: AbortSignal) => Promise<void>, everyMs: number): () => void {
  const control = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = false;
  const run = async () => {
    clearTimeout(timer);
    if (running || document.hidden) return;
    running = true;
    await task(control.signal).catch(() => {});
    running = false;
    if (!control.signal.aborted) timer = setTimeout(run, everyMs);
  };
  document.addEventListener("visibilitychange", run, { signal: control.signal });
  void run();
  return () => {
    control.abort();
    clearTimeout(timer);
  };
}
