import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, startTestServer } from "../../fixtures/http-server.ts";
import { put } from "../../harness.ts";

type Server = Awaited<ReturnType<typeof startTestServer>>;
let server: Server;
let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "dashboard-"));
  const directory = join(root, "built");
  await put(directory, "index.html", "<!doctype html><title>page</title>");
  await put(directory, "assets/index-Abc123_x.js", "export {};");
  await put(directory, "assets/data.bin", "?");
  await writeFile(join(root, "secret.js"), "secret");
  await symlink(join(root, "secret.js"), join(directory, "assets/link-Abc12345.js"));
  server = await startTestServer({ directory });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(root, { recursive: true });
});

const cookieOf = (answer: Answer) => String(answer.headers["set-cookie"]).split(";")[0] as string;
const login = (key: string, headers: Record<string, string> = {}) =>
  server.ask("POST", "/dashboard/login", { body: { key }, headers });

describe("the dashboard's login", () => {
  it("gives an HttpOnly, SameSite=Strict cookie to admin keys only [AUTH-4]", async () => {
    const good = await login("the-admin-key");
    expect(good.status).toBe(200);
    expect(good.body.expiresAt).toBeGreaterThan(1);
    expect(String(good.headers["set-cookie"])).toMatch(/^\S+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(good.text).not.toContain("the-admin-key");
    for (const key of ["the-write-key", "the-all-key"]) {
      const refused = await login(key);
      expect([refused.status, refused.body.code, refused.headers["set-cookie"]]).toEqual([
        403,
        "FORBIDDEN",
        undefined,
      ]);
    }
    expect((await login("wrong")).body.code).toBe("API_KEY_INVALID");
    expect((await login("")).body.code).toBe("INVALID_REQUEST");
  });

  it("marks the cookie Secure behind TLS", async () => {
    const behind = await login("the-admin-key", { "x-forwarded-proto": "https, http" });
    expect(String(behind.headers["set-cookie"])).toContain("; Secure");
  });

  it("counts wrong keys with the failed authentications of the address [LIM-2]", async () => {
    await using own = await startTestServer();
    const guess = () => own.ask("POST", "/dashboard/login", { body: { key: "guess" } });
    for (let i = 0; i < 20; i++) expect((await guess()).status).toBe(403);
    expect((await guess()).status).toBe(429);
  });

  it("makes an admin of the browser, until it logs out or the key goes", async () => {
    await using own = await startTestServer();
    const { headers } = await own.ask("POST", "/dashboard/login", { body: { key: "the-admin-key" } });
    const cookie = String(headers["set-cookie"]).split(";")[0] as string;
    const get = () => own.ask("GET", "/processes", { headers: { cookie } });
    const session = async () => (await own.ask("GET", "/dashboard/session", { headers: { cookie } })).body;
    expect((await get()).status).toBe(200);
    expect(await session()).toEqual({ authenticated: true, required: true, version: "1.2.3" });
    own.reconfigure({ api: { keys: [{ key: "another", agents: "*", admin: true }] } });
    expect((await get()).status).toBe(401);
    own.reconfigure({});
    const again = await own.ask("POST", "/dashboard/login", { body: { key: "the-admin-key" } });
    const second = { cookie: String(again.headers["set-cookie"]).split(";")[0] as string };
    const out = await own.ask("POST", "/dashboard/logout", { headers: second });
    expect([out.status, String(out.headers["set-cookie"]).includes("Max-Age=0")]).toEqual([204, true]);
    expect((await own.ask("GET", "/processes", { headers: second })).status).toBe(401);
  });

  it("does not let other sites use the cookie", async () => {
    const cookie = cookieOf(await login("the-admin-key"));
    const create = (headers: Record<string, string>) =>
      server.ask("POST", "/api/v1/agents/assistant/sessions", {
        headers: { cookie, ...headers },
        body: { chat_id: "me" },
      });
    const own = { origin: server.url, "sec-fetch-site": "same-origin" };
    expect((await create(own)).status).toBe(201);
    expect((await create({ origin: "https://evil.example" })).status).toBe(403);
    expect((await create({ "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await create({ "sec-fetch-site": "same-site" })).status).toBe(403);
  });
});

describe("the dashboard's page", () => {
  it("asks browsers for the key with a 401, and everyone else in JSON [AUTH-4]", async () => {
    const browser = await server.ask("GET", "/dashboard", { headers: { accept: "text/html,*/*" } });
    expect([browser.status, browser.text]).toEqual([401, "<!doctype html><title>page</title>"]);
    const policy = String(browser.headers["content-security-policy"]);
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain("unsafe");
    const other = await server.ask("GET", "/dashboard");
    expect([other.status, other.body.code]).toEqual([401, "API_KEY_MISSING"]);
    const scoped = await server.ask("GET", "/dashboard", { key: "the-plain-key" });
    expect([scoped.status, scoped.body.code]).toEqual([401, "API_KEY_MISSING"]);
  });

  it("opens with an admin key, which sets the cookie, and with the cookie", async () => {
    const keyed = await server.ask("GET", "/dashboard", { key: "the-admin-key" });
    expect(keyed.status).toBe(200);
    const cookie = cookieOf(keyed);
    const again = await server.ask("GET", "/dashboard", { headers: { cookie } });
    expect([again.status, again.headers["set-cookie"]]).toEqual([200, undefined]);
  });

  it("is a sentence where nothing is built", async () => {
    await using bare = await startTestServer();
    const page = await bare.ask("GET", "/dashboard", { key: "the-admin-key" });
    expect([page.status, page.text.includes("not built")]).toEqual([200, true]);
    expect((await bare.ask("GET", "/dashboard/assets/x.js")).body.code).toBe("NOT_FOUND");
  });

  it("serves its hashed files for long, from its folder alone", async () => {
    const path = "/dashboard/assets/index-Abc123_x.js";
    const file = await server.ask("GET", path);
    expect([file.status, file.text]).toEqual([200, "export {};"]);
    expect(file.headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
    });
    const same = await server.ask("GET", path, { headers: { "if-none-match": String(file.headers.etag) } });
    expect([same.status, same.text]).toEqual([304, ""]);
    for (const bad of [
      "assets/link-Abc12345.js",
      "assets/data.bin",
      "assets",
      "../secret.js",
      "..%2fsecret.js",
      "%2e%2e/secret.js",
      "..%5csecret.js",
      "%252e%252e%252fsecret.js",
    ]) {
      expect((await server.ask("GET", `/dashboard/${bad}`)).status).toBe(404);
    }
    expect((await server.ask("GET", "/dashboard/")).headers.location).toBe("/dashboard");
  });
});
