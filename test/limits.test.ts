import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ask, ask } from "./fixtures/http-server.ts";
import { type Gateway, KEYS, put, startGateway, testConfig, until } from "./harness.ts";
import { LISTENING, ownFolder, startBin } from "./program.ts";

const MESSAGES = "/api/v1/agents/assistant/messages";
const MIB = 1024 * 1024;
const HASHED = "key-that-stands-nowhere";

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    gateway: {
      api: {
        rateLimit: false,
        keys: [
          ...(testConfig().gateway as { api: { keys: object[] } }).api.keys,
          {
            keyHash: `sha256:${createHash("sha256").update(HASHED).digest("hex")}`,
            agents: ["assistant"],
            write: true,
          },
        ],
      },
      allowedHosts: ["agents.example.org"],
      publicUrl: "https://public.example.org/gateway",
    },
  });
});
afterAll(() => gateway[Symbol.asyncDispose]());
const call = (method: string, path: string, options: Ask = {}) => ask(gateway.url, method, path, options);

describe("the rate limit", () => {
  it("of a key answers 429 with Retry-After, leaves other keys alone, and false turns it off [LIM-1]", async () => {
    const config = (rateLimit: unknown) => {
      const made = testConfig() as { gateway: { api: object } };
      Object.assign(made.gateway.api, { rateLimit });
      return made;
    };
    await using limited = await startGateway({ config: config({ perSecond: 0.1, burst: 5 }) });
    const many = (key: string) =>
      Promise.all(Array.from({ length: 8 }, () => limited.json("GET", "/api/v1/agents", { key })));
    const answers = await many(KEYS.plain);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(refused.body).toMatchObject({
      code: "RATE_LIMITED",
      request_id: refused.headers.get("x-request-id"),
    });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(10);
    const sent = await limited.send("hi", {}, { key: KEYS.plain });
    expect([sent.status, sent.body.code]).toEqual([429, "RATE_LIMITED"]);
    expect((await limited.request("GET", "/api/v1/agents", { key: KEYS.other })).status).toBe(200);
    expect((await limited.request("GET", "/health", { key: null })).status).toBe(200);
    await limited.writeConfig(config(false));
    await until(
      async () => (await limited.request("GET", "/api/v1/agents", { key: KEYS.plain })).status === 200,
      "the limit to be gone",
    );
    expect((await many(KEYS.plain)).map(({ status }) => status)).toEqual(Array(8).fill(200));
  });

  it("is a burst of 200 by default [LIM-1]", async () => {
    const config = testConfig() as { gateway: { api: { rateLimit?: unknown } } };
    delete config.gateway.api.rateLimit;
    await using limited = await startGateway({ config });
    const statuses: number[] = [];
    const begun = performance.now();
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let n = 0; n < 75; n++) statuses.push((await limited.request("GET", "/api/v1/agents")).status);
      }),
    );
    const seconds = (performance.now() - begun) / 1000;
    const passed = statuses.filter((status) => status === 200).length;
    expect(passed).toBeGreaterThanOrEqual(200);
    expect(passed).toBeLessThanOrEqual(Math.min(600, 201 + 100 * seconds));
    if (passed < 600) expect(new Set(statuses)).toEqual(new Set([200, 429]));
  });
});

describe("failed authentications", () => {
  it("are 20 a minute per address, then 429, while a valid key passes [LIM-2]", async () => {
    const from = "127.0.9.1";
    const guess = (key: string, path = "/api/v1/agents") => call("GET", path, { key, from });
    for (let n = 0; n < 19; n++) {
      const { status, body } = await guess(`guess-${n}`);
      expect([status, body.code]).toEqual([403, "API_KEY_INVALID"]);
    }
    const login = (key: string) => call("POST", "/dashboard/login", { from, body: { key } });
    expect((await login("guess-19")).status).toBe(403);
    for (const answer of [await guess("guess-20"), await guess("guess-21", "/status"), await login("no")]) {
      expect([answer.status, answer.body.code]).toEqual([429, "RATE_LIMITED"]);
      expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
      expect(Number(answer.headers["retry-after"])).toBeLessThanOrEqual(60);
    }
    expect((await guess(KEYS.plain)).status).toBe(200);
    expect((await call("GET", "/api/v1/agents", { key: "guess", from: "127.0.9.2" })).status).toBe(403);
    // A request without a key is no guess.
    expect((await call("GET", "/api/v1/agents", { from })).status).toBe(401);
  });
});

