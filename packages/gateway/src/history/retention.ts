import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Store } from "../store/index.ts";
import { sweepMedia } from "./media-sweep.ts";
import { isDue, type LocalHour, localHour } from "./retention-time.ts";

/** What retention needs to know about an agent; overrides and time zone are already resolved. */
export interface RetentionAgent {
  id: string;
  history: { retentionDays: number | null; cleanupHour: number; cleanupTimezone: string };
}

const DAY_MS = 86_400_000;
const TICK_MS = 60_000;
const TURNS_DAYS = 7;

/**
 * Daily clean-up of each agent at its hour: messages older than `retentionDays`, media that no message refers to any
 * more, finished turns older than a week. A clean-up missed while the gateway was down is not made up for; the next
 * one removes as much.
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
  const previous = new Map<string, LocalHour>();
  /** The clean-up that each agent had last: its day and settings. */
  const swept = new Map<string, string>();
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();

  const sweep = async (agent: RetentionAgent) => {
    const { retentionDays } = agent.history;
    const { signal } = stop;
    const now = clock.now();
    if (retentionDays !== null) {
      const messages = await removal.olderThan(agent.id, now - retentionDays * DAY_MS, signal);
      const files = await sweepMedia(media, agent.id, deps.mediaDir(agent.id), now, signal);
      if (messages + files > 0) log.info({ agent: agent.id, messages, files }, "cleaned up history");
    }
    await removal.turnsBefore(now - TURNS_DAYS * DAY_MS, signal);
  };

  const sweepIfDue = async (agent: RetentionAgent) => {
    const { cleanupHour, cleanupTimezone, retentionDays } = agent.history;
    const current = localHour(clock.now(), cleanupTimezone);
    const due = isDue(previous.get(agent.id), current, cleanupHour);
    previous.set(agent.id, current);
    // With other settings, or after a restart, the hour under way counts anew: a sweep too many removes nothing.
    const slot = `${current.day}T${cleanupHour} ${cleanupTimezone} ${retentionDays}`;
    if (!due || swept.get(agent.id) === slot) return;
    await sweep(agent);
    if (!stop.signal.aborted) swept.set(agent.id, slot);
  };

  const tick = () => {
    running = running.then(async () => {
      for (const agent of deps.agents()) {
        if (stop.signal.aborted) return;
        await sweepIfDue(agent).catch((error) => {
          if (!stop.signal.aborted) log.error({ agent: agent.id, err: error }, "history clean-up failed");
        });
      }
    });
    return running;
  };

  let cancel = () => {};
  return {
    /** Looks once a minute whether a clean-up is due, beginning now. */
    start() {
      cancel = clock.every(TICK_MS, () => void tick());
      void tick();
    },
    /** Resolves when the current check is done. */
    tick,
    async close() {
      cancel();
      stop.abort();
      await running;
    },
  };
}
