import { GatewayError, routes } from "@agent-gateway/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endpoint } from "../../../packages/gateway/src/http/index.ts";
import { type Answer, startTestServer } from "../../fixtures/http-server.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

type Server = Awaited<ReturnType<typeof startTestServer>>;
let server: Server;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const is = (answer: Answer, status: number, code?: string) => {
  expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code });
  expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  if (code) expect(answer.body.request_id).toBe(answer.headers["x-request-id"]);
  return answer;
};
const sessions = "/api/v1/agents/assistant/sessions";

describe("the order of checks", () => {
  it("is route, key present, key valid, agent, access and level, body and query [ERR-5]", async () => {
    const { ask } = server;
    is(await ask("POST", "/api/v1/nothing", { body: "{" }), 404, "NOT_FOUND");
    is(await ask("PUT", sessions, { key: "bad", body: "{" }), 405, "METHOD_NOT_ALLOWED");
    is(await ask("POST", "/api/v1/agents/nobody/sessions", { body: "{" }), 401, "API_KEY_MISSING");
    is(
      await ask("POST", "/api/v1/agents/nobody/sessions", { key: "bad", body: "{" }),
      403,
      "API_KEY_INVALID",
    );
    is(
      await ask("POST", "/api/v1/agents/nobody/sessions", { key: "the-other-key", body: "{" }),
      404,
      "AGENT_NOT_FOUND",
    );
    is(await ask("POST", sessions, { key: "the-other-key", body: "{" }), 403, "FORBIDDEN");
    is(
      await ask("POST", "/api/v1/agents/assistant/greeting", { key: "the-plain-key", body: "{" }),
      403,
      "FORBIDDEN",
    );
    is(await ask("POST", sessions, { key: "the-plain-key", body: "{" }), 400, "INVALID_JSON");
    is(await ask("POST", sessions, { key: "the-plain-key", body: { chat_id: "me" } }), 201);
  });

  it("accepts X-Api-Key and Authorization: Bearer [AUTH-1]", async () => {
    const path = "/api/v1/_meta/routes";
    is(await server.ask("GET", path, { key: "the-all-key" }), 200);
    is(await server.ask("GET", path, { headers: { authorization: "Bearer the-all-key" } }), 200);
    is(await server.ask("GET", path, { headers: { authorization: "Basic abc" } }), 401, "API_KEY_MISSING");
  });

  it("finds the static route before the one with a parameter", async () => {
    const answer = await server.ask("GET", "/api/v1/agents/sessions", { key: "the-admin-key" });
    expect(is(answer, 200).body).toEqual({ agents: [] });
    is(await server.ask("GET", "/api/v1/agents/sessions", { key: "the-all-key" }), 403, "FORBIDDEN");
  });
});

