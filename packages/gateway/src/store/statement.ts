/** What a statement's `?` can stand for. Numbers are whole, up to 2^53 in both directions; one with a fraction is a text. */
export type Param = string | number | null;
export type Row = Record<string, unknown>;

/** One SQL statement of a unit. */
export interface Statement {
  sql: string;
  params: readonly Param[];
  /** Nobody asks what it answers. */
  silent?: true;
  /** Holds for the rest of the transaction: units that share one need to say it only once. */
  lasting?: true;
}

/** Result of one statement of a unit: the number of rows it changed, or with RETURNING those rows. */
export interface StatementResult {
  changes: number;
  rows: Row[];
}
