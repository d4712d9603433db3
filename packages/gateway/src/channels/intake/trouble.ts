import type { Clock } from "../../lib/clock.ts";

/** Short problems pass on their own; longer ones are reported to the chat. */
const TELL_AFTER_MS = 10_000;
const LOOK_EVERY_MS = 1_000;

/**
 * Watches for problems that keep the model of a running turn from answering.
 * @param trouble one sentence while there is a problem
 * @param tell called once per turn, when a problem has lasted ten seconds
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
    else since ??= clock.elapsed();
    if (told || cause === undefined || clock.elapsed() - since! < TELL_AFTER_MS) return;
    told = true;
    tell(lineOf(cause));
  });
  return {
    /** The progress message meanwhile; empty if there is nothing to report. */
    line() {
      const cause = trouble();
      return told && cause !== undefined ? lineOf(cause) : "";
    },
    end,
  };
}
