import { expect, it } from "vitest";
import { createHolds } from "../../../packages/gateway/src/sessions/holds.ts";
import { createOccupied } from "../../../packages/gateway/src/sessions/occupied.ts";
import type { Place } from "../../../packages/gateway/src/sessions/place.ts";
import type { Pool } from "../../../packages/gateway/src/sessions/pool.ts";
import type { Turns } from "../../../packages/gateway/src/sessions/turns.ts";

function rig() {
  const holds = createHolds(() => {});
  const released: string[] = [];
  const place = { sessionId: "s", busy: false } as Place;
  const pool = {
    get: () => place,
    release: ({ sessionId }: Place) => void released.push(sessionId),
  } as unknown as Pool;
  const turns = { running: () => undefined } as unknown as Turns;
  const occupied = createOccupied({ pool: () => pool, turns: () => turns, holds });
  return { holds, released, place, occupied };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

it("a session stays busy while what a person has queued in its terminal runs [PTY-7]", async () => {
  const { holds, released, place, occupied } = rig();
  const [first, queued] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];

  occupied.begin(place, first.promise);
  // The program tells the end of one and the begin of the next in one piece.
  first.resolve();
  occupied.begin(place, queued.promise);
  await settled();
  expect([holds.has("s"), place.busy, released]).toEqual([true, true, []]);

  queued.resolve();
  await settled();
  expect([holds.has("s"), released]).toEqual([false, ["s"]]);
});

it("whoever needs the session ends also what a person has queued behind the first [PTY-7]", async () => {
  const { holds, place, occupied } = rig();
  const prompts = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let ended = 0;
  place.runtime = {
    async interrupt() {
      prompts[ended++]!.resolve();
      const next = prompts[ended];
      if (next) occupied.begin(place, next.promise);
    },
  } as Place["runtime"];
  occupied.begin(place, prompts[0]!.promise);
  expect(
    await holds.next(
      "s",
      () => occupied.interrupt("s"),
      async () => ended,
    ),
  ).toBe(2);
});
