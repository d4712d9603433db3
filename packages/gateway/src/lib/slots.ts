/**
 * Lets at most `limit` holders in; the others wait their turn. Resolves to the function that frees the slot. A wait ends
 * when its signal aborts: then there is no slot to free.
 */
export function createSlots(limit: number): (signal?: AbortSignal) => Promise<() => void> {
  const queue = new Set<() => void>();
  let taken = 0;
  return async (signal) => {
    let given = signal?.aborted === true;
    if (!given && taken < limit) taken++;
    else if (!given) {
      given = await new Promise<boolean>((resolve) => {
        const leave = () => {
          queue.delete(enter);
          resolve(true);
        };
        const enter = () => {
          queue.delete(enter);
          signal?.removeEventListener("abort", leave);
          resolve(false);
        };
        queue.add(enter);
        signal?.addEventListener("abort", leave, { once: true });
      });
    }
    return () => {
      if (given) return;
      given = true;
      const [next] = queue;
      if (next) next();
      else taken--;
    };
  };
}
