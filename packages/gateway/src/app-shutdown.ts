import { type Clock, sleep } from "./lib/clock.ts";
import type { Phase } from "./lib/phases.ts";

/** Callers of running turns get the reply so far; interrupting the turns takes 1.5 s at most. */
const CLOSE_GRACE_MS = 2_500;
/** The database closes after this time, even if something else is still closing. */
const ROOMS_MS = 400;

interface Closing {
  close(): unknown;
}

interface Rooms {
  clock: Clock;
  server: { close(graceMs: number): Promise<void> };
  feed: Closing & { end(told: { type: "gateway.stopping" }): Promise<void> };
  channels: Closing & { stopIntake(): void };
  sessions: Closing & { refuse(): void; stopAll(): Promise<unknown> };
  crons: Closing;
  disk: Closing;
  jobs: Closing;
  reaper: { sweepAll(): Promise<unknown> };
  /** Closed together at the end, before the store. */
  last: readonly Closing[];
  /** Frees the agents for other gateways, when nothing of them goes on any more. */
  owners: Closing;
  rows: Closing;
}

/**
 * The shutdown sequence. Its phases together stay under 5 s; work that a phase leaves unfinished is resumed from its
 * rows at the next start.
 */
export function shutdownPhases(rooms: Rooms): Phase[] {
  const { clock, server, feed, channels, crons, sessions, disk, jobs, reaper, last, owners, rows } = rooms;
  let served: Promise<void> = Promise.resolve();
  return [
    {
      name: "refuse",
      budgetMs: 200,
      run() {
        served = server.close(CLOSE_GRACE_MS);
        void feed.end({ type: "gateway.stopping" });
        channels.stopIntake();
        sessions.refuse();
        disk.close();
      },
    },
    {
      name: "stop",
      budgetMs: 1_900,
      run: () => Promise.all([sessions.stopAll(), crons.close(), jobs.close()]),
    },
    {
      name: "drain",
      budgetMs: 1_300,
      run: () => Promise.all([channels.close(), sessions.close(), served]),
    },
    {
      name: "close",
      budgetMs: 1_000,
      async run() {
        const closed = Promise.allSettled([...last.map(async (room) => room.close()), reaper.sweepAll()]);
        await Promise.race([closed, sleep(clock, ROOMS_MS)]);
        feed.close();
        await Promise.race([owners.close(), sleep(clock, ROOMS_MS)]);
        await rows.close();
      },
    },
  ];
}
