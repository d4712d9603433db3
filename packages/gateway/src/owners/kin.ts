import type { SeenNode } from "../store/index.ts";

/** A gateway raises its counter each second. */
const STILL_MS = 2_500;
/** One more beat of a gateway that has ended may have been on its way. */
const RISES = 2;

interface Known {
  counter: number;
  rises: number;
  kind: "former" | "unclear" | "copy";
}

const idOf = (home: string): string => home.split("@", 1)[0]!;

/**
 * Tells the earlier starts on a home from gateways that run on a copy of its disk. That the lock on the home was free
 * proves only for the same disk, in a system that was not started anew, that an earlier start has ended; for another, its
 * counter has to stand still.
 * @param home of this gateway: its id, and behind an `@` the disk and the start of the system
 * @param onCopy gets a gateway that runs on a copy, once
 */
export function createKin(home: string, onCopy: (node: SeenNode) => void) {
  let known = new Map<string, Known>();
  let begun = false;

  const judge = (other: SeenNode, stillMs: number): Known => {
    const { bootId, counter } = other;
    const before = known.get(bootId);
    if (!before) return { counter, rises: 0, kind: !begun && other.home === home ? "former" : "unclear" };
    if (before.kind === "copy") return before;
    if (before.counter === counter)
      return before.kind === "unclear" && stillMs >= STILL_MS ? { ...before, kind: "former" } : before;
    const rises = before.rises + 1;
    if (rises >= RISES) onCopy(other);
    return { counter, rises, kind: rises >= RISES ? "copy" : "unclear" };
  };

  return {
    /** Takes a reading of the other gateways, and how long the counter of each has stood still. */
    read(others: readonly SeenNode[], stillMs: ReadonlyMap<string, number>): void {
      const kin = others.filter((other) => idOf(other.home) === idOf(home));
      known = new Map(kin.map((other) => [other.bootId, judge(other, stillMs.get(other.bootId) ?? 0)]));
      begun = true;
    },
    /** True for an earlier start on this home. */
    isFormer: (bootId: string): boolean => known.get(bootId)?.kind === "former",
    /** It is not registered any more. Should it be once more, it lives. */
    left: (bootId: string) => void known.delete(bootId),
    /** Whether one of them may be either. */
    isUnclear: (): boolean => [...known.values()].some(({ kind }) => kind === "unclear"),
  };
}
