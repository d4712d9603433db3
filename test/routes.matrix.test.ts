import { ERROR_CODES } from "@agent-gateway/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeNpm, fakeNpm } from "./fixtures/fake-npm.ts";
import { type Gateway, KEYS, startGateway } from "./harness.ts";
import { compareRoutes, walkRoutes } from "./routes-matrix.ts";

let npm: FakeNpm;
let gateway: Gateway;
beforeAll(async () => {
  npm = await fakeNpm();
  gateway = await startGateway({ env: { PATH: npm.path } });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await npm.remove();
});

describe("the routes of the running gateway", () => {
  it("are the declared ones, each of them and no other [META-1]", async () => {
    const { body } = await gateway.json("GET", "/api/v1/_meta/routes");
    const served = body.routes as Parameters<typeof compareRoutes>[0];
    expect(compareRoutes(served)).toEqual({ undeclared: [], unserved: [] });
  });

  it("answer every kind of key as declared [AUTH-1, AUTH-3]", async () => {
    expect(await walkRoutes(gateway.url, "assistant", KEYS)).toEqual([]);
  });

  it("say nothing of the machine where they refuse [ERR-3]", async () => {
    for (const path of ["/nothing", "/api/v1/agents/x/media/../../etc/passwd", "/dashboard/%2e%2e/main.js"]) {
      const { status, body } = await gateway.json("GET", path, { key: null });
      expect(Object.keys(ERROR_CODES)).toContain(body.code);
      expect(status).toBeLessThan(500);
      expect(JSON.stringify(body)).not.toMatch(/\/(home|work|tmp|root|etc)\//);
    }
  });
});
