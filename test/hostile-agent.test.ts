import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, root, startGateway } from "./harness.ts";

const hostile = join(root, "test/fixtures/hostile-agent.mjs");
const MEMORY_LIMIT_KIB = 700 * 1024;

/** Peak of resident memory, as the kernel counted it. */
async function peakKib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0);
}

describe.each([
  ["agent-cli", []],
  ["acp", ["--acp"]],
] as const)("a hostile agent program (%s)", (type, args) => {
  let gateway: Gateway;
  beforeAll(async () => {
    const runtime = { type, command: [process.execPath, hostile, ...args] };
    gateway = await startGateway({ agent: { runtime }, gateway: { turns: { hardCapMs: 60_000 } } });
  });
  afterAll(() => gateway?.[Symbol.asyncDispose]());

  const attack = (message: string, extra = {}) =>
    gateway.send(
      message,
      { chat_id: "attack", timeout_ms: 60_000, ...extra },
      { signal: AbortSignal.timeout(90_000) },
    );

  /** While the attack runs and after it: everyone else is served. */
  async function withOthersServed<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const watched = work.finally(() => {
      over = true;
    });
    watched.catch(() => {});
    let slowest = 0;
    do {
      const before = performance.now();
      const health = await gateway.request("GET", "/health", { key: null });
      slowest = Math.max(slowest, performance.now() - before);
      expect(health.status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 20));
    } while (!over);
    expect(slowest, "the event loop was blocked").toBeLessThan(4_000);
    return watched;
  }

  afterEach(async () => {
    const { status, body } = await gateway.json("POST", "/api/v1/agents/second/messages", {
      body: { message: "SAY still here", chat_id: "other" },
    });
    expect(status).toBe(200);
    expect(body.response).toBe("still here");
    const again = await attack("hello");
    expect(again.status, JSON.stringify(again.body)).toBe(200);
    expect(again.body.response).toBe("ok");
    expect(await peakKib(gateway.process.pid!)).toBeLessThan(MEMORY_LIMIT_KIB);
  }, 120_000);

  it("cannot fill the memory with text [HARD-AGENT-1]", async () => {
    const { status, body } = await withOthersServed(attack("TEXT 48"));
    expect(status).toBe(500);
    expect(body.code).toBe("AGENT_FAILED");
  }, 120_000);

  it("cannot fill the memory with thoughts [HARD-AGENT-1]", async () => {
    await withOthersServed(attack("THINK 96"));
  }, 120_000);

  it("is not slowed by its own tool calls, nor slows others [HARD-AGENT-2]", async () => {
    const { status } = await withOthersServed(attack("TOOLS 60000"));
    expect(status).toBe(200);
  }, 120_000);

  it("leaves no more images than a turn may have [HARD-AGENT-3]", async () => {
    const { status, body } = await withOthersServed(attack("IMAGES 2000"));
    expect(status).toBe(200);
    expect((body.attachments as unknown[]).length).toBeLessThanOrEqual(100);
  }, 120_000);

  it("cannot break anything by deep JSON [HARD-AGENT-4]", async () => {
    const { body } = await withOthersServed(attack("DEEP 200000"));
    expect(body.request_id).toBeTypeOf("string");
  }, 120_000);

  it("cannot fill the memory with answers that it does not read [HARD-AGENT-5]", async () => {
    const sent = attack("ASK 60000", { timeout_ms: 2_000 });
    const { status, body } = await withOthersServed(sent);
    expect(status).toBe(504);
    const stopped = await gateway.json("POST", `/api/v1/agents/assistant/sessions/${body.session_id}/stop`, {
      body: { chat_id: "attack" },
    });
    expect(stopped.body).toEqual({ stopped: true });
  }, 120_000);

  it.each(["NOISE 64", "LINE 160", "STDERR 64", "VALUES 70"])(
    "cannot harm by %s MiB [HARD-AGENT-6, HARD-AGENT-12]",
    async (message) => {
      await withOthersServed(attack(message));
    },
    120_000,
  );

  it("ends its turn when its output is closed [HARD-AGENT-7]", async () => {
    const { status, body } = await withOthersServed(attack("CLOSE"));
    expect(status).toBe(500);
    expect(body.code).toBe("AGENT_FAILED");
  }, 120_000);

  it("may have calls with ids of a megabyte [HARD-AGENT-9]", async () => {
    const { status } = await withOthersServed(attack("IDS 40"));
    expect(status).toBe(200);
  }, 120_000);

  it("cannot have names without end stored or shown [HARD-AGENT-10]", async () => {
    const { status } = await withOthersServed(attack("NAMES 5"));
    expect(status).toBe(200);
    for (const path of ["/api/v1/agents/sessions", "/api/v1/agents/assistant", "/status"]) {
      expect((await (await gateway.request("GET", path)).text()).length, path).toBeLessThan(100_000);
    }
  }, 120_000);

  it("cannot flood the log by introducing itself [HARD-AGENT-10]", async () => {
    const before = gateway.output().length;
    await withOthersServed(attack("INITS 20000"));
    expect(gateway.output().length - before).toBeLessThan(20_000);
  }, 120_000);

  it("cannot use up the gateway's descriptors [HARD-AGENT-11]", async () => {
    await withOthersServed(attack("SOCKETS 500"));
    expect((await readdir(`/proc/${gateway.process.pid}/fd`)).length).toBeLessThan(200);
  }, 120_000);

  it.each(["RETRIES 20000", "NUMBERS"])(
    "gets nowhere with %s [HARD-AGENT-8]",
    async (message) => {
      const { status } = await withOthersServed(attack(message));
      expect(status).toBe(200);
    },
    120_000,
  );

  it("gets nowhere with values that no honest program sends [HARD-AGENT-8]", async () => {
    const { status } = await withOthersServed(attack("FORGE"));
    expect([200, 500]).toContain(status);
  }, 120_000);
});
