import { rm } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { type RouteDecl, routeList } from "@agent-gateway/contract";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fakeNpm } from "./fixtures/fake-npm.ts";
import { type Gateway, KEYS, startGateway } from "./harness.ts";

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 20_000);
const SEED = 20_261_121;
const PARALLEL = 16;

let gateway: Gateway;
let npm: Awaited<ReturnType<typeof fakeNpm>>;
beforeAll(async () => {
  npm = await fakeNpm();
  gateway = await startGateway({
    env: { PATH: npm.path },
    gateway: { turns: { hardCapMs: 2000, injectionMs: 500 } },
    agent: { runtime: { type: "starter" } },
  });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await rm(npm.folder, { recursive: true, force: true });
});

interface Shot {
  decl: RouteDecl;
  path: string;
  query: string;
  body: string | undefined;
  contentType: string;
  key: string | null;
}

const odd = fc.oneof(
  fc.constantFrom(
    "assistant",
    "second",
    "api-me",
    "me",
    "..",
    ".",
    "%2e%2e%2f",
    "%00",
    "%",
    "%zz",
    "a/b",
    "__proto__",
    "null",
    "0",
    "-1",
    "1e999",
    "NaN",
    "💥",
    "'; DROP TABLE messages;--",
    '"',
    "*",
    "OR",
    "NEAR(",
  ),
  fc.string({ unit: "binary", maxLength: 40 }),
);
const value: fc.Arbitrary<unknown> = fc.oneof(
  odd,
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(null, true, -1, 1e308, "x".repeat(11_000), [], {}),
);
const NAMES = [
  "message",
  "chat_id",
  "session_id",
  "stream",
  "timeout_ms",
  "media_files",
  "content",
  "senderName",
  "image_params",
  "model",
  "session_name",
  "id",
  "name",
  "agent_id",
  "refs",
  "ttl_seconds",
  "key",
  "__proto__",
  "constructor",
  "limit",
  "before",
  "after",
  "before_id",
  "after_id",
  "order",
  "q",
  "offset",
  "from",
  "to",
  "tz_offset",
  "after_seq",
  "request_id",
  "runtime",
  "allow_tools",
];
const body = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 6 })
      .map((object) => JSON.stringify(object)),
  },
  { weight: 2, arbitrary: fc.jsonValue().map((json) => JSON.stringify(json)) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 200 }) },
  { weight: 1, arbitrary: fc.constantFrom("", "{", "[1,", "\u0000", '{"a":1}}', `[${"[".repeat(5000)}`) },
);
const shot: fc.Arbitrary<Shot> = fc
  .record({
    decl: fc.constantFrom(...routeList),
    parts: fc.array(odd, { minLength: 4, maxLength: 4 }),
    likely: fc.boolean(),
    query: fc.array(fc.tuple(fc.constantFrom(...NAMES), odd), { maxLength: 4 }),
    body,
    contentType: fc.constantFrom(
      "application/json",
      "application/json; charset=utf-8",
      "text/plain",
      "image/png",
      "application/pdf",
      "application/x-ndjson",
      "",
      'a/b; c="d',
    ),
    key: fc.constantFrom(
      KEYS.admin,
      KEYS.admin,
      KEYS.admin,
      KEYS.write,
      KEYS.plain,
      KEYS.other,
      KEYS.all,
      null,
      "wrong",
    ),
  })
  .map(({ decl, parts, likely, query, ...rest }) => {
    let index = 0;
    const path = decl.path.replace(/:\w+|\*/g, (name) => {
      const part = parts[index++ % parts.length]!;
      if (likely && name === ":agentId") return "second";
      return rest.key === null
        ? part.replace(/[^\x21-\x7e]|[?#]/g, "")
        : encodeURIComponent(part.toWellFormed());
    });
    const text = query.map(([name, text]) => `${name}=${encodeURIComponent(text.toWellFormed())}`).join("&");
    return { decl, path, query: text === "" ? "" : `?${text}`, ...rest };
  });

/** Deleting or reconfiguring what the other requests talk to would only make them miss. */
const spared = (decl: RouteDecl) => decl.method === "DELETE" && decl.path === "/api/v1/agents/:agentId";

const endless = ({ path }: RouteDecl, res: IncomingMessage) =>
  path === "/api/v1/events" && res.headers["content-type"]?.startsWith("text/event-stream");

function fire(target: Shot): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const hasBody = target.decl.method !== "GET";
  const req = request(`${gateway.url}`, {
    method: target.decl.method,
    path: `${target.path}${target.query}` || "/",
    headers: {
      ...(target.key !== null && { "x-api-key": target.key }),
      ...(hasBody && target.contentType !== "" && { "content-type": target.contentType }),
    },
    timeout: 15_000,
  });
  req.once("timeout", () => req.destroy(new Error("hang")));
  req.once("error", reject);
  req.once("response", (res) => {
    let text = "";
    res.on("data", (chunk: Buffer) => {
      if (text.length < 100_000) text += chunk;
    });
    // The feed has no end.
    if (endless(target.decl, res)) {
      resolve({ status: res.statusCode!, text });
      req.destroy();
    }
    res.once("end", () => resolve({ status: res.statusCode!, text }));
    res.once("error", reject);
  });
  req.end(hasBody ? target.body : undefined);
  return promise;
}

const LEAK =
  /\bat \S+ \(|node:internal|node_modules|\/packages\/gateway|\.ts:\d+|SQLITE_|TypeError|test-admin-key/;

describe("bad input", () => {
  it(`${REQUESTS} seeded requests over all routes: no 5xx, no hang, no leak [FUZZ-1, ERR-1, ERR-3]`, async () => {
    const shots = fc.sample(shot, { numRuns: REQUESTS, seed: SEED }).filter(({ decl }) => !spared(decl));
    const problems: string[] = [];
    const seen = new Map<number, number>();
    let next = 0;
    const worker = async () => {
      while (next < shots.length) {
        const target = shots[next++]!;
        const where = `${target.decl.method} ${target.path}${target.query} ${target.body?.slice(0, 200)}`;
        try {
          const { status, text } = await fire(target);
          seen.set(status, (seen.get(status) ?? 0) + 1);
          if (status >= 500) problems.push(`${status} ${where}: ${text.slice(0, 200)}`);
          if (LEAK.test(text) || text.includes(gateway.home))
            problems.push(`leak ${where}: ${text.slice(0, 300)}`);
          if (status >= 400 && status !== 416 && target.decl.method !== "GET") {
            const error = JSON.parse(text) as Record<string, unknown>;
            if (!error.code || !error.error || !error.request_id)
              problems.push(`shape ${where}: ${text.slice(0, 200)}`);
          }
        } catch (error) {
          problems.push(`${(error as Error).message} ${where}`);
        }
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
    expect(problems.slice(0, 20)).toEqual([]);
    expect([...seen.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(REQUESTS * 0.97);
    expect(seen.size).toBeGreaterThan(4);
    expect((await gateway.json("GET", "/health", { key: null })).status).toBe(200);
  }, 300_000);
});
