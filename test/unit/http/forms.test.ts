import { errorOf, GatewayError, type RouteDecl, route } from "@agent-gateway/contract";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { endpoint, json } from "../../../packages/gateway/src/http/index.ts";
import { openApi } from "../../../packages/gateway/src/http/openapi.ts";
import { streamTurn } from "../../../packages/gateway/src/http/sse.ts";
import { createTurnLog, type TurnFrames } from "../../../packages/gateway/src/sessions/turn-log.ts";
import { dial } from "../../fixtures/dial.ts";
import { type Ask, startTestServer, TEST_KEYS } from "../../fixtures/http-server.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

const MIB = 1024 * 1024;
const completions = route({
  method: "POST",
  path: "/v1/agents/:agentId/completions",
  auth: "write",
  summary: "",
  tag: "test",
  form: "openai",
  maxBodyBytes: 2 * MIB,
  stores: true,
  params: () => z.object({ agentId: z.string() }),
  body: () => z.object({ model: z.string(), messages: z.array(z.object({ content: z.string() })) }),
  responses: { 200: () => z.object({ size: z.number() }) },
});
const live = route({
  method: "GET",
  path: "/v1/agents/:agentId/live",
  auth: "key",
  summary: "",
  tag: "test",
  form: "openai",
  rawReply: "sse",
  responses: { 200: null },
});
const PATH = "/v1/agents/assistant/completions";

/** A server with both routes; `fail` is thrown by the handler. */
async function rig(options: { fail?: unknown; disk?: "low" } = {}) {
  const clock = manualClock();
  const log = createTurnLog("turn");
  const frames: TurnFrames = {
    of: (event) => (event.type === "text_delta" ? `data: {"delta":${JSON.stringify(event.text)}}\n\n` : ""),
    end: "data: the end\n\n",
  };
  const server = await startTestServer({
    clock,
    disk: () => options.disk ?? "ok",
    endpoints: [
      endpoint(completions, ({ body }) => {
        if (options.fail) throw options.fail;
        return json({ size: JSON.stringify(body).length });
      }),
      endpoint(live, async ({ res }) => {
        await streamTurn(res, log, { clock, keepaliveMs: 15_000, frames });
        return { handled: true };
      }),
    ],
  });
  return { server, clock, log };
}
const shape = (type: string, code: string, param: string | null = null) => ({
  code,
  request_id: expect.any(String),
  error: { message: expect.any(String), type, param, code },
});

describe("a route whose errors have the form of the OpenAI API", () => {
  const key = "the-write-key";
  const body = { model: "m", messages: [] };
  it.each([
    ["a foreign host", { headers: { host: "evil.example" } }, 403, shape("permission_error", "FORBIDDEN")],
    [
      "a foreign origin",
      { key, body, headers: { origin: "https://evil.example" } },
      403,
      shape("permission_error", "FORBIDDEN"),
    ],
    ["no key", { body }, 401, shape("authentication_error", "API_KEY_MISSING")],
    ["an unknown key", { key: "nonsense", body }, 403, shape("permission_error", "API_KEY_INVALID")],
    ["a lesser key", { key: "the-plain-key", body }, 403, shape("permission_error", "FORBIDDEN")],
    [
      "an unknown agent",
      { key, body, path: "/v1/agents/nobody/completions" },
      404,
      shape("invalid_request_error", "AGENT_NOT_FOUND"),
    ],
    [
      "another method",
      { key, method: "PUT", body },
      405,
      shape("invalid_request_error", "METHOD_NOT_ALLOWED"),
    ],
    ["broken JSON", { key, body: "{" }, 400, shape("invalid_request_error", "INVALID_JSON")],
    [
      "another type of body",
      { key, body: "a=b", headers: { "content-type": "text/plain" } },
      415,
      shape("invalid_request_error", "UNSUPPORTED_MEDIA_TYPE"),
    ],
    ["no body", { key }, 400, shape("invalid_request_error", "INVALID_REQUEST", "model")],
    [
      "a wrong field far inside",
      { key, body: { model: "m", messages: [{ content: 1 }] } },
      400,
      shape("invalid_request_error", "INVALID_REQUEST", "messages"),
    ],
    [
      "a body that is too large",
      { key, body: " ".repeat(2 * MIB + 1) },
      413,
      shape("invalid_request_error", "PAYLOAD_TOO_LARGE"),
    ],
  ] as const)("tells %s in that form [FORM-1]", async (_, asked, status, expected) => {
    await using server = (await rig()).server;
    const { method = "POST", path = PATH, ...request } = asked as Ask & { method?: string; path?: string };
    const answer = await server.ask(method, path, request);
    expect([answer.status, answer.body]).toEqual([
      status,
      status === 400 ? { ...expected, details: expect.any(Array) } : expected,
    ]);
    expect(answer.headers["x-request-id"]).toBe(answer.body.request_id);
    if (status === 405) expect(answer.headers.allow).toBe("POST");
    if (status === 401) expect(answer.headers["www-authenticate"]).toBe("Bearer");
  });

  it.each([
    [new GatewayError("SESSION_BUSY"), 409, "invalid_request_error", "SESSION_BUSY"],
    [new GatewayError("CAPACITY"), 503, "server_error", "CAPACITY"],
    [new GatewayError("RATE_LIMITED"), 429, "rate_limit_error", "RATE_LIMITED"],
    [new Error("a secret"), 500, "server_error", "INTERNAL"],
  ] as const)("tells what its handler throws in that form: %s [FORM-1]", async (fail, status, type, code) => {
    await using server = (await rig({ fail })).server;
    const answer = await server.ask("POST", PATH, { key, body });
    expect([answer.status, answer.body]).toEqual([status, shape(type, code)]);
    expect(answer.text).not.toContain("secret");
    // Its clients would try every conflict again.
    expect(answer.headers["x-should-retry"]).toBe(status === 409 ? "false" : undefined);
  });

  it("tells a full disk and a late body in that form [FORM-1]", async () => {
    const { server, clock } = await rig({ disk: "low" });
    await using _server = server;
    const low = await server.ask("POST", PATH, { key, body });
    expect([low.status, low.body]).toEqual([503, shape("server_error", "UNAVAILABLE")]);
    const late = await dial(server.port);
    late.socket.write(
      `POST ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: ${key}\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n`,
    );
    await late.gets("HTTP/1.1 100");
    clock.advance(60_000);
    await late.gets('"type":"invalid_request_error"');
    expect(late.text()).toContain("HTTP/1.1 408");
    late.socket.destroy();
  });

  it("leaves all other addresses as they are [FORM-1]", async () => {
    await using server = (await rig()).server;
    for (const path of ["/v1/agents/assistant/other", "/v1/%zz", "/health/more"]) {
      const { body } = await server.ask("POST", path, { key });
      expect(body.error).toEqual(expect.any(String));
    }
  });

  it("is understood by the typed client", async () => {
    await using server = (await rig()).server;
    const response = await fetch(server.url + PATH, { method: "POST" });
    const error = await errorOf(response);
    expect([error.code, error.status, error.message]).toEqual([
      "API_KEY_MISSING",
      401,
      "The request has no API key.",
    ]);
  });

  it("says so in the description of the interface", async () => {
    const described = openApi([completions as RouteDecl], "1.0.0");
    const { valid, errors } = await new Validator().validate(described);
    expect(valid, JSON.stringify(errors)).toBe(true);
    const text = JSON.stringify(described);
    expect(text).toContain('"$ref":"#/components/schemas/OpenAiError"');
    expect(text).not.toContain('"$ref":"#/components/schemas/Error"');
  });

  it("takes a body as large as it declares [FORM-3]", async () => {
    await using server = (await rig()).server;
    const frame = JSON.stringify({ model: "", messages: [] }).length;
    const size = 2 * MIB - frame;
    const whole = await server.ask("POST", PATH, { key, body: { model: "x".repeat(size), messages: [] } });
    expect([whole.status, whole.body]).toEqual([200, { size: 2 * MIB }]);
    const more = await server.ask("POST", PATH, { key, body: { model: "x".repeat(size + 1), messages: [] } });
    expect(more.body.error).toMatchObject({ message: "The body is larger than 2 MiB." });
  });
});

