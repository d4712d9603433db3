import { randomUUID } from "node:crypto";

/** Columns of a result, as `pg` tells of them. */
export type Columns = ReadonlyArray<{ name: string; dataTypeID: number }>;

/** A statement that the server knows by name, so that it reads the text only once. */
export interface Named {
  readonly name: string;
  /** Whether its text was sent. */
  sent: boolean;
  /** Known after the first answer. */
  columns: Columns | undefined;
}

export const newName = (name: string): Named => ({ name, sent: false, columns: undefined });

/** Names that last as long as a connection. */
export interface Names {
  /** Its name, once the text has been used often enough to be worth one. */
  of(text: string): Named | undefined;
}

const WORTH_USES = 3;
/** The server keeps some ten kilobytes for each. */
const MAX_NAMES = 200;
const MAX_TEXTS = 1000;

/**
 * Names for the statements of one connection, for whose plans the server has to be asked only once. No transaction
 * relies on them: a statement without a name does the same, only more slowly.
 */
export function createNames(): Names {
  const uses = new Map<string, number>();
  const named = new Map<string, Named>();
  // Nobody else's: should a pooler go unnoticed, a name is unknown there, and never means another statement.
  const own = randomUUID();
  return {
    of(text) {
      const known = named.get(text);
      if (known || named.size >= MAX_NAMES) return known;
      const count = (uses.get(text) ?? 0) + 1;
      if (count < WORTH_USES) {
        if (uses.size >= MAX_TEXTS) uses.clear();
        uses.set(text, count);
        return undefined;
      }
      uses.delete(text);
      const entry = newName(`kept_${named.size + 1}_${own}`);
      named.set(text, entry);
      return entry;
    },
  };
}
