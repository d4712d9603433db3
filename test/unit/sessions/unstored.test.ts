import { GatewayError } from "@agent-gateway/contract";
import { expect, it } from "vitest";
import {
  createUnstored,
  notYetStored,
  type TurnEndUnit,
} from "../../../packages/gateway/src/sessions/unstored.ts";
import { change } from "../../../packages/gateway/src/store/change.ts";
import { FencedError } from "../../../packages/gateway/src/store/index.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

const AWAY = new GatewayError("UNAVAILABLE", "away");
const REFUSED = new Error("the statement is wrong");
const ENDED = new Error('null value in column "text" of relation "turn_parts" violates not-null constraint');
const settle = () => new Promise((resolve) => setImmediate(resolve));

function rig() {
  const clock = manualClock();
  const state = {
    /** How the next commits fail; undefined: they succeed. */
    error: AWAY as Error | undefined,
    commits: 0,
    unclosable: false,
    closed: [] as string[],
    freed: 0,
    said: [] as string[],
  };
  const note = (_about: unknown, text?: string) => void state.said.push(text ?? "");
  const unstored = createUnstored({
    turns: { mustRun: () => change() },
    clock,
    log: { error: note, warn: note, info: note } as never,
    async closeCutOff(_agentId, requestId) {
      if (state.error === AWAY) throw AWAY;
      if (state.unclosable) throw REFUSED;
      state.closed.push(requestId);
    },
    freed: () => void state.freed++,
  });
  const keep = (session: string, bytes = 100) => {
    let settled = false;
    const commit = async () => {
      state.commits++;
      if (state.error) throw state.error;
      return [];
    };
    const end = {
      agentId: "a",
      sessionId: session,
      requestId: `r-${session}`,
      units: { commit, holds: () => true, reaches: () => true },
      changes: [change()],
      bytes,
    } as unknown as TurnEndUnit;
    void unstored.keep(end).then(() => {
      settled = true;
    });
    return () => settled;
  };
  const pass = async (ms: number) => {
    for (let gone = 0; gone < ms; gone += 1_000) {
      clock.advance(Math.min(1_000, ms - gone));
      await settle();
    }
  };
  return { clock, state, unstored, keep, pass };
}

it("is tried until the store takes it, and its session is free then [AWAY-1, AWAY-3]", async () => {
  const { clock, state, unstored, keep, pass } = rig();
  const settled = keep("s");
  await pass(60_000);
  expect(state.commits).toBeGreaterThan(10);
  expect(state.commits).toBeLessThan(20);
  expect([unstored.has("s"), settled()]).toEqual([true, false]);
  await expect(unstored.flush("s")).rejects.toBe(AWAY);
  state.error = undefined;
  const before = state.commits;
  await unstored.flush("s");
  await pass(60_000);
  expect([unstored.has("s"), settled(), state.commits - before, state.freed]).toEqual([false, true, 1, 1]);
  expect(clock.timers()).toBe(0);
});

it("whose attempts overlap is sent once at a time [AWAY-1]", async () => {
  const { state, unstored, keep } = rig();
  keep("s");
  const tries = [unstored.flush("s"), unstored.flush("s"), unstored.flush("s")];
  await Promise.allSettled(tries);
  expect(state.commits).toBe(1);
});

it("is given up after ten minutes: its turn is closed without it when the store is back [AWAY-5]", async () => {
  const { state, unstored, keep, pass } = rig();
  const settled = keep("s");
  await pass(599_000);
  expect(state.said.join()).not.toContain("gave up");
  await pass(10_000);
  expect(state.said.join()).toContain("gave up a reply");
  expect([unstored.has("s"), settled()]).toEqual([true, false]);
  state.error = undefined;
  const before = state.commits;
  await pass(6_000);
  expect([state.commits - before, state.closed, unstored.has("s"), settled()]).toEqual([
    0,
    ["r-s"],
    false,
    true,
  ]);
});

it("is given up at once where too much is kept already; the others are stored [AWAY-5]", async () => {
  const { state, keep, pass } = rig();
  for (const session of ["a", "b", "c"]) keep(session, 30 * 1024 * 1024);
  expect(state.said.filter((text) => text.includes("gave up"))).toHaveLength(1);
  state.error = undefined;
  await pass(6_000);
  expect([state.commits, state.closed]).toEqual([2, ["r-c"]]);
  // What was kept is not counted any more.
  for (const session of ["a", "b"]) keep(session, 30 * 1024 * 1024);
  expect(state.said.filter((text) => text.includes("gave up"))).toHaveLength(1);
});

it("is dropped where the agent was taken, or the turn closed, by somebody else [AWAY-6]", async () => {
  for (const error of [new FencedError(), ENDED]) {
    const { state, unstored, keep, pass } = rig();
    const settled = keep("s");
    state.error = error;
    await pass(1_000);
    expect([state.commits, state.closed, unstored.has("s"), settled()]).toEqual([1, [], false, true]);
  }
});

it("that the store refuses for its own sake keeps no session closed [AWAY-5]", async () => {
  const { state, unstored, keep, pass } = rig();
  keep("s");
  state.error = REFUSED;
  await pass(1_000);
  expect([state.commits, state.closed, unstored.has("s")]).toEqual([1, ["r-s"], false]);
});

it("that a stop finds is tried once more, and then named in the log; what comes later as well [AWAY-4]", async () => {
  const { clock, state, unstored, keep } = rig();
  const settled = keep("s");
  await unstored.stop();
  await settle();
  expect([state.commits, settled(), clock.timers()]).toEqual([1, true, 1]);
  expect(state.said.filter((text) => text.includes("before a reply could be stored"))).toHaveLength(1);
  const late = keep("t");
  await settle();
  expect([late(), unstored.has("t")]).toEqual([true, false]);
  expect(state.said.filter((text) => text.includes("before a reply could be stored"))).toHaveLength(2);
});

it("whose turn cannot be closed either keeps no session closed: the next start closes it [AWAY-5]", async () => {
  const { state, unstored, keep, pass } = rig();
  state.unclosable = true;
  const settled = keep("s");
  state.error = REFUSED;
  await pass(1_000);
  expect([state.commits, state.closed, unstored.has("s"), settled()]).toEqual([1, [], false, true]);
  expect(state.said.at(-1)).toBe("could not close a turn; the next start does");
});

it("is tried less and less often while any is refused, and anew when the store has taken all [AWAY-1]", async () => {
  const { clock, state, keep } = rig();
  const times: number[] = [];
  const start = clock.elapsed();
  const watch = async (ms: number) => {
    for (let gone = 0; gone < ms; gone += 100) {
      const before = state.commits;
      clock.advance(100);
      await settle();
      if (state.commits > before) times.push(clock.elapsed() - start);
    }
  };
  keep("s");
  await watch(20_000);
  expect(times).toEqual([500, 1_500, 3_500, 7_500, 12_500, 17_500]);
  state.error = undefined;
  await watch(5_000);
  times.length = 0;
  state.error = AWAY;
  keep("t");
  await watch(600);
  expect(times).toEqual([25_500]);
  expect(clock.timers()).toBe(1);
});

it("that nothing waits for costs a stop no time, and what is told to callers says to come back [AWAY-3]", async () => {
  const { clock, unstored } = rig();
  await unstored.stop();
  expect(clock.timers()).toBe(0);
  expect(notYetStored()).toMatchObject({ code: "UNAVAILABLE", headers: { "retry-after": "5" } });
});
