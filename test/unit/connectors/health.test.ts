import { join } from "node:path";
import { expect, it } from "vitest";
import { type Found, type LookDeps, lookAt } from "../../../packages/gateway/src/connectors/connect.ts";
import { type Candidate, createServerHealth } from "../../../packages/gateway/src/connectors/health.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { isRunning } from "../../fixtures/processes.ts";
import { recordingLogger, tempFolder } from "../../fixtures/temp-home.ts";

const candidate = (over: Partial<Candidate> = {}): Candidate => ({
  id: "slow",
  server: { command: "/no/such/program" },
  cwd: "/",
  secrets: [],
  ...over,
});

it("leaves out a server that hangs at its start after 15 s, and ends it [CONN-32]", async () => {
  const clock = manualClock();
  const log = recordingLogger();
  const cwd = await tempFolder();
  const pids: number[] = [];
  const reaper: LookDeps["reaper"] = {
    mark: () => ({ id: "test", env: {} }),
    track: async (pid: number) => void pids.push(pid),
    untrack: async () => {},
    sweep: async () => {},
  } as unknown as LookDeps["reaper"];
  const deps = { hostEnv: process.env, version: "1", fetch, reaper, clock, log };
  const health = createServerHealth({
    clock,
    log,
    look: ({ server, cwd, secrets }) => lookAt(server, { cwd, secrets }, deps),
  });
  const args = [join(import.meta.dirname, "../../fixtures/mcp-hostile.mjs"), "hang"];
  const hanging = candidate({ server: { command: process.execPath, args }, cwd });
  const answers: boolean[] = [];
  // Two processes of agents want it at the same time.
  const both = [health.starts(hanging), health.starts(hanging)];
  for (const one of both) void one.then((answer) => answers.push(answer));
  await expect.poll(() => pids.length).toBe(1);
  clock.advance(14_999);
  await new Promise(setImmediate);
  expect(answers).toEqual([]);
  clock.advance(1);
  expect(await Promise.all(both)).toEqual([false, false]);
  expect(log.lines).toMatchObject([
    {
      level: "warn",
      fields: { connector: "slow", reason: "The connector did not answer within 15 seconds." },
    },
  ]);
  await expect.poll(() => isRunning(pids[0]!)).toBe(false);
  // Known to be bad, it holds up nobody.
  expect(await health.starts(hanging)).toBe(false);
  expect(pids).toHaveLength(1);
});

it("tries one that failed again a minute later, in the background, and one that started after ten minutes [CONN-32]", async () => {
  const clock = manualClock();
  const log = recordingLogger();
  let found: Found = { ok: false, tools: [], error: "It is broken." };
  let looks = 0;
  const health = createServerHealth({
    clock,
    log,
    look: async () => {
      looks++;
      return found;
    },
  });
  expect(await health.starts(candidate())).toBe(false);
  clock.advance(59_999);
  expect([health.seemsFine(candidate()), looks]).toEqual([false, 1]);
  found = { ok: true, tools: [] };
  clock.advance(1);
  // Asked for now, it still counts as bad; the look goes on meanwhile, once.
  expect([health.seemsFine(candidate()), await health.starts(candidate()), looks]).toEqual([false, false, 2]);
  await expect.poll(() => health.seemsFine(candidate())).toBe(true);
  clock.advance(10 * 60_000 - 1);
  expect([await health.starts(candidate()), looks]).toEqual([true, 2]);
  clock.advance(1);
  expect([await health.starts(candidate()), looks]).toEqual([true, 3]);
  // Another setting, folder or secret is another server.
  await health.starts(candidate({ server: { command: "/no/such/program", env: { TOKEN: "new" } } }));
  await health.starts(candidate({ cwd: "/tmp" }));
  expect(looks).toBe(5);
  expect(log.text()).toBe("warn connector is left out: it does not start\ninfo connector starts again");
});
