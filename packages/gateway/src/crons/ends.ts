import type { CutOffTurn, TurnEnd } from "../lib/turn-ends.ts";
import type { Change, EndedCronRun, StoredCron, StoredCronRun } from "../store/index.ts";
import type { CronDeps, Place } from "./ports.ts";
import { specIn } from "./records.ts";
import { endOf } from "./tail.ts";

/** Runs kept of each job. */
const KEEP = 100;

/** What a run came to, without the time. */
export type Ended = Omit<EndedCronRun, "durationMs"> & { durationMs?: number };

/** A chat that gets the reply, with its account. */
export interface Chat {
  place: Place;
  chatId: string;
}

/** What ends runs, as changes for the unit in which they end. */
export function createEnds({ store, clock, feed, posts, agent }: CronDeps) {
  /** Runs whose job is gone. */
  const forgotten = new Set<number>();

  const changes = (
    run: StoredCronRun,
    job: StoredCron,
    { durationMs = 0, ...ended }: Ended,
  ): Change<unknown>[] => {
    const { state } = ended;
    if (forgotten.has(run.id)) return [];
    return [
      store.crons.end(run, { ...ended, durationMs: run.startedAt === null ? null : durationMs }, KEEP),
      feed.event({
        type: "cron.finished",
        agentId: run.agentId,
        data: { jobId: run.job, runId: String(run.id), status: state, trigger: run.cause },
      }),
      // Who has changed it while it ran wants to keep it.
      ...(state === "ok" && specIn(job).deleteAfterRun ? [store.crons.remove(job.id, job.updatedAt)] : []),
    ];
  };

  return {
    changes,
    /** A run as it is after them. */
    ended: (run: StoredCronRun, { durationMs = 0, ...ended }: Ended): StoredCronRun => ({
      ...run,
      ...ended,
      durationMs: run.startedAt === null ? null : durationMs,
    }),
    /** From now on, the end of the run changes nothing. */
    forget: (id: number) => void forgotten.add(id),
    /** The run is over. */
    remember: (id: number) => void forgotten.delete(id),
    isForgotten: (id: number) => forgotten.has(id),

    /** Changes for a turn that a crash cut off: its run begins anew, or its text so far goes out. */
    async cutOff({ requestId, text, produced }: CutOffTurn): Promise<readonly Change<unknown>[]> {
      const run = await store.crons.ofTurn(requestId);
      const job = run && (await store.crons.get(run.job));
      if (!run || !job) return [];
      if (!produced) return [store.crons.putBack(run.id)];
      const config = agent(run.agentId);
      const { deliver } = specIn(job);
      const sent: Change[] = [];
      if (config && deliver.length > 0) {
        const port = await posts();
        for (const target of deliver) {
          if ((await port.refusal(config, target)) !== undefined) continue;
          sent.push(port.add(await port.placeFor(config, target), target.chatId, run.id, { cutOff: text }));
        }
      }
      const error = "A restart interrupted the run.";
      const durationMs = Math.max(0, clock.now() - (run.startedAt ?? clock.now()));
      return [
        ...changes(run, job, { state: "interrupted", output: endOf(text), error, durationMs }),
        ...sent,
      ];
    },
  };
}
export type Ends = ReturnType<typeof createEnds>;

/** What the end of a turn means for its run. */
export function judge({ result, reason }: TurnEnd, late: number | undefined): Ended {
  const output = endOf(result.text);
  if (late !== undefined)
    return { state: "error", output, error: `It took longer than ${late / 1000} s and was stopped.` };
  switch (result.status) {
    case "done":
      return { state: "ok", output, error: null };
    case "interrupted":
      return {
        state: "interrupted",
        output,
        error: reason === "shutdown" ? "The gateway stopped meanwhile." : "It was stopped.",
      };
    case "timeout":
    case "failed":
      return { state: "error", output, error: result.error ?? "The agent failed." };
    default:
      return result.status satisfies never;
  }
}
