import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { alive, type Gateway, type GatewayOptions, root, startGateway, until } from "./harness.ts";

/** A gateway stops within this, and a loaded machine needs a moment to notice. */
const STOP_MS = 5_500;

let dir: string;
let fifo: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "agent-gateway-fifo-"));
  fifo = join(dir, "fifo");
  execFileSync("/usr/bin/mkfifo", [fifo]);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const start = (block: string, options: GatewayOptions = {}): Promise<Gateway> =>
  startGateway({
    ...options,
    nodeArgs: ["--import", join(root, "test/fixtures/block-at-signal.mjs")],
    env: { BLOCK: block, BLOCK_FIFO: fifo },
  });

const logOf = (gateway: Gateway) => readFile(join(gateway.home, "logs/gateway.log"), "utf8").catch(() => "");
const exitOf = (gateway: Gateway) =>
  new Promise<number | null>((resolve) => gateway.process.once("exit", (code) => resolve(code)));
/** Resolves when the gateway has done a turn: the watchdog's thread starts right after the gateway listens. */
const watched = (gateway: Gateway) => until(async () => (await gateway.send("PID")).status === 200, "a turn");

const stopped = async (gateway: Gateway) => {
  const began = Date.now();
  const code = await gateway.stop();
  return { code, ms: Date.now() - began };
};

describe("SIGTERM ends the gateway with 0 in time", () => {
  for (const block of ["pool", "loop", "native"]) {
    it(`with a blocked ${block} [STOP-1]`, async () => {
      await using gateway = await start(block);
      await watched(gateway);
      const pid = Number((await gateway.send("PID")).body.response);
      gateway.process.kill("SIGUSR2");
      await until(
        () =>
          gateway.request("GET", "/health", { signal: AbortSignal.timeout(300) }).then(
            () => block === "pool",
            () => true,
          ),
        "the block",
      );
      const { code, ms } = await stopped(gateway);
      expect(code).toBe(0);
      expect(ms).toBeLessThan(STOP_MS);
      await until(() => !alive(pid), "the agent to be gone");
    });
  }

  it("with agents that do not listen, readers, and a turn that runs; what was said is kept [STOP-1]", async () => {
    const gateway = await start("none", { agentArgs: ["--ignore-interrupt", "--ignore-sigint"] });
    const stream = gateway.stream("SLOW 10000 20").catch(() => []);
    const other = gateway.stream("HANG", { chat_id: "other" }).catch(() => []);
    await until(
      async () => /turns_?/.test(await (await gateway.request("GET", "/metrics")).text()),
      "metrics",
    );
    await until(
      async () => (await gateway.send("x", { chat_id: "third" })).status === 200,
      "the turns to run",
    );
    const { code, ms } = await stopped(gateway);
    expect(code).toBe(0);
    expect(ms).toBeLessThan(STOP_MS);
    await Promise.all([stream, other]);
    await using again = await startGateway({ home: gateway.home });
    const { body } = await again.json("GET", "/api/v1/agents/assistant/chats/api-me/messages?order=asc");
    const last = (body.messages as Array<{ content: string; interrupted?: true }>).at(-1)!;
    expect(last).toMatchObject({ interrupted: true });
    expect(last.content).toContain("w0 w1");
  });
});

describe("an exception that nothing catches", () => {
  it("is logged and ends the gateway with 70 through the shutdown [STOP-2]", async () => {
    await using gateway = await start("throw");
    const running = gateway.stream("SLOW 10000 20");
    await until(async () => (await gateway.send("x", { chat_id: "other" })).status === 200, "a turn");
    const exit = exitOf(gateway);
    gateway.process.kill("SIGUSR2");
    expect(await exit).toBe(70);
    expect((await running).at(-2)!.data).toMatchObject({ type: "result", interrupted: true });
    expect(await logOf(gateway)).toContain("thrown for the test");
  });
});

describe("the watchdog", () => {
  it("logs the stack of a blocked loop, and that it runs again [WATCH-1]", async () => {
    await using gateway = await start("10000");
    await watched(gateway);
    gateway.process.kill("SIGUSR2");
    const log = await until(
      async () => {
        const text = await logOf(gateway);
        return /loop is blocked/.test(text) && text.includes("runs again") ? text : "";
      },
      "the loop to run again",
      20_000,
    );
    const line = log.split("\n").find((text) => text.includes("the event loop is blocked"))!;
    const { blockedMs, stack } = JSON.parse(line) as { blockedMs: number; stack: string[] };
    expect(blockedMs).toBe(5000);
    expect(stack[0]).toMatch(/^blockForTest \(.*block-at-signal\.mjs:\d+:\d+\)$/);
    expect((await gateway.send("hello")).status).toBe(200);
  });

  it("ends the process with 70 when it stays blocked, in JavaScript or not; 0 never does [WATCH-2]", async () => {
    const gateways = await Promise.all([
      start("loop", { gateway: { watchdog: { exitSeconds: 7 } } }),
      start("native", { gateway: { watchdog: { exitSeconds: 7 } } }),
      start("9000", { gateway: { watchdog: { exitSeconds: 0 } } }),
    ]);
    try {
      await Promise.all(gateways.map(watched));
      const exits = gateways.slice(0, 2).map(exitOf);
      const began = Date.now();
      for (const gateway of gateways) gateway.process.kill("SIGUSR2");
      expect(await Promise.all(exits)).toEqual([70, 70]);
      expect(Date.now() - began).toBeGreaterThan(6000);
      expect(await logOf(gateways[0]!)).toContain("has not answered for too long");
      expect((await gateways[2]!.send("hello")).status).toBe(200);
    } finally {
      await Promise.all(gateways.map((gateway) => gateway[Symbol.asyncDispose]()));
    }
  }, 60_000);
});
