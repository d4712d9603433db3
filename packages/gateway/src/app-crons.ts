import type { Channels } from "./channels/index.ts";
import { type CronDeps, createCrons } from "./crons/index.ts";
import { routes } from "./http/index.ts";
import type { JobKind } from "./jobs/index.ts";
import { publishStep } from "./steps.ts";

interface Deps extends Omit<CronDeps, "posts" | "planned" | "step"> {
  channels: Pick<Channels, "posts">;
  /** Once it is there. */
  jobs(): { planned(at: number): void };
}

/** Scheduled jobs: their routes, and the job that looks for what is due of an agent. */
export function createAppCrons({ channels, jobs, ...deps }: Deps) {
  const crons = createCrons({
    ...deps,
    posts: channels.posts,
    planned: (at) => jobs().planned(at),
    step: publishStep,
  });
  const ticks: JobKind = {
    name: "crons.ticks",
    scope: "agent",
    runs: "atLeastOnce",
    limitMs: 60_000,
    concurrency: 4,
    backOff: { firstMs: 1_000, mostMs: 60_000 },
    run: async ({ key }) => ({ again: await crons.tick(key) }),
    // After the clock was set back, what is planned has to be looked at.
    next: (_, now) => now,
  };
  return {
    ...crons,
    ticks,
    endpoints: routes.cronRoutes({
      room: crons.room,
      agentExists: (id) => deps.agent(id) !== undefined,
      serves: deps.serves,
    }),
  };
}
export type AppCrons = ReturnType<typeof createAppCrons>;
