import { type Change, change, followed, hitting, returning, sql } from "../change.ts";
import { given, ofAgent } from "./of-agent.ts";
import type { Sql } from "./port.ts";

/** A scheduled job. Times are Unix milliseconds. */
export interface StoredCron {
  id: string;
  agentId: string;
  name: string;
  type: "agent" | "command";
  /** JSON of what its owner has set. */
  spec: string;
  enabled: boolean;
  createdBy: "key" | "agent";
  createdAt: number;
  updatedAt: number;
  /** When it runs next; null when it does not. */
  nextAt: number | null;
  /** When that was decided. */
  plannedAt: number;
  /** The latest time of its schedule that has come. */
  lastTick: number | null;
  lastRunAt: number | null;
  lastStatus: "ok" | "error" | "skipped" | null;
  lastError: string | null;
  consecutiveErrors: number;
  runCount: number;
}

/** One run of a job. */
export interface StoredCronRun {
  id: number;
  job: string;
  agentId: string;
  type: StoredCron["type"];
  runAt: number;
  /** The time of the schedule that it stands for, of which there is one run at most; null for others. */
  tick: number | null;
  cause: "schedule" | "manual" | "catch_up";
  /** `waiting` has not begun; `running` has. */
  state: "waiting" | "running" | "ok" | "error" | "skipped" | "interrupted";
  startedAt: number | null;
  durationMs: number | null;
  output: string | null;
  error: string | null;
  session: string | null;
  requestId: string | null;
  /** Row of the message that its turn has stored; a turn that runs again stores none. */
  userMessage: number | null;
}

/** A message to a chat that a run has caused. */
export interface CronDelivery {
  run: number;
  key: string;
  channel: string;
  account: string;
  chatId: string;
  state: "pending" | "sending" | "sent" | "failed" | "unknown";
}

/** What a run came to. */
export interface EndedCronRun {
  state: "ok" | "error" | "interrupted";
  durationMs: number | null;
  output: string | null;
  error: string | null;
}

type OpenRun = Pick<StoredCronRun, "id" | "agentId" | "type" | "state">;

/** Scheduled jobs and their runs. */
export interface StoredCrons {
  /** Those of the agents, or all, in the order in which they were made. */
  list(agents?: readonly string[]): Promise<StoredCron[]>;
  get(id: string): Promise<StoredCron | undefined>;
  /** How many jobs the agents, or all, have, how many are enabled, how many run, and when the next does. */
  summary(
    agents?: readonly string[],
  ): Promise<{ total: number; enabled: number; running: number; nextRunAt: number | null }>;
  /** Answers false where the agent has `most` jobs already. */
  add(cron: StoredCron, most: number): Change<boolean>;
  /** Changes what its owner sets, and its plan if there is a new one; answers whether the job exists. */
  update(
    id: string,
    values: Pick<StoredCron, "name" | "type" | "spec" | "enabled" | "updatedAt">,
    plan?: Pick<StoredCron, "nextAt" | "plannedAt">,
  ): Change<boolean>;
  /** Removes a job with its runs; given its `updatedAt`, only if nobody has changed it since. */
  remove(id: string, updatedAt?: number): Change<boolean>;
  /** Disables the jobs of an agent that is removed, and closes their runs. */
  disable(agentId: string, now: number, why: string): Change;
  /** Gives a job another time, where it still has the one that was read. */
  replan(id: string, from: number | null, plan: Pick<StoredCron, "nextAt" | "plannedAt">): Change;
  /**
   * The time of a job has come: adds its run and gives it its next time; answers the run, undefined where that time was
   * changed meanwhile or has had its run. While another run of the job goes on, it is skipped.
   */
  tick(
    cron: StoredCron,
    at: { now: number; nextAt: number | null; cause: "schedule" | "catch_up" },
  ): Change<Pick<StoredCronRun, "id" | "state"> | undefined>;
  /** Adds a run that somebody asked for; answers undefined while another goes on, or where the job is gone. */
  runNow(cron: StoredCron, now: number): Change<number | undefined>;
  run(id: number): Promise<StoredCronRun | undefined>;
  /** The run whose turn this is, if it goes on. */
  ofTurn(requestId: string): Promise<StoredCronRun | undefined>;
  /** The newest runs of a job first. */
  runs(job: string, limit: number): Promise<StoredCronRun[]>;
  /** Runs that have not ended, oldest first; of all agents or one. */
  openRuns(agentId?: string): Promise<OpenRun[]>;
  deliveries(runs: readonly number[]): Promise<CronDelivery[]>;
  /** `waiting` → `running`. The whole unit fails where the run does not wait. */
  startTurn(
    id: number,
    turn: { requestId: string; sessionId: string; now: number; userMessage: number | undefined },
  ): Change;
  /** `waiting` → `running`; answers whether it waited. */
  start(id: number, now: number): Change<boolean>;
  /** `running` → `waiting`, as if it had not begun. */
  putBack(id: number): Change;
  /** Open → ended; the job's counters go with it, and of its runs the oldest. */
  end(run: Pick<StoredCronRun, "id" | "job" | "runAt">, ended: EndedCronRun, keep: number): Change<boolean>;
}

