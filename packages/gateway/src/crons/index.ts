import { once } from "../lib/once.ts";
import type { Change } from "../store/index.ts";
import type { CronDeps } from "./ports.ts";
import type { CronRoom } from "./room.ts";
import { type CronTool, createCronTools } from "./tools.ts";
import type { CronToolScope } from "./types.ts";

export type { CronDeps, CronStep } from "./ports.ts";
export type { CronRoom } from "./room.ts";

const REMOVED = "The agent was removed.";

/**
 * Scheduled jobs. What does their work (`room.ts`) is loaded when one is due or left over, or by the first request
 * that needs it.
 */
export function createCrons(deps: CronDeps) {
  const { store, clock, log } = deps;
  const startedAt = clock.now();
  /** Since when agents of a shared store have been served here. */
  const since = new Map<string, number>();
  let started = false;

  const room = once(async (): Promise<CronRoom> => {
    const { createCronRoom } = await import("./room.ts");
    return createCronRoom(deps, (agentId) => since.get(agentId) ?? startedAt);
  });

  /** Begins the runs that wait. */
  const beginWaiting = async (): Promise<void> => {
    try {
      const open = await store.crons.openRuns();
      const own = open.filter(({ state, agentId }) => state === "waiting" && deps.serves(agentId));
      if (own.length === 0) return;
      const { begin } = await room();
      for (const run of own) begin(run);
    } catch (error) {
      log.error({ err: error }, "could not begin the scheduled runs that wait");
    }
  };

  return {
    room,
    /** Fires what is due of an agent; resolves to when it is to be called again. */
    tick: async (agentId: string): Promise<number> => (await room()).tick(agentId),

    /** Closes what a crash, or the last owner of an agent, left behind; runs before anything of it begins. */
    async recover(agentId?: string): Promise<void> {
      if (agentId !== undefined) since.set(agentId, clock.now());
      const open = await store.crons.openRuns(agentId);
      const cut = open.filter(({ state, type }) => state === "running" && type === "command");
      if (cut.length > 0) await (await room()).interrupted(cut.map(({ id }) => id));
    },
    /** Changes for a turn that a crash cut off, if a job had begun it. */
    cutOff: async (turn: Parameters<CronRoom["cutOff"]>[0]): Promise<readonly Change<unknown>[]> =>
      (await store.crons.ofTurn(turn.requestId)) ? (await room()).cutOff(turn) : [],
    start(): Promise<void> {
      started = true;
      return beginWaiting();
    },
    /** Applies a changed configuration, and takes up what was put back. */
    lookAgain: async () => {
      if (started) await beginWaiting();
    },

    /** Tools with which the agent of a session schedules jobs of its own. */
    tools: (scope: CronToolScope): CronTool[] =>
      deps.agent(scope.agentId)?.cronTools === false ? [] : createCronTools(scope, room),

    /** Ends what runs of an agent that another gateway has taken. */
    dropAgent: async (agentId: string) => room.made?.dropAgent(agentId),
    /** Changes that disable the jobs of an agent that is removed. */
    abandonAll: (agentId: string): Change[] => [store.crons.disable(agentId, clock.now(), REMOVED)],
    async removeAgent(agentId: string): Promise<void> {
      await room.made?.dropAgent(agentId);
      await store.forAgent(agentId).commit(store.crons.disable(agentId, clock.now(), REMOVED));
    },
    /** Begins nothing more, and ends commands. */
    close: async () => (await room.begun?.catch(() => undefined))?.close(),
  };
}
export type Crons = ReturnType<typeof createCrons>;
