import { randomUUID } from "node:crypto";
import {
  CHANNEL_NAMES,
  type CronInput,
  type CronJob,
  type CronPatch,
  type CronRun,
  GatewayError,
  MAX_CRONS,
} from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import { createMutex } from "../lib/mutex.ts";
import type { StoredCron } from "../store/index.ts";
import { refuse, reschedules, specOf, timingOf } from "./input.ts";
import type { CronDeps } from "./ports.ts";
import { jobRecord, specIn } from "./records.ts";
import { createRuns } from "./runs.ts";
import { closest } from "./schedule.ts";
import { createLooks, createTicks, nextOf } from "./ticks.ts";
import type { Spec, Target } from "./types.ts";

export const noJob = () => new GatewayError("NOT_FOUND", "There is no such job.");
/** Jobs that an agent may make by itself, and the shortest time between its next few ticks. */
const MAX_OWN = 50;
const OWN_APART_MS = 300_000;
const TICKS_APART = 10;
const COMMANDS_OFF = "Scheduled commands are turned off (gateway.crons.commands).";

/** Everything that happens to jobs; loaded with the first of them. */
export function createCronRoom(deps: CronDeps, servedSince: (agentId: string) => number) {
  const { store, clock } = deps;
  const runs = createRuns(deps);
  const tick = createTicks(deps, servedSince, runs.begin);
  const look = createLooks(deps);
  // What is read of a job is what its change is made of.
  const oneAtATime = createMutex();

  const require = async (id: string): Promise<StoredCron> => {
    const cron = await store.crons.get(id);
    if (!cron) throw noJob();
    return cron;
  };
  const requireAgent = (id: string): AgentConfig => {
    const agent = deps.agent(id);
    if (!agent) throw new GatewayError("AGENT_NOT_FOUND");
    return agent;
  };
  const checkTargets = async (agent: AgentConfig, deliver: readonly Target[]) => {
    if (deliver.length === 0) return;
    const posts = await deps.posts();
    for (const [at, target] of deliver.entries()) {
      const refusal = await posts.refusal(agent, target);
      if (refusal !== undefined) refuse(`deliver.${at}`, refusal);
    }
  };
  const checkCommand = ({ command }: Spec) => {
    if (command !== null && !deps.config().gateway.crons.commands)
      throw new GatewayError("FORBIDDEN", COMMANDS_OFF);
  };
  /** An agent that wakes itself more and more often would never come to rest. */
  const checkApart = (spec: Spec, createdAt: number) => {
    if (spec.scheduleKind === "at") return;
    const apart = closest(timingOf(spec, createdAt), clock.now(), TICKS_APART);
    if (apart !== undefined && apart < OWN_APART_MS)
      refuse("schedule", "must leave at least 5 minutes between two runs");
  };
  const checkOwn = async (agentId: string) => {
    const all = await store.crons.list([agentId]);
    if (all.filter(({ createdBy }) => createdBy === "agent").length >= MAX_OWN)
      throw new GatewayError("CONFLICT", `You have ${MAX_OWN} scheduled jobs already; delete one first.`);
  };
  const context = (createdAt: number) => ({
    timezone: deps.config().gateway.timezone,
    now: clock.now(),
    createdAt,
  });
  const typeOf = ({ command }: Spec) => (command === null ? ("agent" as const) : ("command" as const));

  const runNow = async (id: string): Promise<number> => {
    const cron = await require(id);
    requireAgent(cron.agentId);
    const [run] = await store.forAgent(cron.agentId).commit(store.crons.runNow(cron, clock.now()));
    if (run === undefined) {
      await require(id);
      throw new GatewayError("CONFLICT", "The job is running.");
    }
    return run;
  };

  return {
    tick,
    find: store.crons.get,
    list: async (agents?: readonly string[]): Promise<CronJob[]> =>
      (await store.crons.list(agents)).map(jobRecord),
    show: async (id: string): Promise<CronJob> => jobRecord(await require(id)),
    status: store.crons.summary,

    /** What a body says of a new job, if nothing is wrong with it. @throws GatewayError `INVALID_REQUEST` */
    draft: (input: CronInput): Spec => specOf(input, undefined, context(clock.now())),

    /**
     * Makes a job.
     * @throws GatewayError `INVALID_REQUEST`, `AGENT_NOT_FOUND`, `FORBIDDEN`, `CONFLICT`
     */
    create: (input: CronInput, createdBy: StoredCron["createdBy"]): Promise<CronJob> =>
      oneAtATime(async () => {
        if (createdBy === "agent") await checkOwn(input.agentId);
        const agent = requireAgent(input.agentId);
        const now = clock.now();
        const spec = specOf(input, undefined, context(now));
        checkCommand(spec);
        if (createdBy === "agent") checkApart(spec, now);
        await checkTargets(agent, spec.deliver);
        const enabled = input.enabled ?? true;
        const stored = { spec: JSON.stringify(spec), createdAt: now, lastTick: null };
        const cron: StoredCron = {
          ...stored,
          id: randomUUID(),
          agentId: agent.id,
          name: input.name,
          type: typeOf(spec),
          enabled,
          createdBy,
          updatedAt: now,
          nextAt: enabled ? nextOf(stored, now) : null,
          plannedAt: now,
          lastRunAt: null,
          lastStatus: null,
          lastError: null,
          consecutiveErrors: 0,
          runCount: 0,
        };
        const { at, changes } = look(agent.id);
        const [added] = await store.forAgent(agent.id).commit(store.crons.add(cron, MAX_CRONS), ...changes);
        if (!added) throw new GatewayError("CONFLICT", `An agent has at most ${MAX_CRONS} scheduled jobs.`);
        deps.planned(at);
        return jobRecord(cron);
      }),

    /**
     * Changes what a body names.
     * @throws GatewayError `INVALID_REQUEST`, `NOT_FOUND`, `AGENT_NOT_FOUND`, `FORBIDDEN` where the job was or becomes a
     * command and the caller may not have commands
     */
    update: (id: string, input: CronPatch, by: { mayCommand: boolean; agent?: true }): Promise<CronJob> =>
      oneAtATime(async () => {
        const cron = await require(id);
        const agent = requireAgent(cron.agentId);
        const now = clock.now();
        const spec = specOf(input, specIn(cron), context(cron.createdAt));
        if (!by.mayCommand && (cron.type === "command" || spec.command !== null))
          throw new GatewayError("FORBIDDEN", "Jobs that run commands need a key with the level admin.");
        if (input.command !== undefined) checkCommand(spec);
        if (by.agent && reschedules(input)) checkApart(spec, cron.createdAt);
        await checkTargets(agent, spec.deliver);
        const enabled = input.enabled ?? cron.enabled;
        const values = {
          name: input.name ?? cron.name,
          type: typeOf(spec),
          spec: JSON.stringify(spec),
          enabled,
          updatedAt: now,
        };
        const plan =
          reschedules(input) || enabled !== cron.enabled
            ? { nextAt: enabled ? nextOf({ ...cron, ...values }, now) : null, plannedAt: now }
            : undefined;
        const { at, changes } = look(agent.id);
        const [hit] = await store.forAgent(agent.id).commit(store.crons.update(id, values, plan), ...changes);
        if (!hit) throw noJob();
        deps.planned(at);
        return jobRecord(await require(id));
      }),

    /** Deletes a job with its runs; resolves when what goes on of it has ended. */
    async remove(id: string): Promise<void> {
      const { agentId } = await require(id);
      const [hit] = await store.forAgent(agentId).commit(store.crons.remove(id));
      await runs.drop(id);
      if (!hit) throw noJob();
    },

    /** Begins a run; resolves when it has ended. @throws GatewayError `NOT_FOUND`, `CONFLICT` */
    async run(id: string): Promise<CronRun> {
      const { agentId } = await require(id);
      const run = await runNow(id);
      const ended = runs.ended(run);
      runs.begin({ id: run, agentId });
      return ended;
    },
    /** The same, but resolves at once. */
    async beginRun(id: string): Promise<CronRun> {
      const { agentId } = await require(id);
      const run = await runNow(id);
      const row = await store.crons.run(run);
      runs.begin({ id: run, agentId });
      if (!row) throw noJob();
      return runs.record(row);
    },
    /** The chat of a channel that a session belongs to, as its agent's jobs name it; empty for any other session. */
    async chatTarget(agentId: string, stored: string): Promise<Target[]> {
      const [channel = "", ...rest] = stored.split("-");
      const found = CHANNEL_NAMES.find((name) => name === channel);
      if (!found) return [];
      const target: Target = { channel: found, chatId: rest.join("-") };
      const { account } = await (await deps.posts()).placeFor(requireAgent(agentId), target);
      return [account === "" ? target : { ...target, account }];
    },
    runs: runs.records,
    begin: runs.begin,
    interrupted: runs.interrupted,
    cutOff: runs.cutOff,
    dropAgent: runs.dropAgent,
    close: runs.close,
  };
}
export type CronRoom = ReturnType<typeof createCronRoom>;