describe("hosts and origins", () => {
  const host = (value: string) => server.ask("GET", "/health", { headers: { host: value } });
  it("a foreign Host is 403, on loopback too [AUTH-5]", async () => {
    for (const good of ["localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:5", "127.8.8.8", "localhost."]) {
      is(await host(good), 200);
    }
    for (const bad of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "a b", "@"]) {
      is(await host(bad), 403, "FORBIDDEN");
    }
  });

  it("a foreign Host is 403 for every route, event streams too, before anything else is looked at [AUTH-5]", async () => {
    for (const { method, path } of Object.values(routes)) {
      const at = `${path.replace("*", "x").replaceAll(/:\w+/g, "assistant")}?stream=true`;
      for (const accept of ["*/*", "text/event-stream"]) {
        const headers = { host: "evil.example", accept };
        is(await server.ask(method, at, { key: "the-admin-key", headers }), 403, "FORBIDDEN");
      }
    }
  });

  it("a configured host and the public address are accepted, also after a reload", async () => {
    await using own = await startTestServer();
    const from = (value: string) => own.ask("GET", "/health", { headers: { host: value } });
    is(await from("gw.example"), 403, "FORBIDDEN");
    own.reconfigure({ allowedHosts: ["gw.example"], publicUrl: "https://pub.example/gateway" });
    is(await from("gw.example:8443"), 200);
    is(await from("pub.example"), 200);
    const headers = { host: "127.0.0.1", origin: "https://pub.example" };
    is(await own.ask("POST", "/dashboard/logout", { headers }), 204);
    own.reconfigure({});
    is(await from("gw.example"), 403, "FORBIDDEN");
  });

  it("a request that changes something with a foreign Origin is 403, reading is not [AUTH-5]", async () => {
    const { ask, port } = server;
    const from = (origin: string, method = "POST") =>
      ask(method, method === "POST" ? sessions : "/health", {
        key: "the-plain-key",
        headers: { origin },
        ...(method === "POST" && { body: { chat_id: "me" } }),
      });
    for (const good of [`http://127.0.0.1:${port}`, `http://localhost:${port}`]) is(await from(good), 201);
    for (const bad of [
      "https://evil.example",
      "null",
      "",
      `http://127.0.0.1:${port + 1}`,
      `http://127.0.0.1.evil.example:${port}`,
      "file://",
    ]) {
      is(await from(bad), 403, "FORBIDDEN");
    }
    is(await from("https://evil.example", "GET"), 200);
  });

  it("a WebSocket request is refused with an HTTP answer: 403 for a foreign Origin, else 404", async () => {
    const upgrade = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
    const path = "/api/v1/agents/assistant/anything";
    is(await server.ask("GET", path, { headers: upgrade }), 404, "NOT_FOUND");
    is(
      await server.ask("GET", path, { headers: { ...upgrade, origin: "https://evil.example" } }),
      403,
      "FORBIDDEN",
    );
    is(await server.ask("GET", path, { headers: { ...upgrade, host: "evil.example" } }), 403, "FORBIDDEN");
    is(await server.ask("GET", "/health", { headers: { connection: "Upgrade", upgrade: "h2c" } }), 200);
  });
});

describe("methods and addresses", () => {
  it("an unknown method is 405 with Allow, OPTIONS too; HEAD is answered as GET [ERR-4]", async () => {
    const answer = is(await server.ask("OPTIONS", sessions), 405, "METHOD_NOT_ALLOWED");
    expect(answer.headers.allow).toBe("POST");
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    expect((await server.ask("DELETE", "/health")).headers.allow).toBe("GET, HEAD");
    const head = is(await server.ask("HEAD", "/health"), 200);
    expect(head.headers["content-length"]).toBe("15");
    expect(head.text).toBe("");
  });

  it("a malformed address is 400 or 404, never more", async () => {
    for (const path of ["/%zz", "/health%00", "/api/v1/agents/%ff/sessions", "/%", "//%e0%a4%a"]) {
      is(await server.ask("GET", path), 400, "INVALID_REQUEST");
    }
    for (const path of ["//", "/health/", "/HEALTH", "/__proto__", "/constructor", "/..;/health"]) {
      is(await server.ask("GET", path), 404, "NOT_FOUND");
    }
  });

  it("parameters reach the handler decoded, of any length and name", async () => {
    const chat = (id: string, query = "") =>
      server.ask("GET", `/api/v1/agents/assistant/chats/${id}/messages${query}`, { key: "the-plain-key" });
    expect((await chat("a%2Fb%20c")).body.nextCursorId).toBe(5);
    expect((await chat("x".repeat(2000))).body.nextCursorId).toBe(2000);
    expect((await chat("__proto__", "?__proto__=1&constructor=2&limit=7")).body).toMatchObject({
      nextCursor: 7,
      nextCursorId: 9,
    });
    is(await chat("c", "?limit=1&limit=2"), 400, "INVALID_REQUEST");
    is(await chat("c", "?limit=%zz"), 400, "INVALID_REQUEST");
    is(await chat("c", "?order=%E0%B8%81"), 400, "INVALID_REQUEST");
  });
});

