import { type Clock, sleep } from "./clock.ts";
import type { Logger } from "./logger.ts";

/** One step of the shutdown. */
export interface Phase {
  name: string;
  /** After this time the next phase starts, whether or not this one has finished. */
  budgetMs: number;
  run(): unknown;
}

/** Runs the phases in order, each within its budget. Never rejects, and ends within the sum of the budgets. */
export async function runPhases(phases: readonly Phase[], clock: Clock, log: Logger): Promise<void> {
  for (const { name, budgetMs, run } of phases) {
    const work = (async () => {
      await run();
    })().catch((error) => log.error({ err: error, phase: name }, "a part of the shutdown failed"));
    let over = false;
    await Promise.race([
      work.then(() => {
        over = true;
      }),
      sleep(clock, budgetMs),
    ]);
    if (!over)
      log.warn({ phase: name, budgetMs }, "a part of the shutdown took too long; continuing without it");
  }
}
