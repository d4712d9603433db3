import { expect, it } from "vitest";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { createOwners } from "../../../packages/gateway/src/owners/index.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { simulatedStore } from "./cluster.ts";

const settle = async () => {
  for (let n = 0; n < 60; n++) await undefined;
};

/** The only gateway of a store, whose line can be cut. */
async function alone() {
  const clock = manualClock(0);
  const { operations } = simulatedStore();
  let cut = false;
  const line = async <T>(work: () => Promise<T>): Promise<T> => {
    if (cut) throw new Error("cut");
    return work();
  };
  const reached: boolean[] = [];
  const owners = createOwners({
    directory: {
      ...operations,
      beat: (node) => line(() => operations.beat(node)),
      look: () => line(() => operations.look()),
    },
    node: { bootId: "one", name: "one", address: "", home: "one" },
    clock,
    log: silentLogger,
    leaseMs: () => 10_000,
    agents: () => [{ id: "a", workspace: "a" }],
    readMarker: async (workspace) => workspace,
    ensureMarker: async (workspace) => workspace,
    recover: async () => {},
    onTaken() {},
    onLost: async () => {},
    onLook() {},
    onReach: () => void reached.push(owners.connects("a")),
  });
  await owners.start();
  return {
    owners,
    operations,
    reached,
    async run(ms: number) {
      for (let passed = 0; passed < ms; passed += 250) {
        clock.advance(250);
        await settle();
      }
    },
    cut(is: boolean) {
      cut = is;
    },
  };
}

it("closes the connections of a gateway that cannot renew, though it knows of no other [FENCE-3]", async () => {
  const { owners, reached, run, cut } = await alone();
  await run(3_000);
  expect(owners.connects("a")).toBe(true);
  expect(reached).toEqual([]);
  cut(true);
  await run(7_000);
  expect(reached).toEqual([false]);
  expect(owners.connects("a")).toBe(false);
  expect(owners.claim("a")?.reaches()).toBe(false);
  // Its turns go on.
  expect(owners.owns("a")).toBe(true);
  await run(60_000);
  expect(owners.owns("a")).toBe(true);
  cut(false);
  await run(2_500);
  expect(reached).toEqual([false, true]);
  expect(owners.connects("a")).toBe(true);
});

it("connects again only when whoever came unseen can no longer take its agents [FENCE-3]", async () => {
  const { owners, operations, reached, run, cut } = await alone();
  await run(3_000);
  cut(true);
  await run(9_000);
  await operations.beat({ bootId: "two", name: "two", address: "", home: "two", leaseMs: 10_000 });
  cut(false);
  await run(9_000);
  // The other one may have judged by what it read before.
  expect(owners.connects("a")).toBe(false);
  expect(owners.owns("a")).toBe(true);
  await run(3_000);
  expect(reached).toEqual([false, true]);
  cut(true);
  await run(9_000);
  await operations.take("a", { bootId: "two", workspace: "a" }, { bootId: "one", fence: 1 });
  cut(false);
  await run(5_000);
  expect(owners.connects("a")).toBe(false);
  expect(owners.owns("a")).toBe(false);
});
