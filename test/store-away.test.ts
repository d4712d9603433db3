import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ownCluster, withoutPostgres } from "./fixtures/postgres.ts";
import { type Gateway, startGateway, until } from "./harness.ts";

const PASSWORD = "s3cret-of-the-store";

describe.skipIf(withoutPostgres())("a gateway whose Postgres goes away (needs Postgres)", () => {
  let cluster: Awaited<ReturnType<typeof ownCluster>>;
  let gateway: Gateway;
  beforeAll(async () => {
    cluster = await ownCluster();
    const url = cluster.url.replace("postgres@", `postgres:${PASSWORD}@`);
    gateway = await startGateway({
      gateway: { store: { driver: "postgres", url: `\${STORE_URL}`, poolSize: 5 } },
      env: { STORE_URL: url },
    });
  });
  afterAll(async () => {
    await gateway?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });
  const storeOf = async () => (await gateway.json("GET", "/status")).body.store as Record<string, unknown>;
  const ready = async () => (await gateway.json("GET", "/ready", { key: null })).status;

  it("lives on, says so, refuses what needs it, and serves again when it is back [STORE-AWAY-1, STORE-AWAY-2]", async () => {
    expect((await gateway.send("before")).status).toBe(200);
    expect(await ready()).toBe(200);
    expect(await storeOf()).toEqual({ driver: "postgres", ok: true, latencyMs: expect.any(Number) });

    await cluster.stop();
    const began = performance.now();
    const refused = await gateway.send("lost");
    expect([refused.status, refused.body.code]).toEqual([503, "UNAVAILABLE"]);
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(performance.now() - began).toBeLessThan(6_000);
    await until(async () => (await ready()) === 503, "the gateway to notice");
    expect(await storeOf()).toMatchObject({ driver: "postgres", ok: false });
    expect((await gateway.json("GET", "/health", { key: null })).status).toBe(200);
    const metrics = await (await gateway.request("GET", "/metrics")).text();
    expect(metrics).toMatch(/agent_gateway_store_errors_total [1-9]/);
    expect(metrics).toContain('agent_gateway_store_seconds_count{operation="unit"}');

    await cluster.start();
    await until(async () => (await ready()) === 200, "the gateway to be ready again", 20_000);
    expect((await gateway.send("after")).status).toBe(200);
    const { body } = await gateway.json("GET", "/api/v1/agents/assistant/chats/api-me/messages");
    const said = (body.messages as Array<{ content: string }>).map(({ content }) => content);
    expect(said).not.toContain("lost");
    expect(said).toEqual(expect.arrayContaining(["before", "after"]));
    const log = await readFile(join(gateway.home, "logs/gateway.log"), "utf8");
    expect(log + gateway.output()).not.toContain(PASSWORD);
  }, 60_000);
});
