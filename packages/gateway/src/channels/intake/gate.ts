/** Lets at most so many tasks of an agent run at once; the others wait in order. */
export function createGate(limit: (agentId: string) => number) {
  const gates = new Map<string, { running: number; waiting: Array<() => void> }>();

  return async (agentId: string, task: () => Promise<void>): Promise<void> => {
    const gate = gates.get(agentId) ?? { running: 0, waiting: [] };
    gates.set(agentId, gate);
    // Who is let in takes the place of the one that left, so nobody can slip in between.
    if (gate.running >= limit(agentId)) await new Promise<void>((resolve) => gate.waiting.push(resolve));
    else gate.running++;
    try {
      await task();
    } finally {
      const next = gate.running <= limit(agentId) ? gate.waiting.shift() : undefined;
      if (next) next();
      else gate.running--;
    }
  };
}
