import type { Param, Row, Statement } from "../statement.ts";

/** A store that no gateway uses, or a snapshot of one, as a copy reads and fills it. */
export interface CopySide {
  /** Names it in sentences, and tells it from others; without a password. */
  readonly name: string;
  /** A snapshot: as it was at one moment, whoever uses the store meanwhile. */
  readonly frozen: boolean;
  all<T = Row>(text: string, params?: readonly Param[]): Promise<T[]>;
  /** Makes them together; resolves when that is durable. */
  write(statements: readonly Statement[]): Promise<void>;
  columns(table: string): Promise<string[]>;
  /** The highest id that tables with ids of their own have ever given, as far as they know. */
  highestIds(): Promise<Record<string, number>>;
  /** Statements that store rows of a table, and what search needs of them. */
  inserting(table: string, columns: readonly string[], rows: readonly Row[]): Statement[];
  /** What slows the rows down is taken away. */
  prepare(): Promise<void>;
  /** Builds what is derived from the rows; no id up to these is given again. May run again after a crash. */
  complete(highestIds: Readonly<Record<string, number>>): Promise<void>;
  /** Whether a gateway works on it at the moment. */
  inUse(): Promise<boolean>;
  close(): Promise<void>;
}
