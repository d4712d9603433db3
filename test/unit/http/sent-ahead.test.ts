import { routes } from "@agent-gateway/contract";
import { expect, it } from "vitest";
import { endpoint, json } from "../../../packages/gateway/src/http/index.ts";
import { dial } from "../../fixtures/dial.ts";
import { startTestServer } from "../../fixtures/http-server.ts";
import { until } from "../../harness.ts";

const get = (path: string, more = "") =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: the-admin-key\r\n${more}\r\n`;

/** A server whose lists of agents are answered on demand. */
async function slowServer() {
  const waiting: Array<PromiseWithResolvers<void>> = [];
  const slow = endpoint(routes.listAgents, async () => {
    const mine = Promise.withResolvers<void>();
    waiting.push(mine);
    await mine.promise;
    return json({ agents: [] });
  });
  return { waiting, server: await startTestServer({ endpoints: [slow] }) };
}

it("requests that are sent ahead run one after another, and their replies come in order [STALL-2]", async () => {
  const { server, waiting } = await slowServer();
  await using _server = server;
  const peer = await dial(server.port);
  peer.socket.write(get("/api/v1/agents").repeat(3) + get("/health"));
  for (let n = 1; n <= 3; n++) {
    await until(() => waiting.length === n, `request ${n}`);
    expect(peer.text().split("HTTP/1.1 200").length).toBe(n);
    waiting.at(-1)!.resolve();
  }
  await peer.gets('"status":"ok"');
  peer.socket.destroy();
});

it("requests that wait on a connection that breaks never run [STALL-2]", async () => {
  const { server, waiting } = await slowServer();
  await using _server = server;
  const peer = await dial(server.port);
  peer.socket.write(get("/api/v1/agents").repeat(2));
  await until(() => waiting.length === 1, "the first request");
  peer.socket.resetAndDestroy();
  await until(() => server.server.connections().open === 0, "the connection to be gone");
  waiting[0]!.resolve();
  const next = await dial(server.port);
  next.socket.write(get("/health"));
  await next.gets('"status":"ok"');
  expect(waiting.length).toBe(1);
  next.socket.destroy();
});

it("a connection on which too many requests wait is closed [STALL-2]", async () => {
  const { server, waiting } = await slowServer();
  await using _server = server;
  const [much, less] = [await dial(server.port), await dial(server.port)];
  less.socket.write(get("/api/v1/agents") + get("/health").repeat(32));
  much.socket.write(get("/api/v1/agents") + get("/health").repeat(33));
  await much.closes();
  await until(() => waiting.length === 2, "both requests");
  for (const one of waiting) one.resolve();
  await until(() => less.text().split("HTTP/1.1 200").length === 34, "all replies");
  less.socket.destroy();
});

it("while one key's clients do not read what they asked for, that key gets 429 and others are served [STALL-3]", async () => {
  const large = endpoint(routes.listAgents, () =>
    json({ agents: [{ id: "x".repeat(16 * 1024 * 1024) }] as never }),
  );
  await using server = await startTestServer({ endpoints: [large] });
  const readers = await Promise.all(Array.from({ length: 8 }, () => dial(server.port)));
  for (const { socket } of readers) {
    socket.pause();
    socket.write(get("/api/v1/agents"));
  }
  await until(() => server.server.connections().waiting >= 4, "replies to be held up");
  const ask = async (key: string) => {
    const peer = await dial(server.port);
    peer.socket.write(get("/api/v1/agents", "Connection: close\r\n").replace("the-admin-key", key));
    await peer.gets("\r\n\r\n");
    peer.socket.destroy();
    return peer.text();
  };
  const refused = await ask("the-admin-key");
  expect(refused).toMatch(/^HTTP\/1\.1 429 /);
  expect(refused).toContain("RATE_LIMITED");
  expect(refused.toLowerCase()).toContain("retry-after: 1");
  expect(await ask("the-all-key")).toMatch(/^HTTP\/1\.1 200 /);
  for (const { socket } of readers) socket.destroy();
  await until(() => server.server.connections().open === 0, "the connections to end");
  expect(await ask("the-admin-key")).toMatch(/^HTTP\/1\.1 200 /);
});
