import type { Param, Row, Statement, StatementResult } from "./statement.ts";

declare const outcome: unique symbol;

/**
 * Something the store does when it is committed; `T` is what the commit then answers for it. Rooms hand changes to one
 * another so that they take effect together. Only the store looks inside.
 */
export interface Change<T = void> {
  readonly [outcome]: T;
}

/** What {@link Change} is to the store. */
interface SqlChange<T> {
  statements: readonly Statement[];
  result: (results: readonly StatementResult[]) => T;
}

/** A statement; `?` stands for each parameter. */
export const sql = (text: string, ...params: readonly Param[]): Statement => ({ sql: text, params });

const opaque = <T>(change: SqlChange<T>) => change as unknown as Change<T>;

/** A change that answers nothing. */
export const change = (...statements: readonly Statement[]): Change =>
  opaque({
    statements: statements.map((statement) => ({ ...statement, silent: true as const })),
    result: () => undefined,
  });

/** A change of one statement that is meant for one row; answers whether it hit it. */
export const hitting = (statement: Statement): Change<boolean> =>
  opaque({ statements: [statement], result: ([only]) => only!.changes > 0 });

/** A change of one statement with `RETURNING`, and what its rows mean. */
export const returning = <T>(statement: Statement, result: (rows: readonly Row[]) => T): Change<T> =>
  opaque({ statements: [statement], result: ([only]) => result(only!.rows) });

/** A change that answers what the results of its statements, in their order, mean together. */
export const answering = <T>(
  result: (results: readonly StatementResult[]) => T,
  ...statements: readonly Statement[]
): Change<T> => opaque({ statements, result });

const inside = <T>(made: Change<T>) => made as unknown as SqlChange<T>;

/** Several changes as one, which answers what the first does. */
export const followed = <T>(first: Change<T>, ...others: readonly Change<unknown>[]): Change<T> =>
  opaque({
    statements: [first, ...others].flatMap(statementsOf),
    result: (results) => inside(first).result(results.slice(0, statementsOf(first).length)),
  });

export const statementsOf = (made: Change<unknown>): readonly Statement[] => inside(made).statements;

/** What each change of a unit answers, from the results of all its statements in order. */
export function answersOf(
  changes: readonly Change<unknown>[],
  results: readonly StatementResult[],
): unknown[] {
  let at = 0;
  return changes.map((made) => {
    const { statements, result } = inside(made);
    const own = results.slice(at, at + statements.length);
    at += statements.length;
    return result(own);
  });
}
