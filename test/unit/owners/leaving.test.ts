import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import {
  createOwners,
  ensureMarker,
  type OwnersDeps,
  readMarker,
} from "../../../packages/gateway/src/owners/index.ts";
import { MARKER } from "../../../packages/gateway/src/owners/marker.ts";
import type { Directory } from "../../../packages/gateway/src/store/index.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { simulatedStore } from "./cluster.ts";

const LEASE_MS = 5_000;
const settle = async () => {
  for (let n = 0; n < 50; n++) await undefined;
};

function rig() {
  const clock = manualClock(0);
  const store = simulatedStore();
  const join = (
    name: string,
    agents: string[],
    { directory, ...more }: Partial<Omit<OwnersDeps, "directory">> & { directory?: Partial<Directory> } = {},
  ) =>
    createOwners({
      directory: { ...store.operations, ...directory },
      node: { bootId: name, name, address: "", home: name },
      clock,
      log: silentLogger,
      leaseMs: () => LEASE_MS,
      agents: () => agents.map((id) => ({ id, workspace: id })),
      readMarker: async (workspace) => workspace,
      ensureMarker: async (workspace) => workspace,
      recover: async () => {},
      onTaken() {},
      onLost: async () => {},
      onLook() {},
      onReach() {},
      ...more,
    });
  return {
    store,
    join,
    async seconds(count: number) {
      for (let n = 0; n < count; n++) {
        clock.advance(1_000);
        await settle();
      }
    },
  };
}

it("gives an agent that left its configuration to another gateway, also when the store was away at that moment [OWN-11]", async () => {
  const { store, join, seconds } = rig();
  let away = false;
  const agents = ["assistant"];
  const first = join("first", agents, {
    directory: {
      free: async (...of) => {
        if (away) throw new Error("away");
        await store.operations.free(...of);
      },
    },
  });
  await first.start();
  expect(first.owns("assistant")).toBe(true);
  const second = join("second", ["assistant"]);
  await second.start();
  away = true;
  agents.length = 0;
  await seconds(2);
  expect(first.owns("assistant")).toBe(false);
  away = false;
  await seconds(5);
  expect(second.owns("assistant")).toBe(true);
});

it("forgets the workspace of a removed agent, however the removal and its looks follow one another [OWN-12]", async () => {
  const { store, join, seconds } = rig();
  const agents = ["assistant"];
  const first = join("first", agents);
  await first.start();
  const claim = first.claim("assistant");
  await first.removing("assistant", async () => {
    agents.length = 0;
    await seconds(3);
    // What is closed now belongs to the agent.
    expect(first.claim("assistant")).toBe(claim);
    expect(claim?.holds()).toBe(true);
  });
  expect(store.placements.get("assistant")).toMatchObject({ bootId: null, workspace: null });
  expect(first.owns("assistant")).toBe(false);
});

it("serves an agent as soon as it is in the configuration [OWN-15]", async () => {
  const { join } = rig();
  const agents = ["assistant"];
  const taken: string[] = [];
  const first = join("first", agents, { onTaken: (id) => void taken.push(id) });
  // Also during a look that began before.
  const starting = first.start();
  agents.push("second");
  await Promise.all([starting, first.reconfigure()]);
  agents.push("third");
  await Promise.all([first.reconfigure(), first.reconfigure()]);
  expect(agents.map(first.owns)).toEqual([true, true, true]);
  expect(taken).toEqual(agents);
});

it("takes other agents while the workspace of one does not answer, and that one when it does [OWN-13]", async () => {
  const { join, seconds } = rig();
  const hung = Promise.withResolvers<string>();
  const agents = ["hung"];
  let asked = 0;
  const first = join("first", agents, {
    ensureMarker: (workspace) => {
      if (workspace !== "hung") return Promise.resolve(workspace);
      asked++;
      return hung.promise;
    },
  });
  let started = false;
  void first.start().then(() => {
    started = true;
  });
  await seconds(3);
  expect(started).toBe(true);
  agents.push("assistant");
  await seconds(2);
  expect(first.owns("assistant")).toBe(true);
  expect(asked).toBe(1);
  hung.resolve("hung");
  await seconds(2);
  expect(first.owns("hung")).toBe(true);
});

it("serves an agent whose marker a crash left empty [OWN-14]", async () => {
  const workspace = mkdtempSync(join(tmpdir(), "marker-"));
  onTestFinished(() => rmSync(workspace, { recursive: true }));
  writeFileSync(join(workspace, MARKER), "");
  // Somebody may be writing it.
  expect(await ensureMarker(workspace)).toBeUndefined();
  utimesSync(join(workspace, MARKER), 1_700_000_000, 1_700_000_000);
  const id = await ensureMarker(workspace);
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(await readMarker(workspace)).toBe(id);
  // All that look at once agree.
  rmSync(join(workspace, MARKER));
  const all = await Promise.all(Array.from({ length: 8 }, () => ensureMarker(workspace)));
  expect(new Set(all).size).toBe(1);
});