/** Whether a unit failed because the run whose turn it was to begin does not wait for one. */
export const waitsNoMore = (error: unknown): boolean =>
  error instanceof Error && /not.null constraint/i.test(error.message) && error.message.includes("cron_runs");

const CRON = `id, agent_id AS "agentId", name, type, spec, enabled, created_by AS "createdBy",
  created_at AS "createdAt", updated_at AS "updatedAt", next_at AS "nextAt", planned_at AS "plannedAt",
  last_tick AS "lastTick", last_run_at AS "lastRunAt", last_status AS "lastStatus", last_error AS "lastError",
  consecutive_errors AS "consecutiveErrors", run_count AS "runCount"`;
const RUN = `id, job, agent_id AS "agentId", type, run_at AS "runAt", tick, cause, state, started_at AS "startedAt",
  duration_ms AS "durationMs", output, error, session, request_id AS "requestId", user_message AS "userMessage"`;
/** Repeated word for word in a query, this lets SQLite use the small index of open runs. */
const OPEN = "state IN ('waiting', 'running')";

const marks = (values: readonly unknown[]) => values.map(() => "?").join(", ");
const among = (agents: readonly string[] | undefined) =>
  agents === undefined ? "1 = 1" : agents.length === 0 ? "1 = 0" : `agent_id IN (${marks(agents)})`;

type CronRow = Omit<StoredCron, "enabled"> & { enabled: number };
const cronOf = (row: CronRow): StoredCron => ({ ...row, enabled: row.enabled === 1 });

