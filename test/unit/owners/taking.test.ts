import { expect, it } from "vitest";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { createOwners } from "../../../packages/gateway/src/owners/index.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { simulatedStore } from "./cluster.ts";

const LEASE_MS = 10_000;
const settle = async () => {
  for (let n = 0; n < 60; n++) await undefined;
};

/** A gateway beside another, `two`, which has beaten once and owns the agent `a`. */
async function beside() {
  const clock = manualClock(0);
  const { operations, placements, nodes } = simulatedStore();
  await operations.beat({ bootId: "two", name: "two", address: "", home: "two", leaseMs: LEASE_MS });
  await operations.take("a", { bootId: "two", workspace: "a" }, undefined);
  /** Who owned the agent, under which fence, when what was open there was read. */
  const recovered: unknown[] = [];
  const owners = createOwners({
    directory: operations,
    node: { bootId: "one", name: "one", address: "", home: "one" },
    clock,
    log: silentLogger,
    leaseMs: () => LEASE_MS,
    agents: () => [{ id: "a", workspace: "a" }],
    readMarker: async (workspace) => workspace,
    ensureMarker: async (workspace) => workspace,
    async recover() {
      const { bootId, fence } = placements.get("a")!;
      recovered.push([bootId, fence]);
    },
    onTaken() {},
    onLost: async () => {},
    onLook() {},
    onReach() {},
  });
  await owners.start();
  return {
    owners,
    placements,
    nodes,
    recovered,
    /** Lets time pass; in each second the wall clock is set on by `ahead`. */
    async run(ms: number, ahead = 0) {
      for (let passed = 0; passed < ms; passed += 250) {
        if (passed % 1_000 === 0) clock.jump(ahead);
        clock.advance(250);
        await settle();
      }
    },
  };
}

it("takes from a silent gateway after the lease by its own monotonic time, however fast its wall clock runs [OWN-1, OWN-7]", async () => {
  const { owners, run } = await beside();
  await run(LEASE_MS - 1_000, 1_900);
  expect(owners.owns("a")).toBe(false);
  await run(3_000, -5_000);
  expect(owners.owns("a")).toBe(true);
});

it("reads what is to be closed only under its own fence [OWN-5]", async () => {
  const { owners, recovered, run } = await beside();
  await run(LEASE_MS + 2_000);
  expect(owners.owns("a")).toBe(true);
  expect(recovered).toEqual([["one", 2]]);
});

it("frees what it owns and forgets itself when it stops [OWN-9]", async () => {
  const { owners, placements, nodes, run } = await beside();
  await run(LEASE_MS + 2_000);
  await owners.close();
  expect(placements.get("a")).toMatchObject({ bootId: null, fence: 3 });
  expect(nodes.has("one")).toBe(false);
});