describe("bodies", () => {
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    server.ask("POST", sessions, { key: "the-plain-key", body, headers });

  it("failures name their fields [ERR-2]", async () => {
    const missing = is(await post({}), 400, "INVALID_CHAT_ID");
    expect(missing.body.details).toEqual([{ path: "chat_id", message: "is required" }]);
    is(await post({ chat_id: ".." }), 400, "INVALID_CHAT_ID");
    const wrong = is(await post({ chat_id: "me", name: 5 }), 400, "INVALID_REQUEST");
    expect(wrong.body.details).toMatchObject([{ path: "name" }]);
    for (const body of ["[]", '"x"', "null", "5"]) is(await post(body), 400, "INVALID_REQUEST");
    is(await server.ask("POST", sessions, { key: "the-plain-key" }), 400, "INVALID_CHAT_ID");
  });

  it("must be JSON in UTF-8 [ERR-4]", async () => {
    for (const body of ["{", "{}x", "undefined", "{'a':1}"]) is(await post(body), 400, "INVALID_JSON");
    const good = JSON.stringify({ chat_id: "me" });
    is(await post(good, { "content-type": "application/merge-patch+json; charset=utf-8" }), 201);
    is(await post(`\uFEFF${good}`), 201);
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"]) {
      is(await post(good, { "content-type": type }), 415, "UNSUPPORTED_MEDIA_TYPE");
    }
    is(await post(good, { "content-encoding": "gzip" }), 415, "UNSUPPORTED_MEDIA_TYPE");
  });

  it("are at most 1 MiB, announced or not [ERR-4]", async () => {
    const large = JSON.stringify({ chat_id: "me", name: "x".repeat(1024 * 1024) });
    is(await post(large), 413, "PAYLOAD_TOO_LARGE");
    const response = await fetch(`${server.url}${sessions}`, {
      method: "POST",
      headers: { "x-api-key": "the-plain-key", "content-type": "application/json" },
      body: new Blob([large]).stream(),
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(413);
    is(await post(JSON.stringify({ chat_id: "me", prompt: "x".repeat(9999) })), 201);
  });

  it("cannot reach a prototype", async () => {
    is(await post('{"chat_id":"me","__proto__":{"name":"x"}}'), 201);
    expect((await post('{"chat_id":"me","__proto__":{"name":"x"}}')).body.sessionName).toBe("unnamed");
    expect((await post('{"chat_id":"me","constructor":{"prototype":{"name":"x"}}}')).status).toBe(201);
  });
});

describe("every reply", () => {
  it("carries the security headers and no id of the client's", async () => {
    const { headers } = await server.ask("GET", "/health", { headers: { "x-request-id": "mine" } });
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    });
    expect(headers["x-request-id"]).not.toBe("mine");
    const error = await server.ask("GET", "/nothing");
    expect(error.headers).toMatchObject({ "x-content-type-options": "nosniff", "cache-control": "no-store" });
    const empty = await server.ask("DELETE", `${sessions}/s?chat_id=me`, { key: "the-plain-key" });
    expect(is(empty, 204).text).toBe("");
  });

  it("of a failure says nothing of the machine, and the log has its id [ERR-1, ERR-3]", async () => {
    const logged: Record<string, unknown>[] = [];
    const nothing = () => {};
    const log = {
      debug: nothing,
      info: nothing,
      warn: nothing,
      error: (fields: Record<string, unknown>) => void logged.push(fields),
      child: () => log,
    };
    await using own = await startTestServer({ log });
    const answer = is(
      await own.ask("GET", "/api/v1/agents/assistant", { key: "the-plain-key" }),
      500,
      "INTERNAL",
    );
    expect(answer.text).not.toContain("/home/someone");
    expect(logged).toMatchObject([{ requestId: answer.headers["x-request-id"] }]);
  });

  it("of a full disk says so", async () => {
    const noSpace = Object.assign(new Error("no space"), { code: "ENOSPC" });
    for (const error of [
      Object.assign(new Error("database or disk is full"), { errcode: 13 }),
      new GatewayError("INTERNAL", "Could not write the configuration file.", { cause: noSpace }),
    ]) {
      const full = endpoint(routes.getAgent, () => {
        throw error;
      });
      await using own = await startTestServer({ endpoints: [full] });
      const answer = await own.ask("GET", "/api/v1/agents/assistant", { key: "the-plain-key" });
      expect(is(answer, 503, "UNAVAILABLE").body.error).toContain("disk is full");
    }
  });
});

