import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { createAgent, GatewayError, routes, updateAgent } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import { readDotenv } from "../../../packages/gateway/src/config/index.ts";
import { openAgents as open } from "./open-agents.ts";

const first = {
  gateway: { port: 0 },
  unknown: { kept: true },
  agents: [{ id: "assistant", description: "d", runtime: { type: "starter" }, voice: { enabled: false } }],
};

describe("agents", () => {
  it("are shown with all fields and no secret [AGENT-1]", async () => {
    const { agents } = await open({
      agents: [
        {
          id: "a",
          env: { X: "SECRET" },
          botchat: { botToken: "SECRET" },
          runtime: {
            type: "builtin",
            provider: "openai-compatible",
            baseUrl: "https://user:SECRET@api.example/v1?key=SECRET",
            apiKey: "SECRET",
            args: ["SECRET"],
            extra: "SECRET",
          },
        },
      ],
    });
    const [shown] = await agents.list();
    expect(shown).toEqual({
      id: "a",
      name: "a",
      description: "",
      model: null,
      runtime: { type: "builtin", provider: "openai-compatible", baseUrl: "https://api.example/v1" },
      runtime_status: expect.objectContaining({ type: "builtin", problem: null }),
      allow_tools: true,
      orchestration_enabled: false,
      connectors: {},
      channels: {},
      devicechat_accounts: [],
    });
    expect(routes.getAgent.responses[200]().safeParse({ agent: shown }).success).toBe(true);
  });

  it("that leave the configuration while the list is made are left out of it [AGENT-1]", async () => {
    const room = await open(
      { agents: [{ id: "a" }, { id: "b" }] },
      {},
      {
        async channelsOf(agentId) {
          if (agentId === "a") {
            await room.store.update((raw) => void Object.assign(raw, { agents: [{ id: "b" }] }));
            throw new GatewayError("AGENT_NOT_FOUND");
          }
          return { channels: {}, devicechat_accounts: [] };
        },
      },
    );
    expect((await room.agents.list()).map(({ id }) => id)).toEqual(["b"]);
  });

  it("are created in the file, with a workspace, and are there at once [AGENT-2]", async () => {
    const { agents, store, paths, file } = await open(first);
    const made = await agents.create({ id: "new", name: "New", description: "x", model: "m" });
    expect(made).toMatchObject({ id: "new", name: "New", model: "m", runtime: { type: "auto" } });
    expect(store.current.agents.map(({ id }) => id)).toEqual(["assistant", "new"]);
    expect(await file()).toMatchObject({ unknown: { kept: true }, agents: [first.agents[0], { id: "new" }] });
    expect((await stat(join(paths.agentDir("new"), "workspace"))).isDirectory()).toBe(true);
  });

  it("are refused when the id is taken, also by an entry that could not be loaded [AGENT-2]", async () => {
    const { agents } = await open({ agents: [...first.agents, { id: "lost", name: "${NOPE}" }] });
    await expect(agents.create({ id: "assistant" })).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(agents.create({ id: "lost" })).rejects.toMatchObject({ code: "CONFLICT" });
    const both = await Promise.allSettled([agents.create({ id: "twice" }), agents.create({ id: "twice" })]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  it("keep an API key in their own .env; the file has the reference [AGENT-1]", async () => {
    const { agents, store, paths, file } = await open(first);
    const runtime = { type: "builtin" as const, provider: "openai" as const, apiKey: "sk-${HOME}-literal" };
    const made = await agents.create({ id: "my-agent", runtime });
    expect(JSON.stringify(made)).not.toContain("literal");
    expect((await file()).agents[1].runtime.apiKey).toBe("${MY_AGENT_RUNTIME_API_KEY}");
    const env = join(paths.agentDir("my-agent"), ".env");
    expect(await readDotenv(env)).toEqual({ MY_AGENT_RUNTIME_API_KEY: "sk-${HOME}-literal" });
    expect((await stat(env)).mode & 0o777).toBe(0o600);
    expect(store.current.agents[1]!.runtime.apiKey).toBe("sk-${HOME}-literal");
  });

  it.each([
    [{ type: "builtin", provider: "openai-compatible" }, "runtime.baseUrl"],
    [{ type: "builtin", baseUrl: "file:///etc/passwd" }, "runtime.baseUrl"],
    [{ type: "builtin", apiKey: "a\nB=c" }, "runtime.apiKey"],
    [{ type: "builtin", model: "${GATEWAY_ADMIN_KEY}" }, "runtime.model"],
  ])("are refused with a runtime that does not fit together: %j", async (runtime, path) => {
    const { agents, file } = await open(first);
    const input = createAgent().parse({ id: "new", runtime });
    await expect(agents.create(input)).rejects.toMatchObject({
      code: "INVALID_REQUEST",
      details: [{ path }],
    });
    expect((await file()).agents).toHaveLength(1);
  });

  it("are changed where the patch says, the rest stays [AGENT-3]", async () => {
    const { agents, file } = await open(first);
    const patch = { name: "N", model: "m", allow_tools: ["Read"], orchestration_enabled: true };
    expect(await agents.update("assistant", patch)).toMatchObject({ ...patch, description: "d" });
    expect((await file()).agents[0]).toEqual({
      ...first.agents[0],
      name: "N",
      model: "m",
      allowTools: ["Read"],
      orchestration: { enabled: true },
    });
    expect(await agents.update("assistant", { model: null })).toMatchObject({ model: null, name: "N" });
    expect((await file()).agents[0]).not.toHaveProperty("model");
    expect(updateAgent().safeParse({ connector: {} }).success).toBe(false);
    await expect(agents.update("nobody", { name: "x" })).rejects.toMatchObject({ code: "AGENT_NOT_FOUND" });
  });

  it("cannot be made to show a variable of the gateway", async () => {
    const { agents, file } = await open(first, { GATEWAY_ADMIN_KEY: "k" });
    for (const patch of [
      { name: "${GATEWAY_ADMIN_KEY}" },
      { description: "x ${GATEWAY_ADMIN_KEY}" },
      { model: "${GATEWAY_ADMIN_KEY}" },
      { allow_tools: ["${GATEWAY_ADMIN_KEY}"] },
    ]) {
      await expect(agents.update("assistant", patch)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    }
    await expect(agents.create({ id: "new", name: "${HOME}" })).rejects.toMatchObject({
      code: "INVALID_REQUEST",
    });
    expect(await file()).toEqual(first);
  });

  it("turn headless on when they are given orchestration, and never off", async () => {
    const { agents, store } = await open({ ...first, gateway: { port: 0, headless: false } });
    await agents.update("assistant", { orchestration_enabled: true });
    expect(store.current.gateway.headless).toBe(true);
    await agents.update("assistant", { orchestration_enabled: false });
    expect(store.current.gateway.headless).toBe(true);
  });

  it("go from the file alone when they are removed; twins go too [AGENT-4]", async () => {
    const { agents, write, file, store } = await open({
      agents: [...first.agents, { id: "assistant" }, { id: "b" }],
    });
    const note = await write("agents/assistant/workspace/note.txt", "kept");
    await agents.remove("assistant");
    expect((await file()).agents).toEqual([{ id: "b" }]);
    expect(store.current.agents.map(({ id }) => id)).toEqual(["b"]);
    expect(await readFile(note, "utf8")).toBe("kept");
    await expect(agents.remove("assistant")).rejects.toMatchObject({ code: "AGENT_NOT_FOUND" });
  });
});