export function createCrons({ read, slow }: Sql): StoredCrons {
  const one = async (where: string, ...params: readonly (string | number)[]) => {
    const [row] = await read<StoredCronRun>(`SELECT ${RUN} FROM cron_runs WHERE ${where}`, params);
    return row;
  };
  return {
    async list(agents) {
      const rows = await slow<CronRow>(
        `SELECT ${CRON} FROM crons WHERE ${among(agents)} ORDER BY created_at, id`,
        agents ?? [],
      );
      return rows.map(cronOf);
    },
    async get(id) {
      const [row] = await read<CronRow>(`SELECT ${CRON} FROM crons WHERE id = ?`, [id]);
      return row && cronOf(row);
    },
    async summary(agents) {
      const [[jobs], [runs]] = await Promise.all([
        slow<{ total: number; enabled: number | null; next: number | null }>(
          `SELECT count(*) AS total, sum(enabled) AS enabled, min(next_at) AS next FROM crons WHERE ${among(agents)}`,
          agents ?? [],
        ),
        read<{ running: number }>(
          `SELECT count(*) AS running FROM cron_runs WHERE ${OPEN} AND ${among(agents)}`,
          agents ?? [],
        ),
      ]);
      return {
        total: Number(jobs!.total),
        enabled: Number(jobs!.enabled ?? 0),
        running: Number(runs!.running),
        nextRunAt: jobs!.next,
      };
    },
    add: (cron, most) =>
      hitting(
        sql(
          `INSERT INTO crons (id, agent_id, name, type, spec, enabled, created_by, created_at, updated_at, next_at,
             planned_at, consecutive_errors, run_count)
           SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0
           WHERE (SELECT count(*) FROM crons WHERE agent_id = ?) < ?`,
          cron.id,
          cron.agentId,
          cron.name,
          cron.type,
          cron.spec,
          Number(cron.enabled),
          cron.createdBy,
          cron.createdAt,
          cron.updatedAt,
          cron.nextAt,
          cron.plannedAt,
          cron.agentId,
          most,
        ),
      ),
    update: (id, { name, type, spec, enabled, updatedAt }, plan) =>
      hitting(
        sql(
          `UPDATE crons SET name = ?, type = ?, spec = ?, enabled = ?, updated_at = ?
             ${plan ? ", next_at = ?, planned_at = ?" : ""} WHERE id = ?`,
          name,
          type,
          spec,
          Number(enabled),
          updatedAt,
          ...(plan ? [plan.nextAt, plan.plannedAt] : []),
          id,
        ),
      ),
    remove: (id, updatedAt) =>
      followed(
        hitting(
          sql(
            "DELETE FROM crons WHERE id = ? AND updated_at = coalesce(?, updated_at)",
            id,
            updatedAt ?? null,
          ),
        ),
        change(
          sql(
            "DELETE FROM cron_runs WHERE job = ? AND NOT EXISTS (SELECT 1 FROM crons WHERE id = ?)",
            id,
            id,
          ),
        ),
      ),
    disable: (agentId, now, why) =>
      change(
        sql(
          "UPDATE crons SET enabled = 0, next_at = NULL, updated_at = ? WHERE agent_id = ? AND enabled = 1",
          now,
          agentId,
        ),
        sql(
          `UPDATE cron_runs SET state = 'interrupted', error = ? WHERE ${OPEN} AND agent_id = ?`,
          why,
          agentId,
        ),
      ),
    replan: (id, from, { nextAt, plannedAt }) =>
      change(
        sql(
          `UPDATE crons SET next_at = ?, planned_at = ?
           WHERE id = ? AND ${from === null ? "next_at IS NULL" : "next_at = ?"}`,
          nextAt,
          plannedAt,
          id,
          ...(from === null ? [] : [from]),
        ),
      ),
    tick: ({ id, agentId, type, nextAt: tick }, { now, nextAt, cause }) =>
      followed(
        returning(
          sql(
            `INSERT INTO cron_runs (job, agent_id, type, run_at, tick, cause, state)
             SELECT ?, ?, ?, ?, ?, ?,
               CASE WHEN EXISTS (SELECT 1 FROM cron_runs WHERE job = ? AND ${OPEN}) THEN 'skipped' ELSE 'waiting' END
             WHERE EXISTS (SELECT 1 FROM crons WHERE id = ? AND next_at = ? AND enabled = 1)
             ON CONFLICT DO NOTHING RETURNING id, state`,
            id,
            agentId,
            type,
            tick,
            tick,
            cause,
            id,
            id,
            tick,
          ),
          ([run]) => run && { id: Number(run.id), state: run.state as "waiting" | "skipped" },
        ),
        change(
          sql(
            `UPDATE crons SET last_status = 'skipped' WHERE id = ? AND next_at = ? AND EXISTS (
               SELECT 1 FROM cron_runs WHERE job = ? AND tick = ? AND state = 'skipped')`,
            id,
            tick,
            id,
            tick,
          ),
          sql(
            "UPDATE crons SET next_at = ?, planned_at = ?, last_tick = ? WHERE id = ? AND next_at = ?",
            nextAt,
            now,
            tick,
            id,
            tick,
          ),
        ),
      ),
    runNow: ({ id, agentId, type }, now) =>
      returning(
        sql(
          `INSERT INTO cron_runs (job, agent_id, type, run_at, cause, state) SELECT ?, ?, ?, ?, 'manual', 'waiting'
           WHERE EXISTS (SELECT 1 FROM crons WHERE id = ?)
             AND NOT EXISTS (SELECT 1 FROM cron_runs WHERE job = ? AND ${OPEN})
           ON CONFLICT DO NOTHING RETURNING id`,
          id,
          agentId,
          type,
          now,
          id,
          id,
        ),
        ([run]) => (run ? Number(run.id) : undefined),
      ),
    run: (id) => one("id = ?", id),
    ofTurn: (requestId) => one("request_id = ? AND state = 'running'", requestId),
    runs: (job, limit) =>
      slow(`SELECT ${RUN} FROM cron_runs WHERE job = ? ORDER BY id DESC LIMIT ?`, [job, limit]),
    openRuns: (agentId) =>
      read(
        `SELECT id, agent_id AS "agentId", type, state FROM cron_runs WHERE ${OPEN} ${ofAgent(agentId)} ORDER BY id`,
        given(agentId),
      ),
    deliveries: (runs) =>
      runs.length === 0
        ? Promise.resolve([])
        : read(
            `SELECT run, key, channel, account, chat_id AS "chatId", state FROM channel_outbox
             WHERE run IN (${marks(runs)}) ORDER BY id`,
            runs,
          ),
    startTurn: (id, { requestId, sessionId, now, userMessage }) =>
      change(
        sql(
          `UPDATE cron_runs SET state = 'running', request_id = ?, session = ?, user_message = ?,
             started_at = coalesce(started_at, ?) WHERE id = ? AND state = 'waiting'`,
          requestId,
          sessionId,
          userMessage ?? null,
          now,
          id,
        ),
        // Inserts nothing, or breaks the unit.
        sql(
          `INSERT INTO cron_runs (job, agent_id, type, run_at, cause, state) SELECT '', '', 'agent', 0, 'manual', NULL
           WHERE NOT EXISTS (SELECT 1 FROM cron_runs WHERE id = ? AND state = 'running' AND request_id = ?)`,
          id,
          requestId,
        ),
      ),
    start: (id, now) =>
      hitting(
        sql(
          "UPDATE cron_runs SET state = 'running', started_at = ? WHERE id = ? AND state = 'waiting'",
          now,
          id,
        ),
      ),
    putBack: (id) =>
      change(
        sql(
          "UPDATE cron_runs SET state = 'waiting', request_id = NULL WHERE id = ? AND state = 'running'",
          id,
        ),
      ),
    end: ({ id, job, runAt }, { state, durationMs, output, error }, keep) => {
      const failed = state !== "ok";
      return followed(
        hitting(
          sql(
            `UPDATE cron_runs SET state = ?, duration_ms = ?, output = ?, error = ? WHERE id = ? AND ${OPEN}`,
            state,
            durationMs,
            output,
            error,
            id,
          ),
        ),
        change(
          sql(
            `UPDATE crons SET last_run_at = ?, last_status = ?, last_error = ?, run_count = run_count + 1,
               consecutive_errors = ${failed ? "consecutive_errors + 1" : "0"} WHERE id = ?`,
            runAt,
            failed ? "error" : "ok",
            failed ? (error ?? "The run was interrupted.") : null,
            job,
          ),
          sql(
            `DELETE FROM cron_runs WHERE job = ? AND NOT (${OPEN}) AND id <= (
               SELECT id FROM cron_runs WHERE job = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`,
            job,
            job,
            keep,
          ),
        ),
      );
    },
  };
}