describe("keys", () => {
  it("can be stored as their hash, which itself opens nothing [AUTH-2]", async () => {
    const from = "127.0.9.3";
    const { status } = await call("GET", "/api/v1/agents", { key: HASHED, from });
    expect(status).toBe(200);
    const bearer = { authorization: `Bearer ${HASHED}` };
    expect((await call("GET", "/api/v1/agents/assistant", { headers: bearer })).status).toBe(200);
    const hash = createHash("sha256").update(HASHED).digest("hex");
    for (const key of [hash, `sha256:${hash}`, HASHED.toUpperCase(), `${HASHED}x`]) {
      expect((await call("GET", "/api/v1/agents", { key, from })).body.code).toBe("API_KEY_INVALID");
    }
    expect((await call("GET", "/api/v1/agents/second", { key: HASHED, from })).body.code).toBe("FORBIDDEN");
  });
});

describe("the dashboard's login", () => {
  const login = (key: string, headers = {}) =>
    call("POST", "/dashboard/login", { body: { key }, headers, from: "127.0.9.4" });

  it("sets an HttpOnly SameSite=Strict cookie for admin keys only [AUTH-4]", async () => {
    for (const key of [KEYS.plain, KEYS.write, KEYS.all, "wrong"]) {
      const { status, headers } = await login(key);
      expect([status, headers["set-cookie"]]).toEqual([403, undefined]);
    }
    const { status, headers, text } = await login(KEYS.admin);
    expect(status).toBe(200);
    const [cookie] = headers["set-cookie"] as string[];
    expect(cookie).toMatch(/^(__Host-)?[a-z_\d]+=[\w-]{43,}; Path=\/; HttpOnly; SameSite=Strict(; Secure)?$/);
    expect(cookie + text).not.toContain(KEYS.admin);
    const own = { cookie: cookie!.split(";")[0]! };
    for (const path of ["/status", "/processes", "/metrics", "/dashboard", "/api/v1/agents/sessions"]) {
      expect((await call("GET", path, { headers: own })).status, path).toBe(200);
    }
    expect((await call("GET", "/status", { headers: { cookie: `${own.cookie}x` } })).status).toBe(401);
    const send = (headers: Record<string, string>) =>
      call("POST", MESSAGES, { headers: { ...own, ...headers }, body: { message: "hi", chat_id: "me" } });
    expect((await send({ "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await send({ "sec-fetch-site": "same-origin", origin: gateway.url })).status).toBe(200);
    const out = await call("POST", "/dashboard/logout", { headers: own });
    expect([out.status, (out.headers["set-cookie"] as string[])[0]]).toEqual([
      204,
      expect.stringContaining("Max-Age=0"),
    ]);
    expect((await call("GET", "/status", { headers: own })).status).toBe(401);
  });
});

describe("foreign hosts and origins", () => {
  const port = () => new URL(gateway.url).port;

  it("are 403, with or without a key, on loopback too [AUTH-5]", async () => {
    const hosts = [
      "evil.example",
      `evil.example:${port()}`,
      "127.0.0.1.evil.example",
      "localhost.evil",
      "a b",
    ];
    for (const host of hosts) {
      for (const path of ["/health", "/api/v1/agents", "/dashboard", "/status"]) {
        const { status, body } = await call("GET", path, { key: KEYS.admin, headers: { host } });
        expect([status, body.code], `${host} ${path}`).toEqual([403, "FORBIDDEN"]);
      }
    }
    for (const host of [
      `127.0.0.1:${port()}`,
      `LOCALHOST:${port()}`,
      "[::1]",
      "agents.example.org",
      "public.example.org",
    ]) {
      expect((await call("GET", "/api/v1/agents", { key: KEYS.admin, headers: { host } })).status, host).toBe(
        200,
      );
    }
    const body = { chat_id: "me" };
    const create = (origin: string, host = `127.0.0.1:${port()}`) =>
      call("POST", "/api/v1/agents/assistant/sessions", { key: KEYS.admin, headers: { origin, host }, body });
    for (const origin of [
      "https://evil.example",
      "null",
      "http://127.0.0.1:1",
      "file://",
      `ftp://127.0.0.1:${port()}`,
    ]) {
      const answer = await create(origin);
      expect([answer.status, answer.body.code], origin).toEqual([403, "FORBIDDEN"]);
    }
    expect((await create(gateway.url)).status).toBe(201);
    expect((await create("https://agents.example.org", "agents.example.org")).status).toBe(201);
    const reading = { origin: "https://evil.example" };
    const read = await call("GET", "/api/v1/agents", { key: KEYS.admin, headers: reading });
    expect([read.status, read.headers["access-control-allow-origin"]]).toEqual([200, undefined]);
  });
});

describe("requests that are not served", () => {
  it("are 405 with Allow, 404, 400 INVALID_JSON or 413 over 1 MiB [ERR-4]", async () => {
    const key = KEYS.admin;
    const wrong = await call("DELETE", MESSAGES, { key });
    expect([wrong.status, wrong.body.code, wrong.headers.allow]).toEqual([405, "METHOD_NOT_ALLOWED", "POST"]);
    for (const path of ["/", "/api/v1/nothing", "/api/v2/agents", "/v1/agents", `${MESSAGES}/x/y/z`]) {
      const { status, body } = await call("GET", path, { key });
      expect([status, body.code], path).toEqual([404, "NOT_FOUND"]);
    }
    for (const text of ["{", "nope", '{"message": "hi", "chat_id": "me"', "{'a': 1}", "\u0000"]) {
      const { status, body } = await call("POST", MESSAGES, { key, body: text });
      expect([status, body.code], text).toEqual([400, "INVALID_JSON"]);
    }
    const sized = (bytes: number) => {
      const json = JSON.stringify({ message: "hi", chat_id: "me" });
      return `${json.slice(0, -1)}${" ".repeat(bytes - json.length)}}`;
    };
    expect((await call("POST", MESSAGES, { key, body: sized(MIB) })).status).toBe(200);
    const large = await call("POST", MESSAGES, { key, body: sized(MIB + 1) });
    expect([large.status, large.body.code]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
    const chunked = await fetch(`${gateway.url}${MESSAGES}`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: new Blob([sized(2 * MIB)]).stream(),
      duplex: "half",
    } as RequestInit);
    expect([chunked.status, ((await chunked.json()) as { code: string }).code]).toEqual([
      413,
      "PAYLOAD_TOO_LARGE",
    ]);
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const typed = await call("POST", MESSAGES, { key, headers: form, body: "message=hi" });
    expect([typed.status, typed.body.code]).toEqual([415, "UNSUPPORTED_MEDIA_TYPE"]);
  });

  it("are refused in the order of the contract [ERR-5]", async () => {
    const session = { message: "HANG", chat_id: "order" };
    const begun = await gateway.request("POST", MESSAGES, { body: { ...session, stream: true } });
    const { body } = await gateway.json("GET", "/api/v1/agents/assistant/sessions?chat_id=order");
    const id = (body.sessions as Array<{ id: string }>)[0]!.id;
    const bad = { message: "", chat_id: "/", session_id: "none", store_user_message: false };
    const plain = { ...bad, message: "hi", chat_id: "order" };
    const path = (agent: string, rest = "messages") => `/api/v1/agents/${agent}/${rest}`;
    const steps: Array<[number, string, string, Ask]> = [
      [404, "NOT_FOUND", path("nobody", "nowhere"), { body: bad }],
      [401, "API_KEY_MISSING", path("nobody"), { body: bad }],
      [403, "API_KEY_INVALID", path("nobody"), { key: "wrong", from: "127.0.9.5", body: bad }],
      [404, "AGENT_NOT_FOUND", path("nobody"), { key: KEYS.other, body: bad }],
      [403, "FORBIDDEN", path("assistant"), { key: KEYS.other, body: bad }],
      [403, "FORBIDDEN", path("assistant", "greeting"), { key: KEYS.plain, body: bad }],
      [400, "INVALID_JSON", path("assistant"), { key: KEYS.plain, body: "{" }],
      [400, "INVALID_CHAT_ID", path("assistant"), { key: KEYS.plain, body: { ...plain, chat_id: "/" } }],
      [403, "FORBIDDEN", path("assistant"), { key: KEYS.plain, body: plain }],
      [404, "SESSION_NOT_FOUND", path("assistant"), { key: KEYS.write, body: plain }],
      [409, "SESSION_BUSY", path("assistant"), { key: KEYS.write, body: { ...plain, session_id: id } }],
    ];
    for (const [status, code, where, options] of steps) {
      const answer = await call("POST", where, options);
      expect([answer.status, answer.body.code], where).toEqual([status, code]);
    }
    await begun.body?.cancel();
  });
});

describe("a turn that is over", () => {
  it("can be read again until gateway.turns.retainMs has passed, and is gone then [TURN-24]", async () => {
    const at = async (retainMs: number, probe: (read: () => Promise<Response>) => Promise<void>) => {
      await using short = await startGateway({ gateway: { turns: { retainMs } } });
      const { body } = await short.send("SAY once");
      await probe(() =>
        short.request("GET", `/api/v1/agents/assistant/sessions/${body.session_id}/stream?chat_id=me`),
      );
    };
    await at(60_000, async (read) => expect(await (await read()).text()).toContain('"once"'));
    await at(300, async (read) => {
      const gone = await until(async () => {
        const response = await read();
        return response.status === 410 ? response.json() : void (await response.body?.cancel());
      }, "the turn to be gone");
      expect(gone).toMatchObject({ code: "TURN_GONE" });
    });
  });
});

describe("without keys", () => {
  const keyless = { gateway: {}, agents: [{ id: "assistant", runtime: { type: "starter" } }] };

  it("monitoring is open on loopback and 503 elsewhere, with a warning at start [MON-3]", async () => {
    const home = await ownFolder();
    await writeFile(join(home, "config.json"), JSON.stringify(keyless));
    const paths = ["/status", "/processes", "/metrics", "/dashboard"];
    const near = startBin(home);
    const url = (await near.says(LISTENING))[1]!;
    for (const path of paths) expect((await ask(url, "GET", path)).status, path).toBe(200);
    expect((await ask(url, "GET", "/api/v1/agents")).body.code).toBe("API_KEY_MISSING");
    expect(near.stdout()).not.toContain("No API keys");
    near.process.kill("SIGTERM");
    await near.ended;

    const far = startBin(home, { env: { GATEWAY_BIND: "0.0.0.0" } });
    const open = (await far.says(LISTENING))[1]!.replace("0.0.0.0", "127.0.0.1");
    for (const path of paths) expect((await ask(open, "GET", path)).status, path).toBe(503);
    expect((await ask(open, "GET", "/health")).body).toEqual({ status: "ok" });
    expect(far.stdout()).toMatch(
      /warn No API keys are configured and 0\.0\.0\.0 can be reached from outside/,
    );
  });

  it("that are admin keys the dashboard is closed, with a warning at start [MON-3]", async () => {
    const home = await ownFolder();
    const config = { ...keyless, gateway: { api: { keys: [{ key: "k", agents: "*", write: true }] } } };
    await put(home, "config.json", JSON.stringify(config));
    const started = startBin(home);
    const url = (await started.says(LISTENING))[1]!;
    expect((await ask(url, "GET", "/status", { key: "k" })).status).toBe(401);
    expect((await ask(url, "POST", "/dashboard/login", { body: { key: "k" } })).status).toBe(403);
    expect(started.stdout()).toContain("the dashboard is inaccessible");
  });
});
