import type { Clock } from "../../lib/clock.ts";

/** A short trouble passes by itself; of a longer one the chat is told. */
const TELL_AFTER_MS = 10_000;
const LOOK_EVERY_MS = 1_000;

/**
 * Watches what keeps the model of a running turn from answering.
 * @param trouble one sentence while there is something
 * @param tell called once for a turn, after the trouble has lasted ten seconds
 */
export function watchTrouble(
  clock: Clock,
  trouble: () => string | undefined,
  tell: (line: string) => void = () => {},
): { line(): string; end(): void } {
  let since: number | undefined;
  let told = false;
  const lineOf = (cause: string) => `${cause} Still trying.`;
  const end = clock.every(LOOK_EVERY_MS, () => {
    const cause = trouble();
    if (cause === undefined) since = undefined;
    else since ??= clock.now();
    if (told || cause === undefined || clock.now() - since! < TELL_AFTER_MS) return;
    told = true;
    tell(lineOf(cause));
  });
  return {
    /** What a progress message shows meanwhile; empty where there is nothing to tell. */
    line() {
      const cause = trouble();
      return told && cause !== undefined ? lineOf(cause) : "";
    },
    end,
  };
}
