import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { routes } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import { endpoint, json } from "../../../packages/gateway/src/http/index.ts";
import { sendFile } from "../../../packages/gateway/src/http/send-file.ts";
import { dial } from "../../fixtures/dial.ts";
import { startTestServer } from "../../fixtures/http-server.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";
import { until } from "../../harness.ts";

const HEAD = "Host: 127.0.0.1\r\nX-Api-Key: the-admin-key\r\n";
/** More than the sockets of both sides can hold. */
const HUGE = 64 * 1024 * 1024;

/** A server with one large reply of each kind. */
async function largeReplies() {
  const clock = manualClock();
  const path = join(await tempFolder(), "large.bin");
  await writeFile(path, "");
  const handle = await open(path, "r+");
  await handle.truncate(HUGE);
  await handle.close();
  let closed = 0;
  const file = endpoint(routes.getMedia, async ({ req }) => {
    const opened = await open(path, "r");
    const stats = await opened.stat();
    const close = opened.close.bind(opened);
    opened.close = () => {
      closed++;
      return close();
    };
    return sendFile(req, { handle: opened, stats, path, type: { mime: "image/png", ext: "png" } });
  });
  const large = endpoint(routes.listAgents, () => json({ agents: [{ id: "x".repeat(HUGE) }] as never }));
  const server = await startTestServer({ clock, endpoints: [file, large] });
  return { clock, server, closed: () => closed };
}

describe("a reader that stops reading", () => {
  for (const path of ["/api/v1/agents/assistant/media/large.bin", "/api/v1/agents"]) {
    it(`loses its connection after a minute, not before: ${path} [EDGE-1]`, async () => {
      const { clock, server, closed } = await largeReplies();
      await using _server = server;
      const reader = await dial(server.port);
      reader.socket.pause();
      reader.socket.write(`GET ${path} HTTP/1.1\r\n${HEAD}\r\n`);
      await until(() => server.server.connections().waiting > 0, "the reply to be held up");
      clock.advance(45_000);
      // What a stalled reader sends of its own changes nothing.
      reader.socket.write("GET /health HTTP/1.1\r\n");
      clock.advance(10_000);
      expect(server.server.connections().open).toBe(1);
      clock.advance(35_000);
      await until(() => server.server.connections().open === 0, "the connection to be cut");
      if (path.includes("media")) await until(() => closed() === 1, "the file to be closed");
    });
  }

  it("keeps its connection while it takes a little now and then [EDGE-1]", async () => {
    const { clock, server } = await largeReplies();
    await using _server = server;
    const reader = await dial(server.port);
    reader.socket.pause();
    reader.socket.write(`GET /api/v1/agents/assistant/media/large.bin HTTP/1.1\r\n${HEAD}\r\n`);
    await until(() => server.server.connections().waiting > 0, "the reply to be held up");
    for (let minute = 0; minute < 3; minute++) {
      const before = reader.socket.bytesRead;
      reader.socket.resume();
      await until(() => reader.socket.bytesRead > before + 8 * 1024 * 1024, "some of it");
      reader.socket.pause();
      clock.advance(50_000);
    }
    expect(server.server.connections().open).toBe(1);
    reader.socket.destroy();
  });
});

describe("a body that trickles in", () => {
  const upload = endpoint(routes.uploadMedia, async ({ req }) => {
    for await (const _chunk of req);
    return json({ mediaPath: "2026-01/x.png" });
  });
  const POST = `POST /api/v1/agents/assistant/media HTTP/1.1\r\n${HEAD}Content-Length: 20000000\r\n\r\n`;

  it("is answered 408 when next to nothing comes, and its connection ends [EDGE-2]", async () => {
    const clock = manualClock();
    await using server = await startTestServer({ clock, endpoints: [upload] });
    const peer = await dial(server.port);
    let seen = 0;
    const written = async (text: string) => {
      peer.socket.write(text);
      seen += text.length;
      await until(() => server.server.connections().received >= seen, "the bytes to arrive");
    };
    await written(POST);
    await written("x".repeat(20_000));
    clock.advance(30_000);
    await written("x".repeat(20_000));
    clock.advance(30_000);
    expect(peer.text()).toBe("");
    await written("x");
    clock.advance(30_000);
    await peer.gets("HTTP/1.1 408");
    await peer.closes();
  });

  it("of limited size has a limited time, however evenly it comes [EDGE-2]", async () => {
    const clock = manualClock();
    await using server = await startTestServer({ clock, endpoints: [upload] });
    const peer = await dial(server.port);
    let seen = POST.length;
    peer.socket.write(POST);
    for (let look = 0; look < 30; look++) {
      expect(peer.text()).toBe("");
      peer.socket.write("x".repeat(20_000));
      seen += 20_000;
      await until(() => server.server.connections().received >= seen, "the bytes to arrive");
      clock.advance(30_000);
    }
    await peer.gets("HTTP/1.1 408");
  });
});

describe("too many connections", () => {
  it("one more than gateway.maxConnections is answered 503 and closed; one that ends makes room [EDGE-3]", async () => {
    await using server = await startTestServer({ gateway: { maxConnections: 3 } });
    const health = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    const held = [await dial(server.port), await dial(server.port), await dial(server.port)];
    const refused = await dial(server.port);
    refused.socket.write(health);
    await refused.gets("HTTP/1.1 503");
    expect(refused.text()).toContain('"code":"CAPACITY"');
    expect(refused.text()).not.toContain('"status":"ok"');
    await refused.closes();
    held[0]?.socket.destroy();
    await until(() => server.server.connections().open < 3, "the place");
    const next = await dial(server.port);
    next.socket.write(health);
    await next.gets("HTTP/1.1 200");
    for (const { socket } of [...held, next]) socket.destroy();
  });
});

describe("headers that decide who and where", () => {
  for (const twice of [
    "Host: 127.0.0.1",
    "X-Api-Key: the-admin-key",
    "Authorization: Bearer the-admin-key",
  ]) {
    it(`are 400 when given twice: ${twice.split(":")[0]} [EDGE-6]`, async () => {
      await using server = await startTestServer();
      const peer = await dial(server.port);
      const host = twice.startsWith("Host") ? "" : "Host: 127.0.0.1\r\n";
      peer.socket.write(
        `GET /api/v1/agents/sessions HTTP/1.1\r\n${host}${twice}\r\n${twice.toUpperCase()}\r\n\r\n`,
      );
      await peer.gets("HTTP/1.1 400");
      expect(peer.text()).toContain("more than one");
      peer.socket.destroy();
    });
  }
});
