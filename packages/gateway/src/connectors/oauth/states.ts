import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";

const LIFE_MS = 10 * 60_000;
const MAX_OPEN = 200;

/**
 * Sign-ins that have begun and wait for their callback. Each state is good once, for ten minutes; a restart forgets
 * them all. The oldest gives way when there are too many.
 */
export function createStates<T>(clock: Pick<Clock, "elapsed">) {
  const open = new Map<string, { value: T; until: number }>();
  // What is looked up tells nothing about the states that are there, by how long it takes.
  const keyOf = (state: string) => createHash("sha256").update(state).digest("hex");
  const sweep = () => {
    for (const [key, { until }] of open) if (until <= clock.elapsed()) open.delete(key);
  };
  return {
    /** @returns the state */
    add(value: T): string {
      sweep();
      const [oldest] = open.keys();
      if (open.size >= MAX_OPEN && oldest !== undefined) open.delete(oldest);
      const state = randomBytes(32).toString("base64url");
      open.set(keyOf(state), { value, until: clock.elapsed() + LIFE_MS });
      return state;
    },
    /** Uses a state up; undefined if it is unknown, over or used. */
    take(state: string): T | undefined {
      sweep();
      const key = keyOf(state);
      const found = open.get(key);
      open.delete(key);
      return found?.value;
    },
  };
}
