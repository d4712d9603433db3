import { randomUUID } from "node:crypto";
import { GatewayError } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import { sleep } from "../lib/clock.ts";
import { createSlots } from "../lib/slots.ts";
import type { TurnEnd } from "../lib/turn-ends.ts";
import { isoIn } from "../lib/wall-clock.ts";
import { escapeText, escapeXml } from "../lib/xml.ts";
import type { StoredCron, StoredCronRun } from "../store/index.ts";
import { type Chat, type Ended, type Ends, judge } from "./ends.ts";
import type { CronDeps } from "./ports.ts";
import { specIn } from "./records.ts";

/** Turns of jobs at the same time, of all agents: each may be a process. */
const TURNS = 64;
/** A wait for a place ends after this, to see whether anything has changed meanwhile. */
const WAIT_MS = 60_000;
const BUSY_MS = 100;
const NO_PLACE = "All of the agent's sessions were busy for too long.";

/** The chat of a job's sessions. */
export const chatOf = (job: string): string => `cron-${job}`;

const isBusy = (error: unknown) =>
  error instanceof GatewayError && (error.code === "SESSION_BUSY" || error.code === "CAPACITY");

/** What the agent is told. All values are escaped, so that no prompt can close the element. */
const prompt = (job: StoredCron, run: StoredCronRun, text: string, timezone: string) =>
  `<cron_job name="${escapeXml(job.name)}" scheduled="${isoIn(run.runAt, timezone)}">\n${escapeText(text)}\n</cron_job>`;

/** Runs the turns of jobs. */
export function createAgentRuns(deps: CronDeps, ends: Ends, stopping: AbortSignal) {
  const { store, clock, sessions } = deps;
  const takeSlot = createSlots(TURNS);

  /** The chats that get the reply; a sentence if one of them must not. */
  const chatsOf = async (agent: AgentConfig, job: StoredCron): Promise<Chat[] | string> => {
    const { deliver } = specIn(job);
    const chats: Chat[] = [];
    if (deliver.length === 0) return chats;
    const posts = await deps.posts();
    for (const target of deliver) {
      const refusal = await posts.refusal(agent, target);
      if (refusal !== undefined) return `The chat ${target.chatId} of ${target.channel} ${refusal}.`;
      chats.push({ place: await posts.placeFor(agent, target), chatId: target.chatId });
    }
    return chats;
  };

  const sessionOf = async (run: StoredCronRun, job: StoredCron) => {
    const chatId = chatOf(job.id);
    // A turn that was put back belongs to the session that has its message.
    const before = run.session === null ? undefined : await sessions.find(run.agentId, chatId, run.session);
    if (before) return before;
    return specIn(job).freshSession ? undefined : sessions.latest(run.agentId, chatId);
  };

  /** Waits for a place; resolves to how long that took. */
  const waitForPlace = async (
    agentId: string,
    session: string | undefined,
    ms: number,
    stop: AbortSignal,
  ) => {
    const began = clock.elapsed();
    const limits = { ms: Math.min(ms, WAIT_MS), signal: stop };
    const free = await sessions.vacancy(agentId, session, limits);
    if (!free && session !== undefined && sessions.isBusy(session))
      await sessions.idle(agentId, session, limits);
    return { free, took: clock.elapsed() - began };
  };

  const begin = async (
    run: StoredCronRun,
    job: StoredCron,
    agent: AgentConfig,
    chats: readonly Chat[],
    session: string | undefined,
    stop: AbortSignal,
  ): Promise<StoredCronRun | undefined> => {
    const spec = specIn(job);
    const posts = chats.length > 0 ? await deps.posts() : undefined;
    const requestId = randomUUID();
    const startedAt = run.startedAt ?? clock.now();
    const begunAt = clock.elapsed();
    let late: number | undefined;
    let ended: StoredCronRun | undefined;
    let sessionId: string | undefined;
    const kept = run.userMessage !== null && (await store.inbox.hasUserMessage(run.userMessage));
    const again = kept && session === run.session ? (run.userMessage ?? undefined) : undefined;
    const closing = (end: TurnEnd) => {
      // Its job is gone.
      if (ends.isForgotten(run.id)) return [];
      if (end.reason === "shutdown" && !end.produced) return [store.crons.putBack(run.id)];
      const came: Ended = { ...judge(end, late), durationMs: Math.round(clock.elapsed() - begunAt) };
      const now: StoredCronRun = { ...run, startedAt, requestId, session: sessionId ?? run.session };
      ended = ends.ended(now, came);
      return [
        ...ends.changes(now, job, came),
        ...chats.map(({ place, chatId }) => posts!.add(place, chatId, run.id, end)),
      ];
    };
    const turn = await sessions.send({
      agent,
      requestId,
      chatId: chatOf(job.id),
      sessionId: session,
      text: spec.prompt!,
      told: prompt(job, run, spec.prompt!, spec.timezone),
      // What stops it is the time limit of the job.
      softMs: spec.timeoutMs,
      kind: "cron",
      ...(spec.freshSession && { once: true as const }),
      ...(again !== undefined && { again }),
      also: ({ sessionId: into, message: userMessage = again }) => {
        sessionId = into;
        return [store.crons.startTurn(run.id, { requestId, sessionId: into, now: startedAt, userMessage })];
      },
      closing,
    });
    const cancel = clock.after(spec.timeoutMs, () => {
      late = spec.timeoutMs;
      void turn.stop();
    });
    const onStop = () => {
      // The stop of the gateway ends all turns in its own way.
      if (!stopping.aborted) void turn.stop();
    };
    stop.addEventListener("abort", onStop, { once: true });
    if (stop.aborted) onStop();
    const result = await turn.done;
    stop.removeEventListener("abort", onStop);
    cancel();
    // The reply goes out once it is stored, and not before.
    await result.settled;
    for (const { place, chatId } of chats) posts!.wake(place, chatId);
    return ended;
  };

  /** Resolves to the run when it has ended; to undefined when it waits for another start, or is gone. */
  return async (
    run: StoredCronRun,
    job: StoredCron,
    agent: AgentConfig,
    stop: AbortSignal,
  ): Promise<StoredCronRun | undefined> => {
    const refused = async (error: string) => {
      const ended: Ended = { state: "error", output: null, error };
      await store.forAgent(agent.id).commit(...ends.changes(run, job, ended));
      return ends.ended(run, ended);
    };
    const { timeoutMs } = specIn(job);
    for (let waited = 0; !stop.aborted; ) {
      const session = await sessionOf(run, job);
      const { free, took } = await waitForPlace(agent.id, session?.uuid, timeoutMs - waited, stop);
      waited += took;
      if (stop.aborted) return undefined;
      if (!free && waited >= timeoutMs) return refused(NO_PLACE);
      if (!free) continue;
      const give = await takeSlot(stop);
      try {
        const now = deps.agent(agent.id);
        if (stop.aborted || !now) return undefined;
        const chats = await chatsOf(now, job);
        if (typeof chats === "string") return await refused(chats);
        return await begin(run, job, now, chats, session?.uuid, stop);
      } catch (error) {
        if (!isBusy(error)) throw error;
      } finally {
        give();
      }
      await sleep(clock, BUSY_MS, stop);
      waited += BUSY_MS;
    }
    return undefined;
  };
}
