import { expect, it } from "vitest";
import { createOwners, type OwnersDeps } from "../../../packages/gateway/src/owners/index.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { simulatedStore } from "./cluster.ts";

const LEASE_MS = 10_000;

/** Gateways on one store that know one agent. */
function rig() {
  const clock = manualClock(0);
  const { operations } = simulatedStore();
  const said: string[] = [];
  const note = (kind: string) => (_about: unknown, text?: string) => void said.push(`${kind}: ${text}`);
  const log = {
    info: note("info"),
    warn: note("warn"),
    error: note("error"),
  } as unknown as OwnersDeps["log"];
  const run = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 250) {
      clock.advance(250);
      for (let n = 0; n < 60; n++) await undefined;
    }
  };
  const join = async (bootId: string, home: string, leaseMs = LEASE_MS) => {
    const state = { alive: true, formers: [] as boolean[], begun: 0 };
    const alive = <T>(work: () => Promise<T>): Promise<T> => (state.alive ? work() : new Promise(() => {}));
    const owners = createOwners({
      directory: {
        beat: (node) => alive(() => operations.beat(node)),
        look: () => alive(() => operations.look()),
        take: (...args) => alive(() => operations.take(...args)),
        free: (...args) => alive(() => operations.free(...args)),
        leave: (id) => alive(() => operations.leave(id)),
      },
      node: { bootId, name: bootId, address: "", home },
      clock,
      log,
      leaseMs: () => leaseMs,
      agents: () => [{ id: "a", workspace: "a" }],
      readMarker: async (workspace) => workspace,
      ensureMarker: async (workspace) => workspace,
      recover: async (_agent, former) => void state.formers.push(former),
      onTaken() {},
      onLost: async () => {},
      onLook() {},
      onReach() {},
    });
    const started = owners.start().then(() => {
      state.begun = clock.elapsed();
    });
    await run(250);
    return { owners, state, started, owns: () => owners.owns("a") };
  };
  return { run, join, errors: () => said.filter((text) => text.startsWith("error")) };
}

it("does not take the agents of a gateway that runs on a copy of its disk, and says so [OWN-16]", async () => {
  const { join, run, errors } = rig();
  const first = await join("one", "home@system1:1");
  const second = await join("two", "home@system2:1");
  await run(8_000);
  expect([first.owns(), second.owns()]).toEqual([true, false]);
  // Each says so: whoever looks at either log learns of it, from its start on.
  expect(errors()).toEqual(Array(2).fill(expect.stringContaining("runs on a copy of this home")));
  expect(second.state.begun).toBeLessThan(6_000);
  // It is another gateway like any other: when it is silent for the lease, it is dead.
  first.state.alive = false;
  await run(LEASE_MS - 2_000);
  expect(second.owns()).toBe(false);
  await run(4_000);
  expect(second.owns()).toBe(true);
  expect(second.state.formers).toEqual([false]);
});

it("leaves them alone also where nothing tells the disks apart, once it has seen the other alive [OWN-16]", async () => {
  const { join, run, errors } = rig();
  const first = await join("one", "home@system:1");
  const second = await join("two", "home@system:1");
  expect(second.owns()).toBe(true);
  await run(12_000);
  expect([first.owns(), second.owns()]).toEqual([false, true]);
  expect(errors()).toHaveLength(2);
});

it("takes back what it had before the system was started anew, during its start [OWN-16]", async () => {
  const { join, run, errors } = rig();
  const first = await join("one", "home@system1:1");
  await run(2_000);
  first.state.alive = false;
  const second = await join("two", "home@system2:1");
  await run(4_000);
  await second.started;
  expect(second.owns()).toBe(true);
  expect(second.state.formers).toEqual([true]);
  expect(errors()).toEqual([]);
});

it("judges by the longer of its own lease and the owner's [OWN-17]", async () => {
  const { join, run } = rig();
  const first = await join("one", "home1", 60_000);
  const second = await join("two", "home2", 5_000);
  await run(2_000);
  first.state.alive = false;
  await run(50_000);
  expect([first.owns(), second.owns()]).toEqual([false, false]);
  await run(15_000);
  expect(second.owns()).toBe(true);
});
