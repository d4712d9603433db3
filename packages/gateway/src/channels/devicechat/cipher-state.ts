import { AsyncLocalStorage } from "node:async_hooks";
import type { SignalDataSet, SignalKeyStore, SignalKeyStoreWithTransaction } from "baileys";
import { createMutex } from "../../lib/mutex.ts";

/** Who uses the cipher towards one address; of all accounts in the process. */
const lines = new Map<string, { run: ReturnType<typeof createMutex>; users: number }>();

/**
 * One use of the cipher per address at a time. The cipher library has one queue per address for all accounts, and
 * runs what waits there in the context of whoever came first: what it changes then goes to a transaction of another
 * account, or to one that is over, and is lost.
 */
async function alone<T>(address: string, task: () => Promise<T>): Promise<T> {
  const line = lines.get(address) ?? { run: createMutex(), users: 0 };
  lines.set(address, line);
  line.users++;
  try {
    return await line.run(task);
  } finally {
    if (--line.users === 0) lines.delete(address);
  }
}

/** Uses of the cipher whose outcome is kept. */
export interface CipherState {
  /** Deciphers, or begins a session: the transaction around it keeps what it changes. */
  use<T>(address: string, task: () => Promise<T>): Promise<T>;
  /**
   * Enciphers. What this changed is on disk before the result may be written to the line: the library writes it with
   * the transaction that sends the message, and takes it back when the line breaks meanwhile. The next message would
   * then be enciphered with a key that was used already, and nobody could read it.
   * @param name Of the transaction.
   */
  encipher<T>(name: string, address: string, task: () => Promise<T>): Promise<T>;
}

/** @param store Where `keys` puts what a transaction changed. */
export function keepCipherState(
  keys: SignalKeyStoreWithTransaction,
  store: Pick<SignalKeyStore, "set">,
): CipherState {
  /** What the transaction of the moment changed and is not on disk yet. */
  const pending = new AsyncLocalStorage<SignalDataSet[]>();
  const set = keys.set.bind(keys);
  const transaction = keys.transaction.bind(keys);
  keys.transaction = (task, name) =>
    keys.isInTransaction() ? transaction(task, name) : pending.run([], () => transaction(task, name));
  keys.set = async (data) => {
    await set(data);
    pending.getStore()?.push(data);
  };
  return {
    use: alone,
    encipher: (name, address, task) =>
      keys.transaction(async () => {
        const result = await alone(address, task);
        // All of it: the session may have come from another address, where it must not be found any more.
        for (const change of pending.getStore()?.splice(0) ?? []) await store.set(change);
        return result;
      }, name),
  };
}
