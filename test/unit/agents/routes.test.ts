import { describe, expect, it, onTestFinished } from "vitest";
import { createAgents } from "../../../packages/gateway/src/agents/index.ts";
import { createAuthenticator, createDashboardSessions } from "../../../packages/gateway/src/auth/index.ts";
import { createHttpServer } from "../../../packages/gateway/src/http/index.ts";
import { agentRoutes } from "../../../packages/gateway/src/http/routes/agents.ts";
import { systemClock as clock } from "../../../packages/gateway/src/lib/clock.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { loginRows } from "../../fixtures/login-rows.ts";
import { tempHome } from "../../fixtures/temp-home.ts";
import { KEYS, testConfig } from "../../harness.ts";
import { quietPorts } from "./open-agents.ts";

async function serve({ judgeModel = async (_id: string, model: string) => model } = {}) {
  const { paths, open, log } = await tempHome(testConfig());
  const store = await open();
  const config = () => store.current;
  const authenticator = createAuthenticator({ keys: () => config().gateway.api.keys, clock });
  const agents = createAgents({ config: store, paths, env: {}, ...quietPorts });
  const server = createHttpServer({
    endpoints: agentRoutes({ agents, judgeModel, made: async () => {}, remove: agents.remove }),
    authenticator,
    sessions: createDashboardSessions({
      clock,
      log: silentLogger,
      rows: loginRows(),
      admin: authenticator.admin,
    }),
    config,
    serves: () => true,
    agentExists: (id) => config().agents.some((agent) => agent.id === id),
    takeSpace: () => {},
    clock,
    log,
  });
  const { port } = await server.listen("127.0.0.1", 0);
  onTestFinished(() => server.close(1000));
  store.onChange(server.recheck);
  const call = async (key: keyof typeof KEYS, method: string, path = "", body?: unknown) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/agents${path}`, {
      method,
      headers: { "x-api-key": KEYS[key], "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, never> };
  };
  return Object.assign(call, { store });
}

const ids = ({ body }: { body: Record<string, unknown> }) =>
  (body.agents as { id: string }[]).map(({ id }) => id);

describe("the agent routes", () => {
  it("list only what the key reaches [AGENT-1]", async () => {
    const call = await serve();
    expect(ids(await call("admin", "GET"))).toEqual(["assistant", "second"]);
    expect(ids(await call("all", "GET"))).toEqual(["assistant", "second"]);
    expect(ids(await call("plain", "GET"))).toEqual(["assistant"]);
    expect(ids(await call("other", "GET"))).toEqual(["second"]);
    expect((await call("plain", "GET", "/assistant")).body.agent).toMatchObject({ id: "assistant" });
    expect((await call("plain", "GET", "/second")).status).toBe(403);
    expect((await call("plain", "GET", "/nobody")).status).toBe(404);
  });

  it("change nothing for a key that was revoked while an agent's program was asked [KEY-LATE-1]", async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const judged = Promise.withResolvers<void>();
    const call = await serve({
      async judgeModel(_id, model) {
        asked.resolve();
        await answer.promise;
        judged.resolve();
        return model;
      },
    });
    const patched = call("write", "PATCH", "/assistant", { model: "late", description: "late" });
    await asked.promise;
    await call.store.update((raw) => {
      const { keys } = (raw.gateway as { api: { keys: { key: string }[] } }).api;
      keys.splice(
        keys.findIndex(({ key }) => key === KEYS.write),
        1,
      );
    });
    expect((await patched).status).toBe(403);
    answer.resolve();
    await judged.promise;
    // Changes are made one after another.
    await call("admin", "PATCH", "/second", { description: "after" });
    const assistant = call.store.current.agents.find(({ id }) => id === "assistant");
    expect([assistant?.model, assistant?.description]).not.toContain("late");
  });

  it("create for admins alone, 409 for a taken id, 400 for a bad one [AGENT-2]", async () => {
    const call = await serve();
    expect((await call("write", "POST", "", { id: "third" })).status).toBe(403);
    const made = await call("admin", "POST", "", { id: "third", runtime: { type: "starter" } });
    expect(made).toMatchObject({
      status: 201,
      body: { agent: { id: "third", runtime: { type: "starter" } } },
    });
    expect(await call("admin", "POST", "", { id: "third" })).toMatchObject({
      status: 409,
      body: { code: "CONFLICT" },
    });
    for (const id of ["Third", "", "1st", "a".repeat(33)]) {
      const { status, body } = await call("admin", "POST", "", { id });
      expect([status, body.code]).toEqual([400, "INVALID_REQUEST"]);
    }
    expect((await call("all", "GET", "/third")).status).toBe(200);
  });

  it("patch from the write level on, and know no other field [AGENT-3]", async () => {
    const call = await serve();
    expect((await call("plain", "PATCH", "/assistant", { name: "x" })).status).toBe(403);
    expect((await call("write", "PATCH", "/assistant", { name: "x" })).body.agent).toMatchObject({
      name: "x",
      description: "first",
    });
    expect((await call("write", "PATCH", "/assistant", { connector: {} })).status).toBe(400);
    expect((await call("write", "PATCH", "/second", { name: "x" })).status).toBe(403);
  });

  it("delete for admins alone [AGENT-4]", async () => {
    const call = await serve();
    expect((await call("write", "DELETE", "/assistant")).status).toBe(403);
    expect(await call("admin", "DELETE", "/assistant")).toEqual({
      status: 200,
      body: { deleted: true, id: "assistant" },
    });
    expect((await call("admin", "GET", "/assistant")).status).toBe(404);
  });
});
