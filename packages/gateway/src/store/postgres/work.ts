import type { AsOwner } from "../directory.ts";
import type { Param, Statement, StatementResult } from "../statement.ts";
import type { PostgresStatement } from "./batch.ts";
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
  /** One transaction for what no time limit would allow at once. When its connection breaks, it may have been stored or not. */
  writeInSteps(steps: Steps): Promise<void>;
}

/** Makes steps of a transaction; resolves to the statements that it ends with, for which others may have to wait. */
export type Steps = (
  step: (statements: readonly Statement[]) => Promise<StatementResult[]>,
) => Promise<readonly Statement[]>;

const sent = ({ sql, params }: Statement): PostgresStatement => ({ text: numbered(sql), values: params });

export function createWork(pool: Pool, path: string): Work {
  const begin: readonly PostgresStatement[] = [
    { text: "BEGIN", values: [] },
    settings(path, LIMITS_MS.long),
    // Compiling a statement takes longer than it saves: these run for milliseconds, with costs that say otherwise.
    { text: "SELECT set_config('jit', 'off', true)", values: [] },
  ];
  const commit: PostgresStatement = { text: "COMMIT", values: [] };
  const run = async (statements: readonly Statement[], reads: boolean, signal?: AbortSignal) => {
    try {
      const batch = [...begin, ...statements.map(sent), commit];
      return (await pool.run("long", batch, { signal, reads })).slice(begin.length, -1);
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
    async writeInSteps(steps) {
      try {
        await pool.apart(async (runApart) => {
          await runApart(begin);
          const last = await steps((statements) => runApart(statements.map(sent)));
          await runApart([...last.map(sent), commit]);
        });
      } catch (error) {
        throw toldAs(error);
      }
    },
  };
}

/** The same work, each of whose transactions has to be the owner's of an agent. */
export const ownedWork = ({ read, write, writeInSteps }: Work, asOwner: AsOwner): Work => ({
  read,
  write: (statements) =>
    asOwner(async (fence) => (await write([...fence, ...statements])).slice(fence.length)),
  writeInSteps: (steps) =>
    asOwner(async (fence) => writeInSteps(async (step) => [...fence, ...(await steps(step))])),
});
