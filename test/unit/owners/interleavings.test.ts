import { it } from "vitest";
import { everyOrder, RUNS, RUNS_TIMEOUT } from "../../fixtures/orders.ts";
import { numbersOf } from "../../fixtures/shuffle.ts";
import { simulatedCluster } from "./cluster.ts";

const LEASE_MS = 5_000;
const AGENTS = ["a", "b", "c"];

/** One life of two or three gateways: pauses, cut lines, set clocks, deaths and restarts, in an order of its own. */
async function live(seed: number): Promise<string[]> {
  const random = numbersOf(seed);
  for (let n = 0; n < 10; n++) random();
  const cluster = simulatedCluster(random, LEASE_MS, AGENTS);
  const count = random() < 0.5 ? 2 : 3;
  let starts = 0;
  const start = (home: string) => cluster.join(`${home}.${starts++}`, home);
  const first = start("home0");
  // The others may come while nobody sees the first, nor it them.
  const unseen = random() < 0.3;
  if (unseen) {
    first.lonely();
    await cluster.run(random() * 4_000);
    first.cut(random() * 3 * LEASE_MS);
    await cluster.run(cluster.now() + random() * 1_000);
  }
  const nodes = [first, ...Array.from({ length: count - 1 }, (_, index) => start(`home${index + 1}`))];
  // Whoever has never seen another takes itself for the only one.
  await cluster.run(cluster.now() + 3_000);
  cluster.slow(random() < 0.5 ? 0.05 : 0);
  for (let round = 0; round < 6; round++) {
    await cluster.run(cluster.now() + random() * 4_000);
    const index = Math.floor(random() * count);
    const node = nodes[index]!;
    const what = random();
    if (what < 0.3) node.pause(random() * 3 * LEASE_MS);
    else if (what < 0.6) node.cut(random() * 3 * LEASE_MS);
    else if (what < 0.75) node.jump((random() - 0.5) * 7_200_000);
    else if (what < 0.9) {
      node.kill();
      nodes[index] = start(`home${index}`);
    } else for (const each of nodes) each.cut(random() * 2 * LEASE_MS);
  }
  // All faults are over by then, and everything has been taken.
  cluster.slow(0);
  await cluster.run(cluster.now() + 3 * LEASE_MS + LEASE_MS + 12_000);
  const { violations } = cluster;
  for (const agent of AGENTS) {
    const by = nodes.filter(({ owners }) => owners.owns(agent)).map(({ name }) => name);
    if (by.length !== 1) violations.push(`${agent} is served by ${by.length} gateways at the end`);
  }
  return violations;
}

it(
  `never lets two gateways act for an agent, and leaves none without one: ${RUNS} orders [OWN-1, OWN-2, FENCE-3]`,
  async () => {
    await everyOrder(async (seed) => {
      const violations = await live(seed);
      if (violations.length > 0) throw new Error(violations.slice(0, 5).join("; "));
    });
  },
  RUNS_TIMEOUT,
);
