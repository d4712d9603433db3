/** Lets at most `limit` holders in; the others wait their turn. Resolves to the function that frees the slot. */
export function createSlots(limit: number): () => Promise<() => void> {
  const queue: Array<() => void> = [];
  let taken = 0;
  return async () => {
    if (taken >= limit) await new Promise<void>((resolve) => queue.push(resolve));
    else taken++;
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const next = queue.shift();
      if (next) next();
      else taken--;
    };
  };
}