describe("a stream in frames of its own", () => {
  const follow = async (port: number, path = "/v1/agents/assistant/live") => {
    const reader = await dial(port);
    reader.socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: the-other-key\r\n\r\n`);
    return reader;
  };
  const SECOND = "/v1/agents/second/live";

  it("tells the turn as its route does, and leaves out what that does not know [FORM-2]", async () => {
    const { server, log } = await rig();
    await using _server = server;
    const reader = await follow(server.port, SECOND);
    await reader.gets("text/event-stream");
    log.append({ type: "thinking", text: "hidden" });
    log.append({ type: "text_delta", text: "Hello" });
    await reader.gets('data: {"delta":"Hello"}\n\n');
    log.append({ type: "result", text: "Hello", session_id: "s" });
    await reader.gets("data: the end\n\n");
    expect(reader.text()).not.toMatch(/hidden|^id: |\[DONE\]/m);
    reader.socket.destroy();

    const late = await follow(server.port, SECOND);
    await late.gets("data: the end\n\n");
    expect(late.text()).toContain('data: {"delta":"Hello"}\n\n');
    late.socket.destroy();
  });

  it("ends in the form of its route when the key is gone [FORM-2]", async () => {
    const { server } = await rig();
    await using _server = server;
    const reader = await follow(server.port, SECOND);
    await reader.gets("text/event-stream");
    server.reconfigure({ api: { keys: TEST_KEYS.slice(0, 1), rateLimit: false } });
    server.server.recheck();
    await reader.gets("data: [DONE]");
    expect(reader.text()).toContain('data: {"error":{"message":');
    expect(reader.text()).toContain('"type":"permission_error"');
    reader.socket.destroy();
  });
});

it("every 400 has details, of the whole request where no field is wrong [FORM-4] [ERR-2]", async () => {
  await using server = await startTestServer();
  const key = "the-write-key";
  const SESSIONS = "/api/v1/agents/assistant/sessions";
  for (const [method, path, request, at] of [
    ["GET", "/api/v1/agents/%zz", {}, ""],
    ["GET", "/health?a=1&a=2", { key }, undefined],
    ["POST", SESSIONS, { key, body: "{" }, ""],
    ["POST", SESSIONS, { key, body: {} }, "chat_id"],
    ["POST", SESSIONS, { key, body: { chat_id: "no such chat!" } }, "chat_id"],
  ] as const) {
    const { status, body } = await server.ask(method, path, request);
    if (at === undefined) continue;
    expect([status, body.details]).toEqual([400, [{ path: at, message: expect.any(String) }]]);
  }
});
