import type { Clock } from "../../lib/clock.ts";
import { oneLine } from "../../lib/one-line.ts";
import { deadline } from "./exchange.ts";

/** How long a message waits for the name of its sender. */
const NAME_MS = 1_500;
const NAME_CHARS = 64;
/** Names change, and a provider that does not report one is not asked for every message. */
const KEPT_MS = 60 * 60_000;
const MISSED_MS = 60_000;
const MOST = 1_000;

export interface NameCacheDeps {
  clock: Clock;
  /** Aborted when the adapter closes. */
  signal: AbortSignal;
}

/** Senders' names as reported by the provider, cached for a while: at most 64 harmless characters on one line. */
export function createNames({ clock, signal }: NameCacheDeps) {
  const known = new Map<string, { name: Promise<string | undefined>; until: number }>();

  const ask = async (
    id: string,
    lookUp: (signal: AbortSignal) => Promise<unknown>,
  ): Promise<string | undefined> => {
    const late = deadline(clock, NAME_MS, signal);
    const ended = new Promise<undefined>((resolve) => {
      late.signal.addEventListener("abort", () => resolve(undefined), { once: true });
    });
    const name = await Promise.race([lookUp(late.signal), ended]).then(
      (answer) => oneLine(answer, NAME_CHARS),
      () => undefined,
    );
    late.end();
    const entry = known.get(id);
    if (entry && name === undefined) entry.until = clock.elapsed() + MISSED_MS;
    return name;
  };

  return (id: string, lookUp: (signal: AbortSignal) => Promise<unknown>): Promise<string | undefined> => {
    const found = known.get(id);
    if (found && found.until > clock.elapsed()) return found.name;
    known.delete(id);
    const [oldest] = known.keys();
    if (known.size >= MOST && oldest !== undefined) known.delete(oldest);
    const entry = { name: Promise.resolve<string | undefined>(undefined), until: clock.elapsed() + KEPT_MS };
    known.set(id, entry);
    entry.name = ask(id, lookUp);
    return entry.name;
  };
}
