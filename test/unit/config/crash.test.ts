import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { readDotenv } from "../../../packages/gateway/src/config/index.ts";
import { sweepTemporary } from "../../../packages/gateway/src/lib/atomic-file.ts";
import { tempHome } from "../../fixtures/temp-home.ts";
import { root } from "../../harness.ts";

const ROUNDS = 25;

/** Starts endless changes, kills the process after some of them; resolves to the number of the last one reported. */
async function killedInTheMiddle(home: string, round: number): Promise<number> {
  const script = join(root, "test/fixtures/endless-updates.mjs");
  const child = spawn(process.execPath, [script], { env: { ...process.env, GATEWAY_HOME: home } });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let last = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== "ready") last = Number(line);
    // Some microseconds into the next change, elsewhere in each round.
    if (last >= 1 + (round % 3)) {
      const until = process.hrtime.bigint() + BigInt(round * 150_000);
      while (process.hrtime.bigint() < until);
      child.kill("SIGKILL");
    }
  }
  await ended;
  return last;
}

it("a change of the file that is killed at any moment leaves the old or the new one, whole [CONF-7]", async () => {
  const home = await tempHome({
    gateway: { port: 0 },
    agents: [{ id: "one", runtime: { type: "starter" } }],
  });
  for (let round = 0; round < ROUNDS; round++) {
    const done = await killedInTheMiddle(home.paths.home, round);
    const file = JSON.parse(await readFile(home.paths.configFile, "utf8")) as { counter: number };
    expect(file.counter).toBeGreaterThanOrEqual(done);
    expect(file.counter).toBeLessThanOrEqual(done + 2);
    const { COUNTER } = await readDotenv(join(home.paths.home, ".env"));
    expect(Number(COUNTER)).toBeGreaterThanOrEqual(done);
  }
  const store = await home.open();
  expect(store.current.agents).toHaveLength(1);
  // What the killed ones left beside it goes once it is old.
  await sweepTemporary(home.paths.configFile, Date.now() + 120_000);
  expect((await readdir(home.paths.home)).filter((name) => name.startsWith(".config.json"))).toEqual([]);
}, 120_000);
