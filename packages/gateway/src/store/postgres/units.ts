import { randomUUID } from "node:crypto";
import { type Clock, sleep } from "../../lib/clock.ts";
import type { Row, Statement, StatementResult } from "../statement.ts";
import type { PostgresStatement } from "./batch.ts";
import { isDatabaseError } from "./errors.ts";
import { LinkError } from "./link.ts";
import { LIMITS_MS, PATIENCE_MS, type Pool, pause } from "./pool.ts";
import { away, isConflict, isTemporary, toldAs, unsettled } from "./problems.ts";
import { settings } from "./settings.ts";
import { keeping, numbered } from "./statement-text.ts";

/** Statements of the units that are sent together; one that has more is sent alone. */
const MAX_STATEMENTS = 500;
/** How often a unit that another transaction got in the way of is tried. */
const CONFLICTS = 5;
/** Ids are kept for an hour; without one, whether a unit was stored can no longer be seen. */
const FORGET_AFTER_MS = 3_600_000;
/** While nobody asks for anything, how often the outcome of a unit is looked for. */
const RETRY_MS = 1_000;

interface Waiting {
  statements: readonly Statement[];
  deadline: number;
  resolve(results: StatementResult[]): void;
  reject(error: unknown): void;
}

export interface Units {
  /** See the driver's `write`. */
  write(statements: readonly Statement[]): Promise<StatementResult[]>;
  readonly count: number;
  /** Resolves when every accepted unit is settled. */
  idle(): Promise<void>;
  close(): void;
}

/** What the server keeps of a statement's answer, as the answer. */
function kept(statement: Statement, text: unknown): StatementResult {
  if (!/\bRETURNING\b/i.test(statement.sql)) return { changes: Number(text), rows: [] };
  const rows = JSON.parse(String(text)) as Row[];
  return { changes: rows.length, rows };
}

const NOTHING: StatementResult = { changes: 0, rows: [] };

/** A transaction that can be sent again: the first one to insert the id of the unit does what it says. */
function transaction(unit: string, path: string, statements: readonly Statement[]): PostgresStatement[] {
  return [
    { text: "BEGIN", values: [] },
    settings(path, LIMITS_MS.units),
    { text: "INSERT INTO units (unit, n) VALUES ($1, 0)", values: [unit] },
    ...statements.map(({ sql, params, silent }, at) =>
      silent
        ? { text: numbered(sql), values: params }
        : { text: keeping(sql), values: [...params, unit, at + 1] },
    ),
    { text: "COMMIT", values: [] },
  ];
}

/** Its first three statements are not the unit's own. */
const OWN = 3;

/** The statements of several units, and where in them each unit finds its answers. */
function together(units: ReadonlyArray<readonly Statement[]>): {
  statements: Statement[];
  places: number[][];
} {
  const statements: Statement[] = [];
  const lasting = new Map<string, number>();
  const place = (statement: Statement) => {
    const key = statement.lasting && JSON.stringify([statement.sql, statement.params]);
    const before = key === undefined ? undefined : lasting.get(key);
    if (before !== undefined) return before;
    if (key !== undefined) lasting.set(key, statements.length);
    return statements.push(statement) - 1;
  };
  const places = units.map((unit) => unit.map(place));
  return { statements, places };
}

const isKnownUnit = (error: unknown): boolean =>
  isDatabaseError(error) && error.code === "23505" && error.constraint === "units_pkey";

/**
 * Units in the order in which they were asked for. Those that wait while another is under way become one transaction,
 * and so share its round trip and its flush to disk; if it fails, each is tried alone, so that only the faulty one fails.
 */
