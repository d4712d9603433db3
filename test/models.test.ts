import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, KEYS, put, startGateway, until } from "./harness.ts";

const own = [
  { id: "claude-sonnet-5", name: "Own Sonnet", alias: "sonnet", contextWindow: 1_000_000, multiplier: 2 },
  { id: "local-model", name: "Local", alias: "local", contextWindow: 8000, multiplier: 0 },
];
const PUT_MODEL = "/api/v1/agents/assistant/model";
interface Agents {
  agents: Array<{ id: string; model?: string }>;
}
const modelOf = async (gateway: Gateway, id = "assistant") =>
  ((await gateway.config()) as unknown as Agents).agents.find((agent) => agent.id === id)?.model;

describe("with a live catalogue", () => {
  const seen: Array<{ url: string | undefined; authorization: string | undefined }> = [];
  let up = true;
  let server: Server;
  let gateway: Gateway;
  beforeAll(async () => {
    server = createServer((req, res) => {
      seen.push({ url: req.url, authorization: req.headers.authorization });
      if (!up) return res.writeHead(500).end();
      const data = [
        { id: "claude-sonnet-5", display_name: "Live Sonnet" },
        { id: "claude-sonnet-6", name: "Newer" },
        { id: "paint", kind: "image" },
      ];
      res.setHeader("content-type", "application/json").end(JSON.stringify({ data }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    gateway = await startGateway({
      gateway: { models: own },
      env: {
        MODELS_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        MODELS_API_KEY: "catalogue-token",
      },
    });
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    server.close();
  });

  it("is fetched once for concurrent callers, with the bearer token, and cached [MODEL-1, MODEL-3, MODEL-5]", async () => {
    const lists = await Promise.all(
      Array.from({ length: 5 }, () => gateway.json("GET", "/api/v1/models", { key: KEYS.plain })),
    );
    expect(lists[0]!.body.models).toEqual([
      {
        id: "claude-sonnet-5",
        name: "Live Sonnet",
        alias: "sonnet-5",
        contextWindow: 1_000_000,
        multiplier: 2,
      },
      { id: "claude-sonnet-6", name: "Newer", alias: "sonnet", contextWindow: 200_000, multiplier: 1 },
    ]);
    expect(seen).toEqual([{ url: "/v1/models", authorization: "Bearer catalogue-token" }]);
    up = false;
    expect((await gateway.json("GET", "/api/v1/models")).body).toEqual(lists[0]!.body);
  });

  it("replaces the configured list, whose omitted models stay addressable [MODEL-4]", async () => {
    expect(await gateway.json("PUT", PUT_MODEL, { body: { model: "local" } })).toMatchObject({
      status: 200,
      body: { model: "local-model" },
    });
    expect(await modelOf(gateway)).toBe("local-model");
    const { body } = await gateway.send("/model sonnet", {
      session_id: (await gateway.send("hi")).body.session_id,
    });
    expect(body.result).toEqual({ model: "claude-sonnet-6" });
  });

  it("PUT model persists to config.json and keeps the rest; unknown is 400, other keys 403 [MODEL-6]", async () => {
    const before = (await gateway.config()) as unknown as Agents;
    const { status, body } = await gateway.json("PUT", PUT_MODEL, { body: { model: "claude-sonnet-6" } });
    expect([status, body]).toEqual([200, { model: "claude-sonnet-6" }]);
    const after = (await gateway.config()) as unknown as Agents;
    expect(after).toEqual({
      ...before,
      agents: before.agents.map((agent) =>
        agent.id === "assistant" ? { ...agent, model: "claude-sonnet-6" } : agent,
      ),
    });
    for (const wrong of [{ model: "no-such-model" }, { model: "" }, {}, { model: 5 }]) {
      const refused = await gateway.json("PUT", PUT_MODEL, { body: wrong });
      expect([refused.status, refused.body.code]).toEqual([400, "INVALID_REQUEST"]);
    }
    for (const key of [KEYS.plain, KEYS.write, KEYS.all]) {
      expect((await gateway.json("PUT", PUT_MODEL, { key, body: { model: "sonnet" } })).status).toBe(403);
    }
    expect(
      (await gateway.json("PUT", "/api/v1/agents/none/model", { body: { model: "sonnet" } })).status,
    ).toBe(404);
    expect(await modelOf(gateway)).toBe("claude-sonnet-6");
  });
});

describe("without a usable catalogue", () => {
  it("gateway.models is the list, and a change of it needs no restart [MODEL-2]", async () => {
    await using gateway = await startGateway({
      gateway: { models: own },
      env: { MODELS_BASE_URL: "http://models.example.org", MODELS_API_KEY: "never-sent" },
    });
    expect((await gateway.json("GET", "/api/v1/models")).body).toEqual({ models: own });
    expect((await gateway.json("GET", "/api/v1/models", { key: null })).status).toBe(401);
    const config = (await gateway.config()) as { gateway: object };
    await gateway.writeConfig({ ...config, gateway: { ...config.gateway, models: own.slice(1) } });
    await until(async () => {
      const { body } = await gateway.json("GET", "/api/v1/models");
      return (body.models as unknown[]).length === 1;
    }, "the changed list");
  });

  it("base and token also come from the env block of the agent CLI's settings file [MODEL-1]", async () => {
    const tokens: Array<string | undefined> = [];
    const server = createServer((req, res) => {
      tokens.push(req.headers.authorization);
      res.end('{"models":[{"id":"from-settings"}]}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await using gateway = await startGateway({
      env: { HOME: "/nonexistent", MODELS_BASE_URL: "", ANTHROPIC_BASE_URL: "", CLAUDE_CONFIG_DIR: "" },
    });
    expect((await gateway.json("GET", "/api/v1/models")).body).toEqual({ models: [] });
    const home = join(gateway.home, "user");
    await put(
      home,
      ".claude/settings.json",
      JSON.stringify({ env: { ANTHROPIC_BASE_URL: base, ANTHROPIC_AUTH_TOKEN: "from-file" } }),
    );
    await using second = await startGateway({
      env: { HOME: home, MODELS_BASE_URL: "", ANTHROPIC_BASE_URL: "", ANTHROPIC_AUTH_TOKEN: "" },
    });
    const { body } = await second.json("GET", "/api/v1/models");
    expect(body).toMatchObject({ models: [{ id: "from-settings", alias: "from-settings" }] });
    expect(tokens).toEqual(["Bearer from-file"]);
    server.close();
  });
});
