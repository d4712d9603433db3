import { Readable } from "node:stream";
import { GatewayError, routes } from "@agent-gateway/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { endpoint, json } from "../../../packages/gateway/src/http/index.ts";
import { parseQuery } from "../../../packages/gateway/src/http/query.ts";
import { dial } from "../../fixtures/dial.ts";
import { startTestServer } from "../../fixtures/http-server.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { until } from "../../harness.ts";

const HEAD = "Host: 127.0.0.1\r\nX-Api-Key: the-plain-key\r\nContent-Type: application/json\r\n";
const POST = `POST /api/v1/agents/assistant/sessions HTTP/1.1\r\n${HEAD}`;

describe("what is no HTTP", () => {
  it("gets a plain answer in the gateway's own shape [ERR-1]", async () => {
    await using server = await startTestServer();
    for (const [sent, status] of [
      ["garbage\r\n\r\n", 400],
      ["GET /health HTTP/1.1\r\n\r\n", 400],
      [`GET /health HTTP/1.1\r\nHost: x\r\nX-Big: ${"x".repeat(20_000)}\r\n\r\n`, 431],
      ["GET /health HTTP/1.0\r\n\r\n", 403],
      ["GET /health HTTP/1.1\r\nHost:\r\n\r\n", 403],
      [`${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`, 400],
      [`${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400],
      ["POST /api/v1/agents/a/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: other\r\n\r\n", 401],
      ["GET http://evil.example/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400],
      ["OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400],
    ] as const) {
      const { socket, gets, text } = await dial(server.port);
      socket.write(sent);
      await gets(`HTTP/1.1 ${status} `);
      await gets('"request_id"');
      expect(text()).not.toMatch(/at .*\.ts|node:internal/);
      socket.destroy();
    }
  });
});

describe("slow and vanished peers", () => {
  it("a JSON body that stops coming is given up after half a minute", async () => {
    const clock = manualClock();
    await using server = await startTestServer({ clock });
    const { socket, gets, closes } = await dial(server.port);
    socket.write(`${POST}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n`);
    await gets("HTTP/1.1 100");
    clock.advance(30_000);
    clock.advance(30_000);
    await gets("HTTP/1.1 408");
    clock.advance(30_000);
    await closes();
  });

  it("a body that is refused is not asked for", async () => {
    await using server = await startTestServer();
    const { socket, gets, text } = await dial(server.port);
    socket.write(
      "POST /api/v1/agents/assistant/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
        "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n",
    );
    await gets("HTTP/1.1 401");
    expect(text()).not.toContain("100 Continue");
    socket.destroy();
  });

  it("the handler's signal aborts when the client goes away, and only then", async () => {
    const aborted: string[] = [];
    let entered = 0;
    const waiting = endpoint(routes.getAgent, async ({ signal }) => {
      entered++;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      aborted.push("yes");
      throw new GatewayError("INTERNAL");
    });
    const kept: AbortSignal[] = [];
    const quick = endpoint(routes.listAgents, ({ signal }) => {
      kept.push(signal);
      return json({ agents: [] });
    });
    await using server = await startTestServer({ endpoints: [waiting, quick] });
    const { socket } = await dial(server.port);
    socket.write(`GET /api/v1/agents/assistant HTTP/1.1\r\n${HEAD}\r\n`);
    await until(() => entered === 1, "the handler to run");
    socket.destroy();
    await until(() => aborted.length === 1, "the signal");
    expect((await server.ask("GET", "/api/v1/agents", { key: "the-plain-key" })).status).toBe(200);
    expect(kept[0]?.aborted).toBe(false);
  });

  it("a stream that fails breaks the connection, so that nobody takes it for whole", async () => {
    const broken = endpoint(routes.exportHistory, () => ({
      status: 200,
      headers: { "Content-Type": "application/x-ndjson" },
      stream: Readable.from(
        (async function* () {
          yield "one\n";
          throw new Error("disk");
        })(),
      ),
    }));
    await using server = await startTestServer({ endpoints: [broken] });
    await expect(
      server.ask("GET", "/api/v1/agents/assistant/history/export", { key: "the-admin-key" }),
    ).rejects.toThrow();
    expect((await server.ask("GET", "/health")).status).toBe(200);
  });

  it("requests that come in one packet are answered in order", async () => {
    await using server = await startTestServer();
    const { socket, gets, text } = await dial(server.port);
    const body = '{"chat_id":"me"}';
    socket.write(
      `${POST}Content-Length: ${body.length}\r\n\r\n${body}GET /health HTTP/1.1\r\n${HEAD}\r\n` +
        `GET /nothing HTTP/1.1\r\n${HEAD}\r\n`,
    );
    await gets("NOT_FOUND");
    expect([...text().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      "201",
      "200",
      "404",
    ]);
    socket.destroy();
  });
});

describe("closing", () => {
  it("finishes what runs, closes idle connections and accepts nothing more", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let entered = false;
    const slow = endpoint(routes.listAgents, async () => {
      entered = true;
      await promise;
      return json({ agents: [] });
    });
    const server = await startTestServer({ endpoints: [slow] });
    const idle = await dial(server.port);
    const answer = server.ask("GET", "/api/v1/agents", { key: "the-plain-key" });
    await until(() => entered, "the handler to run");
    const closed = server.server.close(10_000);
    await expect(server.ask("GET", "/health")).rejects.toThrow();
    resolve();
    const { status, headers } = await answer;
    expect({ status, connection: headers.connection }).toEqual({ status: 200, connection: "close" });
    idle.socket.destroy();
    await closed;
  });

  it("cuts the rest off after the grace", async () => {
    const clock = manualClock();
    let entered = false;
    const endless = endpoint(routes.metrics, ({ res }) => {
      res.writeHead(200, { "Content-Type": "text/event-stream" });
      res.write(": on\n\n");
      entered = true;
      return { handled: true };
    });
    const server = await startTestServer({ clock, endpoints: [endless] });
    const { socket, closes } = await dial(server.port);
    socket.write("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: the-admin-key\r\n\r\n");
    await until(() => entered, "the stream");
    const closed = server.server.close(1_000);
    clock.advance(1_000);
    await closed;
    await closes();
  });
});

describe("whatever comes", () => {
  it("a query parses into its own fields or is refused as INVALID_REQUEST", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        try {
          expect(Object.getPrototypeOf(parseQuery(text))).toBeNull();
        } catch (error) {
          expect((error as GatewayError).code).toBe("INVALID_REQUEST");
        }
      }),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string({ unit: "grapheme" })), (fields) => {
        expect({ ...parseQuery(new URLSearchParams(fields).toString()) }).toEqual({ ...fields });
      }),
    );
  });

  it("is never a 5xx, and is always in the shape of an error [FUZZ-1]", async () => {
    await using server = await startTestServer();
    const printable = fc.string({ maxLength: 60 });
    const address = fc.oneof(
      printable,
      fc.constantFrom("/api/v1/agents/assistant/sessions", "/dashboard/login", "/health", "/dashboard/x"),
      printable.map((text) => `/api/v1/agents/assistant/chats/${encodeURIComponent(text)}/messages?${text}`),
      printable.map((text) => `/dashboard/${text}`),
    );
    const clean = (text: string) => text.replace(/[^\x21-\x7e]/g, "%");
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("GET", "POST", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "PUT"),
        address,
        fc.constantFrom("the-plain-key", "the-admin-key", "bad", ""),
        fc.oneof(printable, fc.json()),
        fc.constantFrom(
          "host",
          "origin",
          "cookie",
          "accept",
          "range",
          "content-type",
          "x-api-key",
          "x-other",
        ),
        printable,
        async (method, path, key, body, name, value) => {
          const answer = await server.ask(method, clean(path).replace(/^(?!\/)/, "/"), {
            key,
            body,
            headers: { [name]: value.replace(/[^\x20-\x7e]/g, "") },
          });
          expect(answer.status).toBeLessThan(500);
          if (answer.status >= 400 && method !== "HEAD" && !answer.text.startsWith("<!doctype")) {
            expect(answer.body).toMatchObject({ error: expect.any(String), code: expect.any(String) });
            expect(answer.body.request_id).toBe(answer.headers["x-request-id"]);
          }
        },
      ),
      { numRuns: 600, seed: 20_261_121 },
    );
  });
});
