import { GatewayError } from "@agent-gateway/contract";
import type { Statement } from "./statement.ts";

/** Ids reserved at a time. */
const BLOCK = 1000;

/**
 * Gives out the ids of messages before they are stored, so that everything that names a message can be stored with it.
 * Every id is given once, whatever a crash loses: an id below the stored reservation is never given by a later start.
 * Within one agent, a message stored later has a higher id, because all of an agent's messages get theirs here, and
 * whoever takes over an agent begins with a block of its own. Across agents ids say nothing about order, and a higher
 * one may be stored first.
 */
export interface Ids {
  /** The id of a message that is about to be stored. May remain unused. */
  message(): number;
}

/** What the store itself does with ids. */
interface IdSource extends Ids {
  /** Takes `count` ids in a row; the first of them. */
  take(count: number): number;
  /**
   * To be added to every unit while the reservation is not stored yet: an id is then stored together with its
   * reservation, or after it, and reserving costs no unit of its own. `stored` is called when the unit is durable.
   */
  reservation(): { statements: readonly Statement[]; stored(): void };
}

/** @param reserved ids up to this one may have been given before */
export function createIds(reserved: number): IdSource {
  let next = reserved + 1;
  let end = reserved;
  let stored = reserved;
  const none = { statements: [], stored() {} };

  const take = (count: number) => {
    const first = next;
    next += count;
    if (next > end + 1) end = next - 1 + BLOCK;
    return first;
  };

  return {
    take,
    message: () => take(1),
    reservation() {
      if (end === stored) return none;
      const upto = end;
      return {
        statements: [
          {
            sql: "UPDATE id_blocks SET reserved = ? WHERE name = 'message' AND reserved < ?",
            params: [upto, upto],
            silent: true,
          },
        ],
        stored() {
          stored = Math.max(stored, upto);
        },
      };
    },
  };
}

/** Ids that one gateway reserves at a time from a store that others use as well. */
export const IDS_AT_ONCE = 100_000;

interface Block {
  next: number;
  end: number;
}

/**
 * The same where several gateways give ids: each has blocks of its own. The next one is there before the current one is
 * used up.
 * @param before the id before the first block, which is reserved already
 * @param reserve reserves ids in a row; resolves to the first
 */
export function createSharedIds(before: number, reserve: (count: number) => Promise<number>) {
  let current: Block = { next: before + 1, end: before + IDS_AT_ONCE };
  let ahead: Block | undefined;
  let asked = false;
  const block = async (): Promise<Block> => {
    const next = await reserve(IDS_AT_ONCE);
    return { next, end: next + IDS_AT_ONCE - 1 };
  };
  const askAhead = () => {
    if (asked) return;
    asked = true;
    void block()
      .then((got) => {
        ahead = got;
      })
      // The next message asks again.
      .catch(() => {})
      .finally(() => {
        asked = false;
      });
  };
  async function renew(): Promise<void> {
    const got = await block();
    // Of several at once, the newest counts.
    if (got.next > current.next) current = got;
  }
  return {
    message(): number {
      // It was reserved before an agent was taken: ids above it have been given since.
      if (ahead && ahead.next < current.next) ahead = undefined;
      if (current.next > current.end && ahead) {
        current = ahead;
        ahead = undefined;
      }
      if (!ahead && current.end - current.next < IDS_AT_ONCE / 2) askAhead();
      if (current.next > current.end)
        throw new GatewayError("UNAVAILABLE", "The store gives no ids at the moment.");
      return current.next++;
    },
    /** Every id given after this is higher than all that any gateway was given before it was called. */
    renew,
    /** Ids in a row; resolves to the first of them. */
    async range(count: number): Promise<number> {
      const first = await reserve(count);
      await renew();
      return first;
    },
  };
}
