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
