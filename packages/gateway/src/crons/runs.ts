import { type CronRun, GatewayError } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import { sleep } from "../lib/clock.ts";
import { createSlots } from "../lib/slots.ts";
import {
  cannotStoreNow,
  FencedError,
  type StoredCron,
  type StoredCronRun,
  waitsNoMore,
} from "../store/index.ts";
import { createAgentRuns } from "./agent-run.ts";
import { runCommand } from "./command.ts";
import { createEnds, type Ended } from "./ends.ts";
import type { CronDeps } from "./ports.ts";
import { runRecord, specIn } from "./records.ts";

/** Commands that run at the same time, of all agents. */
const COMMANDS = 16;
const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 60_000;
/** A run that fails for its own reasons is given up after this many tries; a store that is away does not count. */
const MAX_TRIES = 8;
const COMMANDS_OFF = "Scheduled commands are turned off (gateway.crons.commands).";

/** A run under way in this process. */
interface Underway {
  agentId: string;
  /** Undefined until its row was read. */
  job: string | undefined;
  stop: AbortController;
  done: Promise<void>;
}

/** Carries out runs: each is a row that waits until its turn or its command has begun. */
export function createRuns(deps: CronDeps) {
  const { store, clock, log, step } = deps;
  const stopped = new AbortController();
  const underway = new Map<number, Underway>();
  const watchers = new Map<number, Set<(run: CronRun | undefined) => void>>();
  const ends = createEnds(deps);
  const agentRuns = createAgentRuns(deps, ends, stopped.signal);
  const takeCommandSlot = createSlots(COMMANDS);

  const record = async (row: StoredCronRun): Promise<CronRun> =>
    runRecord(row, await store.crons.deliveries([row.id]));

  const tell = (id: number, run: CronRun | undefined) => {
    for (const watcher of watchers.get(id) ?? []) watcher(run);
    watchers.delete(id);
  };

  /** Stores the end of a run, however long that takes; false when the gateway stops before, or the agent is lost. */
  const insist = async (run: StoredCronRun, job: StoredCron, ended: Ended): Promise<boolean> => {
    for (;;) {
      try {
        await store.forAgent(run.agentId).commit(...ends.changes(run, job, ended));
        return true;
      } catch (error) {
        if (error instanceof FencedError) return false;
        log.error({ err: error, job: job.id }, "could not store the end of a scheduled run; trying again");
        if (stopped.signal.aborted) return false;
        await sleep(clock, RETRY_FIRST_MS, stopped.signal);
      }
    }
  };

  const end = async (run: StoredCronRun, job: StoredCron, ended: Ended) =>
    (await insist(run, job, ended)) ? ends.ended(run, ended) : undefined;

  const command = async (
    run: StoredCronRun,
    job: StoredCron,
    agent: AgentConfig,
    stop: AbortSignal,
  ): Promise<StoredCronRun | undefined> => {
    const spec = specIn(job);
    if (!deps.config().gateway.crons.commands)
      return end(run, job, { state: "error", output: null, error: COMMANDS_OFF });
    const free = await takeCommandSlot(stop);
    try {
      if (stop.aborted) return undefined;
      const units = store.forAgent(agent.id);
      const startedAt = clock.now();
      const begun = clock.elapsed();
      const [mine] = await units.commit(store.crons.start(run.id, startedAt));
      if (!mine) return undefined;
      step("before-command");
      const ended = await runCommand(deps, agent, spec.command!, { timeoutMs: spec.timeoutMs, signal: stop });
      step("after-command");
      const durationMs = Math.round(clock.elapsed() - begun);
      return await end({ ...run, startedAt }, job, { ...ended, durationMs });
    } finally {
      free();
    }
  };

  /** Resolves to the run when it has ended, to undefined when it waits for another start or is gone. */
  const attempt = async (id: number, stop: AbortSignal): Promise<StoredCronRun | undefined> => {
    const run = await store.crons.run(id);
    const job = run && (await store.crons.get(run.job));
    const agent = run && deps.serves(run.agentId) ? deps.agent(run.agentId) : undefined;
    if (!run || !job || !agent || run.state !== "waiting") return undefined;
    const known = underway.get(id);
    if (known) known.job = job.id;
    if (stop.aborted) return undefined;
    return run.type === "command" ? command(run, job, agent, stop) : agentRuns(run, job, agent, stop);
  };

  const giveUp = async (id: number): Promise<StoredCronRun | undefined> => {
    const run = await store.crons.run(id);
    const job = run && (await store.crons.get(run.job));
    if (!run || !job || run.state !== "waiting") return undefined;
    return end(run, job, { state: "error", output: null, error: "The run could not be begun." });
  };

  const carryOut = async (id: number, stop: AbortSignal): Promise<StoredCronRun | undefined> => {
    for (let tries = 1; !stop.aborted; ) {
      try {
        return await attempt(id, stop);
      } catch (error) {
        if (error instanceof FencedError || waitsNoMore(error)) return undefined;
        log.error({ err: error, run: id }, "could not carry out a scheduled run");
        if (!cannotStoreNow(error)) tries++;
        if (tries > MAX_TRIES) return giveUp(id).catch(() => undefined);
        await sleep(clock, Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** tries), stop);
      }
    }
    return undefined;
  };

  const work = async (id: number, stop: AbortSignal): Promise<void> => {
    const ended = await carryOut(id, stop);
    step("after-run-row");
    const shown = ended && (await record(ended).catch(() => runRecord(ended, [])));
    underway.delete(id);
    ends.remember(id);
    tell(id, shown);
  };

  return {
    /** Carries out a run that waits. */
    begin({ id, agentId }: { id: number; agentId: string }): void {
      if (underway.has(id) || stopped.signal.aborted) return;
      const stop = new AbortController();
      const signal = AbortSignal.any([stopped.signal, stop.signal]);
      const run: Underway = { agentId, job: undefined, stop, done: Promise.resolve() };
      underway.set(id, run);
      run.done = work(id, signal);
    },
    /** Resolves to a run that was begun, when it has ended; rejects when it does not end here. */
    ended: (id: number): Promise<CronRun> =>
      new Promise((resolve, reject) => {
        const waiting = watchers.get(id) ?? new Set();
        watchers.set(id, waiting);
        waiting.add((run) => (run ? resolve(run) : reject(cut(stopped.signal.aborted))));
      }),
    record,
    async records(job: string, limit: number): Promise<CronRun[]> {
      const rows = await store.crons.runs(job, limit);
      const deliveries = await store.crons.deliveries(rows.map(({ id }) => id));
      return rows.map((row) => runRecord(row, deliveries));
    },
    /** Ends the runs of a job that is gone; nothing of them is stored or sent. */
    async drop(job: string): Promise<void> {
      const own = [...underway].filter(([, run]) => run.job === job);
      for (const [id, { stop }] of own) {
        ends.forget(id);
        stop.abort();
      }
      await Promise.all(own.map(([, { done }]) => done));
    },
    /** Ends the runs of an agent that another gateway has taken, or that is removed. */
    async dropAgent(agentId: string): Promise<void> {
      const own = [...underway.values()].filter((run) => run.agentId === agentId);
      for (const run of own) run.stop.abort();
      await Promise.all(own.map(({ done }) => done));
    },
    /** Closes commands that ran when their gateway ended. */
    async interrupted(ids: readonly number[]): Promise<void> {
      for (const id of ids) {
        const run = await store.crons.run(id);
        const job = run && (await store.crons.get(run.job));
        if (!run || !job || underway.has(id)) continue;
        await insist(run, job, {
          state: "interrupted",
          output: null,
          error: "The gateway stopped meanwhile.",
        });
      }
    },
    cutOff: ends.cutOff,
    /** Begins nothing more, and ends commands; turns end by themselves. */
    async close(): Promise<void> {
      stopped.abort();
      await Promise.all([...underway.values()].map(({ done }) => done));
    },
  };
}
export type Runs = ReturnType<typeof createRuns>;

const cut = (stopping: boolean) =>
  stopping
    ? new GatewayError("UNAVAILABLE", "The gateway is stopping.")
    : new GatewayError("NOT_FOUND", "The job was deleted or taken away while it ran.");
