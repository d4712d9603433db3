import { GatewayError } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import { createTickets, type Principal } from "../../../packages/gateway/src/auth/index.ts";
import type { SocketEndpoint } from "../../../packages/gateway/src/http/upgrade.ts";
import { startTestServer, TEST_KEYS } from "../../fixtures/http-server.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

const PATH = "/api/v1/agents/assistant/live";

/** A server whose one socket route says what it was opened for, and repeats what it is told. */
async function rig() {
  const clock = manualClock();
  const tickets = createTickets(clock);
  const admitted: Principal[] = [];
  const route: SocketEndpoint = {
    decl: { path: "/api/v1/agents/:agentId/live", level: "admin", summary: "", maxMessageBytes: 1024 },
    tickets,
    async requireSession(_, sessionId) {
      if (sessionId !== "s") throw new GatewayError("SESSION_NOT_FOUND");
    },
    open(socket, { agentId, sessionId, principal }) {
      if (sessionId === "broken") throw new Error("a secret of the gateway");
      admitted.push(principal);
      socket.send(`${agentId} ${sessionId}`);
      socket.on("message", (data) => socket.send(String(data)));
    },
  };
  const server = await startTestServer({ sockets: [route], publicPath: "/gateway", clock });
  const base = `ws://127.0.0.1:${server.port}`;

  /** What became of a handshake: the first message, or the status and code of the refusal. */
  const dial = (path: string, headers: Record<string, string> = {}, more: ClientOptions = {}) =>
    new Promise<{ said?: string; refused?: [number, string]; socket: WebSocket }>((resolve, reject) => {
      const socket = new WebSocket(base + path, { headers, ...more });
      socket.once("message", (data) => resolve({ said: String(data), socket }));
      socket.once("unexpected-response", (_, response) => {
        let text = "";
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => resolve({ refused: [response.statusCode!, JSON.parse(text).code], socket }));
      });
      socket.on("error", reject);
    });
  const closing = (socket: WebSocket) =>
    new Promise<number>((resolve) => socket.once("close", (code) => resolve(code)));
  /** A principal as the server knows it, by a socket opened with its key. */
  const principal = async () => {
    const { socket } = await dial(`${PATH}?session=s`, { "x-api-key": "the-admin-key" });
    socket.terminate();
    return admitted.at(-1)!;
  };
  const issue = async (over: object = {}) =>
    tickets.issue({ principal: await principal(), agentId: "assistant", sessionId: "s", ...over }).ticket;
  return { server, clock, dial, closing, issue };
}