describe("limits", () => {
  it("are per key: a burst, then so many a second, 429 with Retry-After; false turns it off [LIM-1]", async () => {
    const clock = manualClock();
    const api = (rateLimit: unknown) => ({
      api: {
        keys: [
          { key: "a", agents: "*" },
          { key: "b", agents: "*" },
        ],
        rateLimit,
      },
    });
    await using own = await startTestServer({ clock, gateway: api({ perSecond: 2, burst: 3 }) });
    const get = (key: string) => own.ask("GET", "/api/v1/_meta/routes", { key });
    for (let i = 0; i < 3; i++) is(await get("a"), 200);
    expect(is(await get("a"), 429, "RATE_LIMITED").headers["retry-after"]).toBe("1");
    is(await get("b"), 200);
    clock.advance(500);
    is(await get("a"), 200);
    is(await get("a"), 429, "RATE_LIMITED");
    own.reconfigure(api(false));
    for (let i = 0; i < 5; i++) is(await get("a"), 200);
  });

  it("stop an address that guesses, but not a valid key [LIM-2]", async () => {
    await using own = await startTestServer();
    const get = (key: string) => own.ask("GET", "/api/v1/_meta/routes", { key });
    for (let i = 0; i < 20; i++) is(await get(`guess-${i}`), 403, "API_KEY_INVALID");
    expect(is(await get("guess"), 429, "RATE_LIMITED").headers["retry-after"]).toBe("60");
    is(await get("the-all-key"), 200);
  });
});

describe("monitoring", () => {
  const path = "/processes";
  it("needs an admin key when keys are configured; a lesser key is 401 [MON-2]", async () => {
    is(await server.ask("GET", path), 401, "API_KEY_MISSING");
    is(await server.ask("GET", path, { key: "bad" }), 403, "API_KEY_INVALID");
    for (const key of ["the-plain-key", "the-write-key", "the-all-key"]) {
      is(await server.ask("GET", path, { key }), 401, "API_KEY_MISSING");
    }
    is(await server.ask("GET", path, { key: "the-admin-key" }), 200);
  });

  it("without keys is open on loopback and 503 elsewhere; the rest stays closed [MON-3]", async () => {
    const gateway = { api: { keys: [], rateLimit: false } };
    await using local = await startTestServer({ gateway });
    is(await local.ask("GET", path), 200);
    is(await local.ask("GET", "/dashboard"), 200);
    is(await local.ask("GET", "/api/v1/_meta/routes"), 401, "API_KEY_MISSING");
    is(await local.ask("GET", "/api/v1/_meta/routes", { key: "x" }), 403, "API_KEY_INVALID");
    await using open = await startTestServer({ gateway, host: "0.0.0.0" });
    is(await open.ask("GET", path), 503, "UNAVAILABLE");
    is(await open.ask("GET", "/dashboard"), 503, "UNAVAILABLE");
    is(await open.ask("GET", "/health"), 200);
    // The address that is printed at start is one of its names.
    is(await open.ask("GET", "/health", { headers: { host: "0.0.0.0:1" } }), 200);
    is(await local.ask("GET", "/health", { headers: { host: "0.0.0.0:1" } }), 403, "FORBIDDEN");
  });
});
