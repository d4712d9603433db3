/** Lets a limited number of an agent's tasks run at once; the others wait in order. */
export function createGate(limit: (agentId: string) => number) {
  const gates = new Map<string, { running: number; waiting: Array<() => void> }>();

  return async (agentId: string, task: () => Promise<void>): Promise<void> => {
    const gate = gates.get(agentId) ?? { running: 0, waiting: [] };
    gates.set(agentId, gate);
    // The next task takes over the slot directly, so that no one can slip in between.
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
