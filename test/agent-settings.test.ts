import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fakeAgent, type Gateway, KEYS, startGateway } from "./harness.ts";

describe("settings of an agent", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  const agent = "/api/v1/agents/assistant";
  const patch = (runtime: object, options: object = {}) =>
    gateway.json("PATCH", agent, { body: { runtime }, ...options });
  const stored = async () => {
    const { agents } = (await gateway.config()) as { agents: { id: string; runtime: object }[] };
    return agents.find(({ id }) => id === "assistant")!.runtime;
  };

  it("changes what runs an agent, and keeps what is not named [AGENT-RUN-1]", async () => {
    const command = [process.execPath, fakeAgent];
    const refused = await patch({ type: "starter" }, { key: KEYS.write });
    expect([refused.status, refused.body.code]).toEqual([403, "FORBIDDEN"]);
    expect(await stored()).toMatchObject({ type: "agent-cli", command });

    expect((await patch({ type: "agent-cli", args: ["--more"] })).status).toBe(200);
    expect(await stored()).toEqual({ type: "agent-cli", command, args: ["--more"] });

    const builtin = { type: "builtin", provider: "openai-compatible", baseUrl: "http://127.0.0.1:9/v1" };
    const first = await patch({ ...builtin, apiKey: "sk-very-secret" });
    expect(first.status).toBe(200);
    expect(JSON.stringify(first.body)).not.toContain("sk-very-secret");
    const { apiKey } = (await stored()) as { apiKey: string };
    expect(apiKey).toMatch(/^\$\{\w+\}$/);
    expect(await stored()).toEqual({ ...builtin, apiKey });
    expect(await readFile(join(gateway.home, "agents/assistant/.env"), "utf8")).toContain("sk-very-secret");

    expect((await patch({ ...builtin, model: "small" })).status).toBe(200);
    expect(await stored()).toEqual({ ...builtin, apiKey, model: "small" });
    expect((await patch({ type: "builtin", provider: "anthropic" })).status).toBe(200);
    expect(await stored(), "the key was another provider's").toEqual({
      type: "builtin",
      provider: "anthropic",
    });

    const bad = await patch({ type: "builtin", provider: "openai-compatible" });
    expect([bad.status, bad.body.code]).toEqual([400, "INVALID_REQUEST"]);
    expect((await patch({ type: "agent-cli", command })).status).toBe(200);
    const { status, body } = await gateway.send("SAY back again");
    expect([status, body.response]).toEqual([200, "back again"]);
  });

  it("reads and replaces the greeting, which is gone once it was used [AGENT-GREET-1]", async () => {
    const path = `${agent}/greeting`;
    const get = async () => (await gateway.json("GET", path)).body;
    const set = (text: unknown, options: object = {}) =>
      gateway.json("PUT", path, { body: { text }, ...options });
    expect(await get()).toEqual({ text: "" });
    expect((await set("SAY welcome")).body).toEqual({ text: "SAY welcome" });
    expect((await set("x", { key: KEYS.plain })).status).toBe(403);
    expect((await gateway.json("GET", path, { key: KEYS.plain })).status).toBe(403);
    expect((await set("  \n")).body).toEqual({ text: "" });
    expect((await set("SAY welcome")).body).toEqual({ text: "SAY welcome" });
    expect((await set("ä".repeat(32_769))).status).toBe(400);
    expect((await set(7)).status).toBe(400);
    expect(await get()).toEqual({ text: "SAY welcome" });

    const created = await gateway.json("POST", `${agent}/sessions`, { body: { chat_id: "hall" } });
    const session = { chat_id: "hall", session_id: created.body.sessionId };
    const greeted = await gateway.request("POST", path, { body: session });
    expect(await greeted.text()).toContain("welcome");
    expect(await get()).toEqual({ text: "" });

    const outside = join(gateway.home, "outside.txt");
    await writeFile(outside, "a secret");
    await symlink(outside, join(gateway.home, "agents/assistant/workspace/GREETING.md"));
    expect(await get()).toEqual({ text: "" });
    const refused = await set("SAY mine");
    expect([refused.status, refused.body.code]).toEqual([409, "CONFLICT"]);
    expect(await readFile(outside, "utf8")).toBe("a secret");
  });
});
