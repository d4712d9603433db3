import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { startGateway, until } from "./harness.ts";

const ANSWER = 8 * 1024 * 1024;
const LIMIT_MB = 160;

const rssMb = async (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8"))![1]) / 1024;

describe.runIf(process.platform === "linux")("memory", () => {
  it("goes back after ten answers of 8 MB, each in one line [SPEED-2]", async () => {
    await using gateway = await startGateway();
    const pid = gateway.process.pid!;
    const first = await gateway.send("hello");
    const session = { session_id: first.body.session_id };
    for (let turn = 0; turn < 10; turn++) {
      const { body } = await gateway.send(`BIG ${ANSWER}`, session);
      expect((body.response as string).length).toBe(ANSWER);
    }
    await until(
      async () => (await rssMb(pid)) <= LIMIT_MB,
      `resident memory to be at most ${LIMIT_MB} MB`,
      25_000,
    );
  }, 120_000);

  it("settings of the gateway's own allocator do not reach agents [SPEED-3]", async () => {
    await using gateway = await startGateway();
    await gateway.send("hello");
    const environ = async (pid: number) => (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0");
    const { body } = await gateway.json("GET", "/processes");
    const pids = (body.processes as Array<{ pid: number }>).map(({ pid }) => pid);
    const agents = pids.filter((pid) => pid !== gateway.process.pid);
    expect(agents.length).toBeGreaterThan(0);
    expect((await environ(gateway.process.pid!)).join()).toContain("MALLOC_ARENA_MAX=2");
    for (const pid of agents) expect((await environ(pid)).join()).not.toMatch(/MALLOC_|AGENT_GATEWAY_ALLOC/);
  });
});
