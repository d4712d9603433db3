import type { SignalKeyStoreWithTransaction } from "baileys";
import type { Clock } from "../../lib/clock.ts";

/** Longer than a transaction takes, questions to the provider included; then the next goes on all the same. */
const PATIENCE_MS = 10_000;
/** What the library begins while it holds a lock that other transactions wait for. */
const FREE = /^(?:lid-mapping|delete-.*)$/;

/**
 * Lets one transaction follow the other. The library keeps those of different names apart only, and each writes what
 * it read at its beginning: a message that comes in while another goes out to the same person would lose the state
 * of the cipher that one of them left.
 */
export function serializeTransactions(keys: SignalKeyStoreWithTransaction, clock: Clock): void {
  const inner = keys.transaction.bind(keys);
  let last: Promise<unknown> = Promise.resolve();
  keys.transaction = async (task, name) => {
    if (keys.isInTransaction() || FREE.test(name)) return inner(task, name);
    const before = last;
    const { promise: done, resolve: end } = Promise.withResolvers<void>();
    last = before.then(() => done);
    const { promise: late, resolve: giveUp } = Promise.withResolvers<void>();
    const cancel = clock.after(PATIENCE_MS, giveUp);
    await Promise.race([before, late]);
    cancel();
    try {
      return await inner(task, name);
    } finally {
      end();
    }
  };
}
