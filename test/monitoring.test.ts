import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, KEYS, startGateway } from "./harness.ts";

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

describe("monitoring", () => {
  it("/health is public and says only ok [MON-1]", async () => {
    const { status, body } = await gateway.json("GET", "/health", { key: null });
    expect([status, body]).toEqual([200, { status: "ok" }]);
  });

  it("needs an admin key; every lesser key is 401 [MON-2]", async () => {
    for (const path of ["/status", "/processes", "/metrics"]) {
      for (const key of [null, KEYS.plain, KEYS.write, KEYS.all]) {
        expect((await gateway.request("GET", path, { key })).status, `${path} ${key}`).toBe(401);
      }
      expect((await gateway.request("GET", path)).status).toBe(200);
    }
  });

  it("/status, /processes and /metrics report a turn that ran [MON-4]", async () => {
    const { body: reply } = await gateway.send("PID");
    const pid = Number(/\d+/.exec(String(reply.response))?.[0]);
    const { body: status } = await gateway.json("GET", "/status");
    expect(status).toMatchObject({ status: "ok", version: expect.any(String), uptime: expect.any(Number) });
    expect(Math.abs(Date.now() - Number(status.startedAt) - Number(status.uptime))).toBeLessThan(5_000);
    const agents = status.agents as Array<{ id: string }>;
    expect(agents.map(({ id }) => id)).toEqual(["assistant", "second"]);
    expect(agents[0]).toEqual({
      id: "assistant",
      isRunning: true,
      runtime: "agent-cli",
      problem: null,
      lastError: null,
      sessions: [
        {
          chatId: "api-me",
          sessionId: reply.session_id,
          source: "api",
          busy: false,
          pid: expect.any(Number),
          model: "fake-model",
          spawnedAt: expect.any(Number),
          lastActivity: expect.any(Number),
          backend: "headless",
          incident: null,
        },
      ],
      messagesReceived: 1,
      messagesSent: 1,
      channels: {},
    });

    const { body } = await gateway.json("GET", "/processes");
    const processes = body.processes as Array<Record<string, unknown>>;
    expect(processes[0]).toMatchObject({ pid: gateway.process.pid });
    expect(processes.map((entry) => entry.pid)).toContain(pid);
    for (const entry of processes) {
      expect(Object.keys(entry).sort()).toEqual(["command", "cpu", "pid", "ppid", "rssKb"]);
    }
    expect(JSON.stringify(processes)).not.toContain("stream-json");
    expect(body.numCpus).toBeGreaterThan(0);

    const metrics = await gateway.request("GET", "/metrics");
    expect(metrics.headers.get("content-type")).toMatch(/^text\/plain/);
    const text = await metrics.text();
    expect(text).toMatch(/^agent_gateway_messages_received_total\{agent="assistant"\} 1$/m);
    expect(text).toMatch(/^agent_gateway_turns_total\{agent="assistant",status="done"\} 1$/m);
    expect(text).toMatch(/^agent_gateway_http_requests_total\{.*route="\/health",status="200"\} \d+$/m);
    expect(text).toMatch(/^agent_gateway_db_units_total [1-9]/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d/m);
    expect(text).not.toContain(KEYS.admin);
  });
});
