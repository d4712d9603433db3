import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createAppOwners } from "../../../packages/gateway/src/app-owners.ts";
import type { AgentConfig } from "../../../packages/gateway/src/config/index.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { until } from "../../harness.ts";
import { simulatedStore } from "./cluster.ts";

const AGENTS = 200;

it("begins with many agents taken in a row as a whole, not once for each [FENCE-2]", async () => {
  const folder = await mkdtemp(join(tmpdir(), "taken-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const clock = manualClock(0);
  const { operations, placements } = simulatedStore();
  const agents: AgentConfig[] = [];
  let applied = 0;
  const nothing = async () => {};
  const owners = await createAppOwners({
    rows: { shared: { directory: operations, ownedBy() {} } },
    clock,
    log: silentLogger,
    env: {},
    config: () => ({ gateway: { cluster: { leaseMs: 5_000 } }, agents }),
    home: "home",
    rooms: () => ({
      server: { recheck() {} },
      sessions: { recover: nothing, stopAgent: nothing },
      channels: { recover: nothing, recovered() {}, reconfigure: nothing, lookAgain() {} },
      crons: { recover: async () => {}, dropAgent: async () => {} },
      feed: { lookAgain: nothing },
      jobs: { recover: nothing, dropAgent() {} },
      history: { dropOthers: nothing },
    }),
    apply: () => void applied++,
  });
  await owners.recover();
  owners.begin();
  expect(applied).toBe(1);
  for (let n = 0; n < AGENTS; n++) {
    agents.push({ id: `a${n}`, workspace: join(folder, `a${n}`) } as AgentConfig);
  }
  clock.advance(1_000);
  await until(() => placements.size === AGENTS, "all agents to be taken");
  await until(() => owners.served().length === AGENTS, "all agents to be served");
  expect(applied).toBe(1);
  clock.advance(200);
  expect(applied).toBe(2);
  clock.advance(10_000);
  expect(applied).toBe(2);
});
