import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectorCalls, mcpProgram } from "./fixtures/connector-calls.ts";
import { startMcpHttp } from "./fixtures/mcp-http.ts";
import { type Gateway, root, startGateway } from "./harness.ts";

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway?.[Symbol.asyncDispose]());
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
});
