import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";
import { GatewayError, route } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import { endpoint, type RequestContext } from "../../../packages/gateway/src/http/index.ts";
import { dial } from "../../fixtures/dial.ts";
import { startTestServer } from "../../fixtures/http-server.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { until } from "../../harness.ts";

const MIB = 1024 * 1024;
const handOn = (method: "GET" | "POST") =>
  route({
    method,
    path: "/out/*",
    auth: "none",
    summary: "",
    tag: "test",
    rawBody: "stream",
    rawReply: "stream",
    responses: { 200: null },
    errors: ["UPSTREAM_UNAVAILABLE"],
  });

/** A source behind a gateway that hands every request below `/out/` on to it. */
async function rig(source: (req: IncomingMessage, res: ServerResponse) => void) {
  const clock = manualClock();
  const upstream = createServer(source);
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const { port } = upstream.address() as AddressInfo;
  const forward = async ({ req, signal }: RequestContext) => {
    const unreachable = () => new GatewayError("UPSTREAM_UNAVAILABLE", "The source did not answer.");
    const outgoing = request({
      port,
      method: req.method!,
      path: req.url!.slice("/out".length),
      headers: req.headers,
      signal,
    });
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    outgoing.once("response", resolve);
    outgoing.on("error", () => reject(unreachable()));
    // The source may answer before it has any of the body.
    outgoing.flushHeaders();
    pipeline(req, outgoing, () => {});
    const response = await promise;
    response.on("aborted", () => response.destroy(unreachable()));
    return {
      status: response.statusCode!,
      headers: response.headers as Record<string, string | string[]>,
      stream: response,
      live: true,
    } as const;
  };
  const server = await startTestServer({
    clock,
    endpoints: [endpoint(handOn("GET"), forward), endpoint(handOn("POST"), forward)],
  });
  return {
    clock,
    server,
    port: server.port,
    async [Symbol.asyncDispose]() {
      upstream.closeAllConnections();
      upstream.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Sends `total` random bytes as the other side takes them; resolves to their hash. */
async function pour(out: NodeJS.WritableStream, total: number): Promise<string> {
  const hash = createHash("sha256");
  const chunk = randomBytes(MIB);
  for (let sent = 0; sent < total; sent += chunk.length) {
    chunk.writeUInt32BE(sent, 0);
    const piece = Buffer.from(chunk);
    hash.update(piece);
    if (!out.write(piece)) await once(out, "drain");
  }
  out.end();
  return hash.digest("hex");
}

async function hashOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of stream) hash.update(chunk);
  return hash.digest("hex");
}

const open = (port: number, path: string, headers: Record<string, string> = {}) => {
  const outgoing = request({ port, method: "POST", path, headers, agent: false });
  outgoing.on("error", () => {});
  return outgoing;
};

describe("a route that hands bodies on", () => {
  it("takes and gives any amount, in both directions at once [PROXY-1]", async () => {
    await using proxy = await rig((req, res) => {
      res.writeHead(200);
      res.flushHeaders();
      req.pipe(res);
    });
    const outgoing = open(proxy.port, "/out/echo");
    outgoing.flushHeaders();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    const [sent, received] = await Promise.all([pour(outgoing, 64 * MIB), hashOf(response)]);
    expect(received).toBe(sent);
  });

  it("passes a type and an encoding that no other route takes [PROXY-1]", async () => {
    await using proxy = await rig((req, res) => {
      res.writeHead(200, { "content-encoding": req.headers["content-encoding"] });
      req.pipe(res);
    });
    const outgoing = open(proxy.port, "/out/", { "content-type": "x/y", "content-encoding": "zstd" });
    outgoing.end("no zstd at all");
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    expect(response.headers["content-encoding"]).toBe("zstd");
    let text = "";
    for await (const chunk of response) text += chunk;
    expect(text).toBe("no zstd at all");
  });

  it("waits with the client while the source takes nothing, and with the source while the client does [PROXY-1]", async () => {
    let held: IncomingMessage | undefined;
    let given = 0;
    await using proxy = await rig((req, res) => {
      if (req.url === "/up") {
        held = req.pause();
        return;
      }
      res.writeHead(200);
      const piece = Buffer.alloc(MIB);
      const give = () => {
        while (res.write(piece)) given++;
        given++;
        res.once("drain", give);
      };
      give();
    });
    const up = open(proxy.port, "/out/up");
    const sending = pour(up, 1024 * MIB).catch(() => {});
    await until(() => held !== undefined && up.writableLength > 0, "the upload to be held up");
    const down = await dial(proxy.port);
    down.socket.pause();
    down.socket.write("GET /out/down HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    await until(() => proxy.server.server.connections().waiting > 0, "the download to be held up");
    // Both stand still with what sockets hold, far from what the peers would send.
    const { received } = proxy.server.server.connections();
    const before = given;
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(proxy.server.server.connections().received).toBe(received);
    expect(given).toBe(before);
    expect(received).toBeLessThan(64 * MIB);
    expect(given).toBeLessThan(64);
    up.destroy();
    down.socket.destroy();
    await sending;
  });

  it("sends the head at once, with the headers of the source alone [PROXY-2]", async () => {
    let answer: ServerResponse | undefined;
    await using proxy = await rig((_, res) => {
      answer = res;
      res.sendDate = false;
      res.writeHead(203, {
        "set-cookie": ["a=1", "b=2"],
        "content-type": "text/event-stream",
        "x-own": "yes",
      });
      res.flushHeaders();
    });
    const reader = await dial(proxy.port);
    reader.socket.write("GET /out/live?x=%20y HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    await reader.gets("\r\n\r\n");
    expect(reader.text()).toMatch(/^HTTP\/1\.1 203 /);
    expect(reader.text().toLowerCase()).toContain("set-cookie: a=1\r\nset-cookie: b=2\r\n");
    expect(reader.text()).toMatch(/x-request-id: [\w-]{36}/);
    expect(reader.text().toLowerCase()).not.toMatch(/content-security-policy|cache-control|nosniff/);
    answer!.write("data: 1\n\n");
    await reader.gets("data: 1\n\n");
    // It may last: nothing has to come for hours.
    proxy.clock.advance(6 * 3_600_000);
    answer!.end("data: 2\n\n");
    await reader.gets("data: 2\n\n");
    reader.socket.destroy();
  });

  it("ends the exchange with the source when the client leaves [PROXY-3]", async () => {
    const ended: string[] = [];
    const begun: string[] = [];
    await using proxy = await rig((req, res) => {
      begun.push(req.url!);
      res.on("close", () => ended.push(req.url!));
      req.on("error", () => {}).resume();
      if (req.url !== "/body") res.writeHead(200).write("some");
    });
    const body = open(proxy.port, "/out/body");
    body.write("some");
    const reply = open(proxy.port, "/out/reply");
    reply.end();
    const [response] = (await once(reply, "response")) as [IncomingMessage];
    response.on("error", () => {}).resume();
    await until(() => begun.length === 2, "both to reach the source");
    body.destroy();
    reply.destroy();
    await until(() => ended.length === 2, "both to end there");
  });

  it("breaks the connection when the source dies, or says that it did not answer [PROXY-3]", async () => {
    await using proxy = await rig((req, res) => {
      if (req.url === "/silent") {
        res.destroy();
        return;
      }
      res.writeHead(200, { "content-length": "100" });
      res.write("some", () => res.destroy());
    });
    const silent = await proxy.server.ask("GET", "/out/silent");
    expect([silent.status, silent.body.code]).toEqual([502, "UPSTREAM_UNAVAILABLE"]);
    expect(silent.headers["content-security-policy"]).toBeDefined();
    await expect(proxy.server.ask("GET", "/out/half")).rejects.toThrow();
    expect((await proxy.server.ask("GET", "/health")).status).toBe(200);
  });

  it("waits for a slow body, but not for the rest of one that nobody reads [PROXY-4]", async () => {
    const taken: string[] = [];
    await using proxy = await rig((req, res) => {
      if (req.url === "/refuse") {
        res.writeHead(413).end("too much");
        return;
      }
      req.on("data", (chunk) => taken.push(String(chunk)));
      req.on("end", () => res.end("done"));
    });
    const POST = "HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n";
    const slow = await dial(proxy.port);
    slow.socket.write(`POST /out/slow ${POST}a`);
    await until(() => taken.length === 1, "the first byte to arrive");
    proxy.clock.advance(6 * 3_600_000);
    slow.socket.write("b");
    await slow.gets("done");
    slow.socket.destroy();

    const refused = await dial(proxy.port);
    refused.socket.write(`POST /out/refuse ${POST}a`);
    await refused.gets("too much");
    proxy.clock.advance(30_000);
    await refused.closes();
    await until(() => proxy.server.server.connections().open === 0, "the connection to be gone");
  });
});
