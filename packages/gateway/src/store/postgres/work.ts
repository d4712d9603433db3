import type { AsOwner } from "../directory.ts";
import type { Param, Statement, StatementResult } from "../statement.ts";
import { LIMITS_MS, type Pool } from "./pool.ts";
import { toldAs } from "./problems.ts";
import { settings } from "./settings.ts";
import { numbered } from "./statement-text.ts";

/** Work that may take long, on the connections that the pool has for it, so that no unit waits for it. */
export interface Work {
  /** Reads in one statement, hence in one snapshot. The signal cancels it in the server. */
  read<T>(text: string, params: readonly Param[], signal?: AbortSignal): Promise<T[]>;
  /** One transaction. When its connection breaks, it may have been stored or not. */
  write(statements: readonly Statement[]): Promise<StatementResult[]>;
}

/** Statements of a transaction before those of its caller. */
const OWN = 3;

export function createWork(pool: Pool, path: string): Work {
  const run = async (statements: readonly Statement[], reads: boolean, signal?: AbortSignal) => {
    const sent = [
      { text: "BEGIN", values: [] },
      settings(path, LIMITS_MS.long),
      // Compiling a statement takes longer than it saves: these run for milliseconds, with costs that say otherwise.
      { text: "SELECT set_config('jit', 'off', true)", values: [] },
      ...statements.map(({ sql, params }) => ({ text: numbered(sql), values: params })),
      { text: "COMMIT", values: [] },
    ];
    try {
      return (await pool.run("long", sent, { signal, reads })).slice(OWN, -1);
    } catch (error) {
      signal?.throwIfAborted();
      throw toldAs(error);
    }
  };
  return {
    async read<T>(text: string, params: readonly Param[], signal?: AbortSignal) {
      const [only] = await run([{ sql: text, params }], true, signal);
      return only!.rows as T[];
    },
    write: (statements) => run(statements, false),
  };
}

/** The same work, each of whose transactions has to be the owner's of an agent. */
export const ownedWork = ({ read, write }: Work, asOwner: AsOwner): Work => ({
  read,
  write: (statements) =>
    asOwner(async (fence) => (await write([...fence, ...statements])).slice(fence.length)),
});
