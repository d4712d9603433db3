import { type Change, change, sql } from "../change.ts";
import type { Param } from "../statement.ts";
import type { Sql } from "./port.ts";

/** What one model used in one turn. */
export interface UsageEntry {
  requestId: string;
  /** Unix milliseconds. */
  at: number;
  /** `YYYY-MM-DD`, in the time zone that was configured when the turn ended. */
  day: string;
  agentId: string;
  /** The API key that caused it; null for channels and whatever else has none. */
  keyId: string | null;
  source: string;
  session: string;
  model: string | null;
  /** 1 in one entry of each turn, 0 in those of further models. */
  turns: 0 | 1;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** Billionths of the currency's unit: whole numbers add up to the same in any order. */
  cost: number;
  estimated: boolean;
  unpriced: boolean;
}

const GROUPS = {
  day: "day",
  agent: "agent_id",
  key: "key_id",
  model: "model",
  source: "source",
  session: "session",
} as const;
export type UsageGroup = keyof typeof GROUPS;

/** What entries that have the named fields in common add up to. */
export type UsageSum = { [Group in UsageGroup]?: string | null } & Pick<
  UsageEntry,
  "inputTokens" | "outputTokens" | "cacheReadTokens" | "cacheWriteTokens" | "cost" | "estimated" | "unpriced"
> & { turns: number };

export interface UsageFilter {
  /** Days, both inclusive. */
  from: string;
  to: string;
  agentId?: string | undefined;
  keyId?: string | undefined;
}

/** What turns used: a row for each, and totals by day, which rows are added to from time to time. */
export interface StoredUsage {
  add(entry: UsageEntry): Change;
  /** Sums by the named fields and ordered by them; at most `limit`. Counts each turn once, rolled up or not. */
  sums(filter: UsageFilter, groups: readonly UsageGroup[], limit: number): Promise<UsageSum[]>;
  /** Whether an agent of this id ever used anything. */
  knowsAgent(agentId: string): Promise<boolean>;
  /** Adds the oldest rows to the totals, at most `most`. `batch` is above 1 and used once. */
  rollUp(batch: number, most: number): Change;
  /** Removes rows from before `at` that are in the totals, at most `most`. */
  removeRows(at: number, most: number): Change;
}

const FIELDS = "day, agent_id, key_id, model, source, session";
const COUNTS = ["turns", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost"];
const FLAGS = ["estimated", "unpriced"];
const COLUMNS = `${FIELDS}, ${[...COUNTS, ...FLAGS].join(", ")}`;
/** Of a row of `usage`: not in the totals yet. While it is being added, `pending` is the batch; then NULL. */
const OPEN = 1;

type SumRow = Record<(typeof GROUPS)[UsageGroup], string | undefined> & Record<string, number>;

export function createUsage({ read, slow }: Sql): StoredUsage {
  return {
    add: (entry) =>
      change(
        sql(
          `INSERT INTO usage (request_id, at, pending, ${COLUMNS})
           VALUES (?, ?, ${OPEN}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
          entry.requestId,
          entry.at,
          entry.day,
          entry.agentId,
          entry.keyId ?? "",
          entry.model ?? "",
          entry.source,
          entry.session,
          entry.turns,
          entry.inputTokens,
          entry.outputTokens,
          entry.cacheReadTokens,
          entry.cacheWriteTokens,
          entry.cost,
          Number(entry.estimated),
          Number(entry.unpriced),
        ),
      ),
    async sums({ from, to, agentId, keyId }, groups, limit) {
      const by = groups.map((group) => GROUPS[group]);
      const where = `day >= ? AND day <= ?${agentId === undefined ? "" : " AND agent_id = ?"}${keyId === undefined ? "" : " AND key_id = ?"}`;
      const params: Param[] = [from, to];
      if (agentId !== undefined) params.push(agentId);
      if (keyId !== undefined) params.push(keyId);
      const listed = by.join(", ");
      const rows = await slow<SumRow>(
        `SELECT ${[
          ...by,
          ...COUNTS.map((column) => `sum(CAST(${column} AS DOUBLE PRECISION)) AS ${column}`),
          ...FLAGS.map((column) => `max(${column}) AS ${column}`),
        ].join(", ")}
         FROM (
           SELECT ${COLUMNS} FROM usage_days WHERE ${where}
           UNION ALL
           SELECT ${COLUMNS} FROM usage WHERE pending = ${OPEN} AND ${where}
         ) AS entries
         ${listed ? `GROUP BY ${listed} ORDER BY ${listed}` : "HAVING count(*) > 0"}
         LIMIT ?`,
        [...params, ...params, limit],
      );
      return rows.map((row) => ({
        ...Object.fromEntries(groups.map((group) => [group, row[GROUPS[group]] || null])),
        turns: row.turns!,
        inputTokens: row.input_tokens!,
        outputTokens: row.output_tokens!,
        cacheReadTokens: row.cache_read_tokens!,
        cacheWriteTokens: row.cache_write_tokens!,
        cost: row.cost!,
        estimated: row.estimated === 1,
        unpriced: row.unpriced === 1,
      }));
    },
    async knowsAgent(agentId) {
      const rows = await read(
        `SELECT 1 AS one WHERE EXISTS (SELECT 1 FROM usage_days WHERE agent_id = ?)
           OR EXISTS (SELECT 1 FROM usage WHERE pending = ${OPEN} AND agent_id = ?)`,
        [agentId, agentId],
      );
      return rows.length > 0;
    },
    // The rows are marked first: a turn that ends meanwhile is not among them, whatever this unit's reads see of it.
    rollUp: (batch, most) =>
      change(
        sql(
          `UPDATE usage SET pending = ? WHERE pending = ${OPEN}
             AND id IN (SELECT id FROM usage WHERE pending = ${OPEN} ORDER BY id LIMIT ?)`,
          batch,
          most,
        ),
        sql(
          `INSERT INTO usage_days (${COLUMNS})
           SELECT ${FIELDS}, ${COUNTS.map((column) => `sum(${column})`).join(", ")},
             ${FLAGS.map((column) => `max(${column})`).join(", ")}
           FROM usage WHERE pending = ? GROUP BY ${FIELDS}
           ON CONFLICT (${FIELDS}) DO UPDATE SET
             ${COUNTS.map((column) => `${column} = usage_days.${column} + excluded.${column}`).join(", ")},
             ${FLAGS.map((column) => `${column} = CASE WHEN excluded.${column} = 1 THEN 1 ELSE usage_days.${column} END`).join(", ")}`,
          batch,
        ),
        sql("UPDATE usage SET pending = NULL WHERE pending = ?", batch),
      ),
    removeRows: (at, most) =>
      change(
        sql(
          `DELETE FROM usage WHERE pending IS NULL
             AND id IN (SELECT id FROM usage WHERE at < ? AND pending IS NULL ORDER BY at LIMIT ?)`,
          at,
          most,
        ),
      ),
  };
}
