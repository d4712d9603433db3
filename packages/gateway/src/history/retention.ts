import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Store } from "../store/index.ts";
import { sweepMedia } from "./media-sweep.ts";
import { isHour, nextHour } from "./retention-time.ts";

/** What retention needs to know about an agent; overrides and time zone are already resolved. */
export interface RetentionAgent {
  id: string;
  history: { retentionDays: number | null; cleanupHour: number; cleanupTimezone: string };
}

/** What a clean-up is planned by. */
type Settings = RetentionAgent["history"];

const DAY_MS = 86_400_000;
const TURNS_DAYS = 7;

/**
 * Daily clean-up of each agent at its hour, as a job: messages older than `retentionDays`, media that no message refers
 * to any more, finished turns older than a week. A clean-up missed while the gateway was down is not made up for; the
 * next one removes as much.
 */
export function createRetention(deps: {
  store: Pick<Store, "media" | "removal">;
  clock: Clock;
  log: Logger;
  agents: () => readonly RetentionAgent[];
  mediaDir(agentId: string): string;
}) {
  const { clock, log } = deps;
  const { media, removal } = deps.store;

  const sweep = async (agent: RetentionAgent, signal: AbortSignal) => {
    const { retentionDays } = agent.history;
    const now = clock.now();
    if (retentionDays !== null) {
      const messages = await removal.olderThan(agent.id, now - retentionDays * DAY_MS, signal);
      const files = await sweepMedia(media, agent.id, deps.mediaDir(agent.id), now, signal);
      if (messages + files > 0) log.info({ agent: agent.id, messages, files }, "cleaned up history");
    }
    await removal.turnsBefore(agent.id, now - TURNS_DAYS * DAY_MS, signal);
    signal.throwIfAborted();
  };
  const hourOf = (payload: unknown) => {
    const { cleanupHour, cleanupTimezone } = payload as Settings;
    return [cleanupHour, cleanupTimezone] as const;
  };

  return {
    standing: () =>
      deps.agents().map(({ id, history: { retentionDays, cleanupHour, cleanupTimezone } }) => {
        const payload: Settings = { retentionDays, cleanupHour, cleanupTimezone };
        return { key: id, owner: id, payload };
      }),
    /** With new settings the hour under way counts anew: a sweep too many removes nothing. */
    first: ({ payload }: { payload: unknown }, now: number) =>
      isHour(now, ...hourOf(payload)) ? now : nextHour(now, ...hourOf(payload)),
    next: ({ payload }: { payload: unknown }, now: number) => nextHour(now, ...hourOf(payload)),
    async run(job: { key: string; payload: unknown; missed: boolean }, signal: AbortSignal): Promise<void> {
      const agent = deps.agents().find(({ id }) => id === job.key);
      if (!agent || (job.missed && !isHour(clock.now(), ...hourOf(job.payload)))) return;
      await sweep(agent, signal);
    },
  };
}