export function createUnits(pool: Pool, path: string, clock: Clock): Units {
  const gateway = randomUUID();
  let number = 0;
  let count = 0;
  let queue: Waiting[] = [];
  let pumping: Promise<void> | undefined;
  /** Units whose callers were told that nothing is certain. They must not take effect later. */
  const open: Array<{ unit: string; since: number; resolve(stored: boolean): void }> = [];
  let cancelRetry: (() => void) | undefined;
  let closed = false;

  /** What a unit that was stored before answers. */
  const stored = async (unit: string, statements: readonly Statement[]): Promise<StatementResult[]> => {
    const [, rows] = await pool.run(
      "units",
      [
        settings(path, LIMITS_MS.units),
        { text: "SELECT n, result FROM units WHERE unit = $1", values: [unit] },
      ],
      { reads: true },
    );
    const byNumber = new Map(rows!.rows.map(({ n, result }) => [Number(n), result]));
    return statements.map((statement, at) =>
      statement.silent ? NOTHING : kept(statement, byNumber.get(at + 1)),
    );
  };

  const answers = (statements: readonly Statement[], results: readonly StatementResult[]) =>
    statements.map((statement, at) => {
      const own = results[at + OWN]!;
      return statement.silent ? own : kept(statement, own.rows[0]!.result);
    });

  /** Sends a transaction until its outcome is known, or `deadline` has passed. */
  const settle = async (statements: readonly Statement[], deadline: number): Promise<StatementResult[]> => {
    const unit = `${gateway}:${String(++number).padStart(12, "0")}`;
    const sent = transaction(unit, path, statements);
    let uncertain = false;
    for (let attempt = 0; ; attempt++) {
      try {
        return answers(statements, await pool.run("units", sent, { deadline }));
      } catch (error) {
        if (uncertain && isKnownUnit(error)) {
          return await stored(unit, statements).catch((lost: unknown) => {
            throw unsettled(lost, Promise.resolve(true));
          });
        }
        if (isConflict(error) && attempt < CONFLICTS) continue;
        const broke = error instanceof LinkError;
        // A statement that failed, other than by time, shows that the id was not there: nothing was stored before.
        if (!broke && !(uncertain && isTemporary(error))) throw error;
        uncertain ||= broke && error.sent;
        const wait = pause(attempt);
        if (clock.elapsed() + wait > deadline) {
          if (!uncertain) throw away(error);
          const { promise, resolve } = Promise.withResolvers<boolean>();
          open.push({ unit, since: clock.elapsed(), resolve });
          throw unsettled(error, promise);
        }
        await sleep(clock, wait);
      }
    }
  };

  /** Takes the ids of units that were given up, so that an attempt still on its way cannot take effect any more. */
  const closeOpen = async (deadline: number) => {
    while (open.length > 0) {
      const { unit, since, resolve } = open[0]!;
      let stored = false;
      if (clock.elapsed() - since < FORGET_AFTER_MS) {
        const text = "INSERT INTO units (unit, n) VALUES ($1, 0) ON CONFLICT DO NOTHING";
        const sent = [settings(path, LIMITS_MS.units), { text, values: [unit] }];
        const [, taken] = await pool.run("units", sent, { deadline });
        stored = taken!.changes === 0;
      }
      open.shift();
      resolve(stored);
    }
  };
  /** Somebody may wait for the outcome, and nobody ask for anything. */
  const retryOpen = () => {
    if (open.length === 0 || closed) return;
    cancelRetry ??= clock.after(RETRY_MS, () => {
      cancelRetry = undefined;
      pumping ??= closeOpen(clock.elapsed() + RETRY_MS)
        .catch(() => {})
        .then(pump);
    });
  };

  const runAlone = async (unit: Waiting) => {
    try {
      unit.resolve(await settle(unit.statements, unit.deadline));
    } catch (error) {
      unit.reject(toldAs(error));
    }
  };

  const runTogether = async (units: readonly Waiting[]) => {
    if (units.length === 1) return runAlone(units[0]!);
    const { statements, places } = together(units.map((unit) => unit.statements));
    const deadline = Math.min(...units.map((unit) => unit.deadline));
    let results: StatementResult[];
    try {
      results = await settle(statements, deadline);
    } catch (error) {
      if (isDatabaseError(error)) for (const unit of units) await runAlone(unit);
      else for (const unit of units) unit.reject(toldAs(error));
      return;
    }
    for (const [which, unit] of units.entries()) unit.resolve(places[which]!.map((at) => results[at]!));
  };

  const take = (): Waiting[] => {
    let statements = 0;
    const upto = queue.findIndex((unit, at) => {
      statements += unit.statements.length;
      return at > 0 && statements > MAX_STATEMENTS;
    });
    return queue.splice(0, upto < 0 ? queue.length : upto);
  };

  const pump = async () => {
    while (queue.length > 0) {
      try {
        await closeOpen(Math.min(...queue.map((unit) => unit.deadline)));
      } catch (error) {
        for (const unit of queue.splice(0)) unit.reject(toldAs(error));
        continue;
      }
      const late = queue.filter(({ deadline }) => deadline < clock.elapsed());
      if (late.length > 0) {
        queue = queue.filter((unit) => !late.includes(unit));
        for (const unit of late) unit.reject(away());
        continue;
      }
      await runTogether(take());
    }
    pumping = undefined;
    retryOpen();
  };

  return {
    write(statements) {
      count++;
      return new Promise((resolve, reject) => {
        queue.push({ statements, deadline: clock.elapsed() + PATIENCE_MS, resolve, reject });
        pumping ??= Promise.resolve().then(pump);
      });
    },
    get count() {
      return count;
    },
    idle: async () => pumping,
    close() {
      closed = true;
      cancelRetry?.();
      for (const { resolve } of open.splice(0)) resolve(false);
    },
  };
}