describe("a WebSocket route", () => {
  it.each([
    ["no key", undefined, [401, "API_KEY_MISSING"]],
    ["an unknown key", "nonsense", [403, "API_KEY_INVALID"]],
    ["a plain key", "the-plain-key", [403, "FORBIDDEN"]],
    ["a key that may write", "the-write-key", [403, "FORBIDDEN"]],
    ["a key for another agent", "the-other-key", [403, "FORBIDDEN"]],
    ["a key for all agents", "the-all-key", [403, "FORBIDDEN"]],
    ["an admin key", "the-admin-key", undefined],
  ] as const)("answers %s in a header as its level demands [WS-1]", async (_, key, refused) => {
    const { server, dial } = await rig();
    await using _server = server;
    const answer = await dial(`${PATH}?session=s`, key ? { "x-api-key": key } : {});
    expect(answer.refused).toEqual(refused);
    if (!refused) expect(answer.said).toBe("assistant s");
  });

  it("tells what is wrong before the upgrade [WS-3]", async () => {
    const { server, dial, issue } = await rig();
    await using _server = server;
    const admin = { "x-api-key": "the-admin-key" };
    const at = async (path: string, headers: Record<string, string> = admin) =>
      (await dial(path, headers)).refused;
    expect(await at(`${PATH}/more?session=s`)).toEqual([404, "NOT_FOUND"]);
    expect(await at("/api/v1/agents/nobody/live?session=s")).toEqual([404, "AGENT_NOT_FOUND"]);
    expect(await at(PATH)).toEqual([400, "INVALID_REQUEST"]);
    expect(await at(`${PATH}?session=other`)).toEqual([404, "SESSION_NOT_FOUND"]);
    expect(await at(`${PATH}?session=%E0%A4`)).toEqual([400, "INVALID_REQUEST"]);
    const ticket = await issue();
    expect(await at(`${PATH}?ticket=${ticket}`, { origin: "https://evil.example" })).toEqual([
      403,
      "FORBIDDEN",
    ]);
    expect(await at(`${PATH}?ticket=${ticket}`, { host: "evil.example" })).toEqual([403, "FORBIDDEN"]);
    // None of these used it up.
    expect((await dial(`/gateway${PATH}?ticket=${ticket}`)).said).toBe("assistant s");
    const { status, body } = await server.ask("GET", `${PATH}?session=s`, {
      headers: { ...admin, connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "7" },
    });
    expect([status, body.code]).toEqual([400, "INVALID_REQUEST"]);
  });

  it("takes no login by cookie, which a page sends wherever it connects to [WS-3]", async () => {
    const { server, dial } = await rig();
    await using _server = server;
    const login = await server.ask("POST", "/dashboard/session", { body: { key: "the-admin-key" } });
    const cookie = String(login.headers["set-cookie"]).split(";")[0]!;
    expect((await dial(`${PATH}?session=s`, { cookie })).refused).toEqual([401, "API_KEY_MISSING"]);
  });

  it("takes a ticket once, for its agent alone [WS-2]", async () => {
    const { server, dial, issue } = await rig();
    await using _server = server;
    const use = async (ticket: string, agent = "assistant") => {
      const { said, refused } = await dial(`/api/v1/agents/${agent}/live?ticket=${ticket}`);
      return said ?? refused;
    };
    const first = await issue({ sessionId: "its own" });
    expect(await Promise.all([use(first), use(first)]).then((both) => both.sort())).toEqual([
      [403, "FORBIDDEN"],
      "assistant its own",
    ]);
    const foreign = await issue();
    expect(await use(foreign, "second")).toEqual([403, "FORBIDDEN"]);
    expect(await use(foreign)).toEqual([403, "FORBIDDEN"]);
    expect(await use("")).toEqual([403, "FORBIDDEN"]);
    expect(await use("x".repeat(4000))).toEqual([403, "FORBIDDEN"]);
  });

  it("takes no ticket that is too old, or whose key is gone or lesser by now [WS-2]", async () => {
    const { server, clock, dial, issue } = await rig();
    await using _server = server;
    const use = async (ticket: string) => (await dial(`${PATH}?ticket=${ticket}`)).refused;
    const late = await issue();
    clock.advance(30_000);
    expect(await use(late)).toEqual([403, "FORBIDDEN"]);
    const kept = await issue();
    clock.advance(29_999);
    expect(await use(kept)).toBeUndefined();
    const [gone, lesser] = [await issue(), await issue()];
    server.reconfigure({ api: { keys: TEST_KEYS.slice(1), rateLimit: false } });
    expect(await use(gone)).toEqual([403, "API_KEY_INVALID"]);
    server.reconfigure({ api: { keys: [{ key: "the-admin-key", agents: "*" }], rateLimit: false } });
    expect(await use(lesser)).toEqual([403, "FORBIDDEN"]);
  });

  it("closes with 4401 when the right is gone: at once on a reload, else within 5 s [WS-4]", async () => {
    const { server, clock, dial, closing } = await rig();
    await using _server = server;
    const admin = { "x-api-key": "the-admin-key" };
    const { socket: one } = await dial(`${PATH}?session=s`, admin);
    const { socket: other } = await dial(`${PATH}?session=s`, admin);
    server.server.recheck();
    expect(one.readyState).toBe(WebSocket.OPEN);
    const ended = [closing(one), closing(other)];
    server.reconfigure({ api: { keys: TEST_KEYS.slice(1), rateLimit: false } });
    clock.advance(5000);
    expect(await Promise.all(ended)).toEqual([4401, 4401]);
  });

  it("ends with the login that it was opened with, as does a ticket [LOGIN-3]", async () => {
    const { server, dial, closing, issue } = await rig();
    await using _server = server;
    const cookieOf = async () => {
      const { headers } = await server.ask("POST", "/dashboard/login", { body: { key: "the-admin-key" } });
      return String(headers["set-cookie"]).split(";")[0]!;
    };
    const cookie = await cookieOf();
    const principal = server.sessions.check(cookie.split("=")[1]!)!;
    const { socket } = await dial(`${PATH}?ticket=${await issue({ principal })}`);
    const late = await issue({ principal });
    const code = closing(socket);
    await server.ask("POST", "/dashboard/logout", { headers: { cookie } });
    expect(await code).toBe(4401);
    // Not even where the same key has opened another login.
    await cookieOf();
    expect((await dial(`${PATH}?ticket=${late}`)).refused).toEqual([403, "API_KEY_INVALID"]);
  });

  it("closes with 1001 when the gateway stops, also under a peer that does not answer [WS-4]", async () => {
    const { server, clock, dial, closing } = await rig();
    const admin = { "x-api-key": "the-admin-key" };
    const { socket } = await dial(`${PATH}?session=s`, admin);
    const { socket: deaf } = await dial(`${PATH}?session=s`, admin);
    deaf.pause();
    const code = closing(socket);
    const stopped = server.server.close(60_000);
    expect(await code).toBe(1001);
    clock.advance(1000);
    await stopped;
    deaf.terminate();
  });

  it("bounds messages and sockets, and survives its own failure [WS-5]", async () => {
    const { server, dial, closing, issue } = await rig();
    await using _server = server;
    const admin = { "x-api-key": "the-admin-key" };
    const { socket } = await dial(`${PATH}?session=s`, admin);
    const code = closing(socket);
    socket.send("x".repeat(1025));
    expect(await code).toBe(1009);
    const broken = new WebSocket(
      `ws://127.0.0.1:${server.port}${PATH}?ticket=${await issue({ sessionId: "broken" })}`,
    );
    expect(await closing(broken)).toBe(1011);
    const dialled = await Promise.all(Array.from({ length: 60 }, () => dial(`${PATH}?session=s`, admin)));
    const open = dialled.filter(({ said }) => said !== undefined);
    expect(open.length).toBe(50);
    expect((await dial(`${PATH}?session=s`, admin)).refused).toEqual([429, "RATE_LIMITED"]);
    const left = closing(open[0]!.socket);
    open[0]!.socket.close();
    await left;
    await expect.poll(async () => (await dial(`${PATH}?session=s`, admin)).said).toBe("assistant s");
    for (const one of open) one.socket.terminate();
  });
});
