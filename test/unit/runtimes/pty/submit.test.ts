import { expect, it } from "vitest";
import { sleep } from "../../../../packages/gateway/src/lib/clock.ts";
import { createInputLine } from "../../../../packages/gateway/src/runtimes/pty/input-line.ts";
import type { Link } from "../../../../packages/gateway/src/runtimes/pty/link.ts";
import type { Run } from "../../../../packages/gateway/src/runtimes/pty/run.ts";
import { freeLine } from "../../../../packages/gateway/src/runtimes/pty/submit.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";

/** A message that waits for a line which holds what a person has typed. */
function waiting() {
  const clock = manualClock();
  const line = createInputLine();
  line.keys("half a thought");
  const written: string[] = [];
  const link = {
    changed: (ms: number) => sleep(clock, ms),
    drawn: async (act: () => void) => act(),
    write: (keys: string) => void written.push(keys),
  } as unknown as Link;
  const run = { over: false };
  const state = { done: false };
  void freeLine(link, line, run as Run, clock).then(() => {
    state.done = true;
  });
  return {
    line,
    run,
    written,
    /** Lets time pass, a second at a time. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= 1000) {
        clock.advance(Math.min(1000, left));
        await new Promise(setImmediate);
      }
      return [state.done, ...written];
    },
  };
}

it("clears a person's line with Ctrl-U after 30 s, not before, and once [PTY-5]", async () => {
  const { line, pass } = waiting();
  expect(await pass(29_999)).toEqual([false]);
  expect(line.empty).toBe(false);
  expect(await pass(1)).toEqual([true, "\x15"]);
  expect(line.empty).toBe(true);
});

it("clears nothing once the person has submitted or emptied the line, or the turn is over [PTY-5]", async () => {
  const emptied = waiting();
  await emptied.pass(10_000);
  emptied.line.keys("\x7f".repeat(14));
  expect(await emptied.pass(1000)).toEqual([true]);
  const stopped = waiting();
  await stopped.pass(10_000);
  stopped.run.over = true;
  expect(await stopped.pass(30_000)).toEqual([true]);
});
