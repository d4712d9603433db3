import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectorCalls, mcpProgram } from "./fixtures/connector-calls.ts";
import { type FakeModel, hasFakeModel, startFakeModel } from "./fixtures/fake-model.ts";
import { startMcpHttp } from "./fixtures/mcp-http.ts";
import { type Gateway, root, startGateway, testConfig } from "./harness.ts";

let gateway: Gateway;
let folder: string;
let model: FakeModel | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "connectors-servers-"));
  model = hasFakeModel ? await startFakeModel(join(folder, "requests")) : undefined;
  const config = testConfig();
  const builtin = { type: "builtin", provider: "anthropic", baseUrl: model?.url, apiKey: "k", model: "m" };
  config.agents = [
    ...(config.agents as object[]),
    { id: "starter", description: "no tools", runtime: { type: "starter" } },
    ...(model ? [{ id: "builtin", description: "the gateway's own", runtime: builtin }] : []),
  ];
  gateway = await startGateway({ config });
});
afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]();
  await model?.stop();
  await rm(folder, { recursive: true, force: true });
});
const { call, add } = connectorCalls(() => gateway);

/** A server that misbehaves in this way, with a secret. */
const hostile = (how: string) => ({
  config: {
    command: process.execPath,
    args: [join(root, "test/fixtures/mcp-hostile.mjs"), how],
    env: { TOKEN: "{token}" },
  },
  secrets: { token: 'pa"ss word' },
});
const test = async (id: string) => (await call("POST", `/${id}/test`)).body as Record<string, unknown>;

describe("the servers of connectors", () => {
  it("test a connector as a session would use it [CONN-30]", async () => {
    const tools = ["echo", "picture", "fail", "pid"].map((name) => ({ name, description: name }));
    const plain = await add("Plain", { config: mcpProgram("x") });
    expect(await test(plain.id)).toEqual({ ok: true, tools });
    const url = await startMcpHttp("Bearer a key");
    const web = await add("Web", { config: { url, headers: { Authorization: "Bearer {key}" } } });
    expect(await test(web.id)).toEqual({ ok: false, tools: [], error: "The connector is not connected." });
    await call("POST", "/web/connect", { token: "wrong" });
    expect(await test(web.id)).toEqual({ ok: false, tools: [], error: "The connector answered 401." });
    await call("POST", "/web/connect", { token: "a key" });
    expect(await test(web.id)).toEqual({ ok: true, tools });
    await add("Nobody", { config: { url: "http://127.0.0.1:1/{token}" }, secrets: { token: "hidden" } });
    expect(await test("nobody")).toMatchObject({
      ok: false,
      error: expect.stringMatching(/could not be reached/),
    });
    expect((await call("POST", "/none/test")).status).toBe(404);
  });

  it("tell what is wrong with a server, without the secrets that it repeats [CONN-31]", async () => {
    await add("Echo", hostile("echo"));
    expect(await test("echo")).toEqual({
      ok: true,
      tools: [{ name: "tool-[redacted]", description: 'knows [redacted] and "[redacted]"' }],
    });
    await add("Exit", hostile("exit"));
    expect(await test("exit")).toEqual({
      ok: false,
      tools: [],
      error: "The connector's program ended with exit code 3: cannot start with [redacted]",
    });
    await add("Flood", hostile("flood"));
    expect((await test("flood")).error).toBe("The connector sent a message of more than 8 MiB.");
    await add("Absent", { config: { command: "/no/such/program" } });
    expect((await test("absent")).error).toBe("The connector's program was not found.");
    expect(gateway.output()).not.toMatch(/pa\\*"ss word/);
  });

  it("leave out a server that does not start, and tell the agent and the log [CONN-32]", async () => {
    // Those of the tests before.
    const { body } = await call("GET", "");
    for (const { id } of body.connectors as { id: string }[]) await call("DELETE", `/${id}?remove=true`);
    await add("Fine", { secrets: { token: "t" } });
    await add("Bad Start", hostile("exit"));
    const { body: first } = await gateway.send("SERVERS");
    expect(first.response).toBe("gateway,fine");
    const argv = await gateway.send("ARGV", { session_id: first.session_id });
    expect(argv.body.response).toMatch(/did not start, so you do not have their tools: bad-start\./);
    expect(gateway.output()).toMatch(/(?=.*bad-start)(?=.*does not start)/);
    // Mended, it is there before the next turn.
    await call("PATCH", "/bad-start", { config: mcpProgram("{token}") });
    const { body: next } = await gateway.send("SERVERS", { session_id: first.session_id });
    expect(next.response).toBe("gateway,fine,bad-start");
  });

  it.skipIf(!hasFakeModel)(
    "that die or flood in mid-call cost the gateway's own agent one call [CONN-31]",
    async () => {
      const { body } = await call("GET", "");
      for (const { id } of body.connectors as { id: string }[]) await call("DELETE", `/${id}?remove=true`);
      await add("Die", hostile("die"));
      await add("Big", hostile("big"));
      await add("Fine", { secrets: { token: "t" } });
      const say = async (message: string, more = {}) =>
        (
          await gateway.json("POST", "/api/v1/agents/builtin/messages", {
            body: { message, chat_id: "me", ...more },
          })
        ).body;
      const first = await say('TOOL mcp__die__echo {"text":"hi"}');
      expect(first.response).toMatch(/^Calling a tool\.\n\nTool said: .*(?:closed|ended)/i);
      const { session_id } = first;
      const big = await say('TOOL mcp__big__echo {"text":"hi"}', { session_id });
      expect(big.response).toContain("Tool said: xxx");
      // The model was shown the beginning of it.
      const asked = JSON.stringify((await model!.requests("messages")).at(-1));
      expect(asked).toMatch(/\[\d+ characters left out\]/);
      expect(asked.length).toBeLessThan(1_000_000);
      const fine = await say('TOOL mcp__fine__echo {"text":"hi"}', { session_id });
      expect(fine.response).toContain("echo hi with t");
    },
  );

  it("are not even started for the starter, which has no tools [CONN-1]", async () => {
    const mark = join(folder, "started");
    await add("Marks", { config: { command: "/usr/bin/touch", args: [mark] } });
    const { body } = await gateway.json("POST", "/api/v1/agents/starter/messages", {
      body: { message: "hello", chat_id: "me" },
    });
    expect(body.response).toContain("hello");
    expect(existsSync(mark)).toBe(false);
    // An agent with tools does start it.
    await gateway.send("hello");
    expect(existsSync(mark)).toBe(true);
  });
});
