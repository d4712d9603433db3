import type { AsOwner, Shared } from "./directory.ts";
import type { Exports } from "./exports.ts";
import type { Imports } from "./imports.ts";
import type { Removal } from "./removal.ts";
import type { Search } from "./search.ts";
import type { Sql } from "./sql/index.ts";
import type { Statement, StatementResult } from "./statement.ts";

/**
 * A database that the repositories work on. The statements they write are understood by each; what only one database can
 * do, or each does in its own way, is behind a port of its own.
 */
export interface Driver extends Sql {
  readonly name: "sqlite" | "postgres";
  /** False while it does not answer. Known without asking it. */
  readonly ok: boolean;
  /** Size of the write-ahead log, where the driver keeps one. */
  walBytes?(): Promise<number>;
  /**
   * Runs the statements as one transaction; resolves when it is durable. Transactions take effect in the order in which
   * they were asked for. Rejects with nothing changed.
   */
  write(statements: readonly Statement[]): Promise<StatementResult[]>;
  /** When it was opened: ids of messages up to this one may have been given. */
  readonly givenIds: number;
  readonly search: Search;
  /** @param asOwner see {@link Driver.imports} */
  removal(asOwner: (agentId: string) => AsOwner): Removal;
  readonly exports: Exports;
  /**
   * @param range reserves ids of messages in a row; resolves to the first
   * @param asOwner what writes for an agent, as its owner at the time of this call, has to run in
   */
  imports(range: (count: number) => Promise<number>, asOwner: (agentId: string) => AsOwner): Imports;
  /** Undefined where a store has only one gateway. */
  readonly shared?: Shared;
  /** What it wants done at times: part of the scheduler's jobs. */
  housekeeping?: { everyMs: number; statements(): readonly Statement[] };
  /** The start has succeeded: what was kept in case it would not is given up a day from now. */
  started(): void;
  /** Transactions since the start. */
  readonly units: number;
  /** Resolves when it has failed for good: nothing can be stored any more. */
  readonly died: Promise<Error>;
  /** Accepts nothing more; resolves when every accepted transaction is durable or rejected, within 1.5 s. */
  close(): Promise<void>;
}
