import { access } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  alive,
  type Gateway,
  inTerminal,
  KEYS,
  put,
  readFrames,
  startGateway,
  testConfig,
  until,
} from "./harness.ts";

const BASE = "/api/v1/agents/assistant";
let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ session: { maxConcurrent: 100 } });
});
afterAll(() => gateway[Symbol.asyncDispose]());

const create = async (chat: string, extra = {}) =>
  gateway.json("POST", `${BASE}/sessions`, { body: { chat_id: chat, ...extra } });
const act = (id: unknown, verb: string, chat: string) =>
  gateway.json("POST", `${BASE}/sessions/${id}/${verb}`, { body: { chat_id: chat } });
const info = (id: unknown, chat: string) =>
  gateway.json("GET", `${BASE}/sessions/${id}/info?chat_id=${chat}`);
const run = async (server: Gateway, message: string, id: unknown, chat = "me") =>
  (await server.send(message, { chat_id: chat, session_id: id })).body.response as string;
const running = async (id: string, chat: string, message = "SLOW 100 50") => {
  const body = { message, chat_id: chat, session_id: id, stream: true };
  const response = await gateway.request("POST", `${BASE}/messages`, { body });
  const frames = readFrames(response);
  await frames.next();
  return frames;
};

describe("sessions", () => {
  it("are created with a given, generated or placeholder name [SES-2, SES-10]", async () => {
    const named = await create("names", { name: "Mine", prompt: "ignored" });
    expect(named.status).toBe(201);
    expect(named.body).toMatchObject({ sessionName: "Mine", createdAt: expect.any(Number) });
    expect((await create("names", { prompt: "Plan a trip to Rome\nplease" })).body.sessionName).toBe(
      "Plan a trip to Rome",
    );
    const blank = await create("names");
    expect(blank.body.sessionName).toBeTypeOf("string");
    await run(gateway, "What is the capital of Laos?", blank.body.sessionId, "names");
    expect((await info(blank.body.sessionId, "names")).body.sessionName).toBe("What is the capital of Laos?");
  });

  it("are listed and described per chat [SES-1, SES-3]", async () => {
    const { body } = await create("listed");
    await run(gateway, "hello", body.sessionId, "listed");
    const list = await gateway.json("GET", `${BASE}/sessions?chat_id=listed`);
    expect(list.body.sessions).toEqual([
      { id: body.sessionId, name: "hello", createdAt: expect.any(Number), lastActivity: expect.any(Number) },
    ]);
    expect((await info(body.sessionId, "listed")).body).toMatchObject({
      sessionId: body.sessionId,
      sessionName: "hello",
      messageCount: 2,
      contextPercent: expect.any(Number),
      createdAt: expect.any(Number),
      lastActivity: expect.any(Number),
    });
    const missing = await info(body.sessionId, "other-chat");
    expect([missing.status, missing.body.code]).toEqual([404, "SESSION_NOT_FOUND"]);
  });

  it("are renamed by either field, session_name first [SES-4]", async () => {
    const { body } = await create("rename");
    const path = `${BASE}/sessions/${body.sessionId}`;
    const patch = (extra: object) => gateway.json("PATCH", path, { body: { chat_id: "rename", ...extra } });
    expect((await patch({ sessionName: "B" })).body).toEqual({ sessionId: body.sessionId, sessionName: "B" });
    expect((await patch({ sessionName: "B", session_name: "A" })).body.sessionName).toBe("A");
    expect((await patch({})).status).toBe(400);
    expect((await patch({ session_name: "  " })).status).toBe(400);
  });

  it("need the chat_id everywhere [SES-9]", async () => {
    const { body } = await create("need");
    const one = `${BASE}/sessions/${body.sessionId}`;
    const calls: Array<[string, string]> = [
      ["GET", `${BASE}/sessions`],
      ["POST", `${BASE}/sessions`],
      ["GET", `${one}/info`],
      ["PATCH", one],
      ["DELETE", one],
      ["POST", `${one}/clear`],
      ["POST", `${one}/compact`],
      ["POST", `${one}/stop`],
      ["POST", `${one}/restart`],
      ["GET", `${one}/stream`],
    ];
    for (const [method, path] of calls) {
      const reply = await gateway.json(
        method,
        path,
        method === "GET" || method === "DELETE" ? {} : { body: { session_name: "x" } },
      );
      expect([reply.status, reply.body.code], `${method} ${path}`).toEqual([400, "INVALID_CHAT_ID"]);
    }
  });

  it("are deleted with what they hold, also while busy [SES-5]", async () => {
    const { body } = await create("gone");
    const id = body.sessionId as string;
    const frames = await running(id, "gone");
    const response = await gateway.request("DELETE", `${BASE}/sessions/${id}?chat_id=gone`);
    expect([response.status, await response.text()]).toEqual([204, ""]);
    for await (const frame of frames) expect(frame.data.type).not.toBe("error");
    expect((await info(id, "gone")).status).toBe(404);
    expect((await gateway.send("hi", { chat_id: "gone", session_id: id })).status).toBe(404);
  });

  it("forget everything on clear, and refuse it while busy [SES-6]", async () => {
    const { body } = await create("clear");
    const id = body.sessionId as string;
    await run(gateway, "remember me", id, "clear");
    expect((await act(id, "clear", "clear")).body).toEqual({ cleared: true, sessionId: id });
    expect((await info(id, "clear")).body.messageCount).toBe(0);
    expect(await run(gateway, "HISTORY", id, "clear")).not.toContain("remember me");
    const frames = await running(id, "clear");
    const busy = await act(id, "clear", "clear");
    expect([busy.status, busy.body.code]).toEqual([409, "SESSION_BUSY"]);
    await act(id, "stop", "clear");
    for await (const frame of frames) expect(frame.data.type).not.toBe("error");
  });

  it("are compacted: the older part is summarised, all stays in history [SES-7]", async () => {
    const { body } = await create("compact");
    const id = body.sessionId as string;
    await run(gateway, "one", id, "compact");
    expect((await act(id, "compact", "compact")).body).toEqual({
      success: true,
      keptMessages: 2,
      archivedMessages: 0,
    });
    for (let turn = 0; turn < 8; turn++) await run(gateway, `message ${turn}`, id, "compact");
    const done = (await act(id, "compact", "compact")).body;
    expect(done.success).toBe(true);
    expect((done.keptMessages as number) + (done.archivedMessages as number)).toBe(18);
    expect(done.archivedMessages).toBeGreaterThan(0);
    const told = await run(gateway, "HISTORY", id, "compact");
    expect(told).not.toContain("message 0");
    expect(told).toContain("message 7");
    const page = await gateway.json("GET", `${BASE}/chats/api-compact/messages`);
    expect((page.body.messages as unknown[]).length).toBe(20);
  });

  it("restart with another process that knows the history [SES-8, SES-13]", async () => {
    const { body } = await create("restart");
    const id = body.sessionId as string;
    const before = Number(await run(gateway, "PID", id, "restart"));
    expect((await act(id, "restart", "restart")).body).toEqual({ restarting: true });
    await until(() => !alive(before), "the old process to be gone");
    const after = Number(await run(gateway, "PID", id, "restart"));
    expect(after).not.toBe(before);
    expect(await run(gateway, "HISTORY", id, "restart")).toContain(String(before));
  });

  it("report the model and context use of the latest turn [SES-14]", async () => {
    const { body } = await create("model");
    await run(gateway, "hello", body.sessionId, "model");
    const { body: all } = await gateway.json("GET", "/api/v1/agents/sessions");
    const record = (all.agents as Array<{ sessions: Array<Record<string, unknown>> }>)
      .flatMap((agent) => agent.sessions)
      .find((session) => session.sessionId === body.sessionId)!;
    expect(record.model).toBeTypeOf("string");
    expect((await info(body.sessionId, "model")).body.contextPercent).toBeGreaterThan(0);
  });
});

describe("processes", () => {
  it("end when idle, and the history comes back with the next message [SES-11]", async () => {
    await using own = await startGateway({ session: { idleTimeoutMinutes: 0.01 }, agentArgs: ["--dumb"] });
    const first = await own.send("PID");
    const pid = Number(first.body.response);
    await until(() => !alive(pid), "the idle process to be gone", 8000);
    expect(await run(own, "HISTORY", first.body.session_id)).toContain(String(pid));
  });

  it("take up the agent program's own session where it holds the same conversation [SES-11, SES-13]", async () => {
    await using own = await startGateway({ session: { idleTimeoutMinutes: 0.01 } });
    const first = await own.send("PID");
    await until(() => !alive(Number(first.body.response)), "the idle process to be gone", 8000);
    expect(await run(own, "ARGV", first.body.session_id)).toContain("--resume");
  });

  it("are bounded per agent: the oldest idle one goes, a busy one never [SES-12]", async () => {
    await using own = await startGateway({ session: { maxConcurrent: 2 } });
    const pids: number[] = [];
    for (const chat of ["a", "b", "c"])
      pids.push(Number((await own.send("PID", { chat_id: chat })).body.response));
    await until(() => !alive(pids[0]!), "the oldest to be evicted");
    expect([alive(pids[1]!), alive(pids[2]!)]).toEqual([true, true]);
    const busy = ["x", "y"].map((chat) => own.send("SLOW 20 100", { chat_id: chat }));
    await until(async () => {
      const { body } = await own.json("GET", "/status");
      const [agent] = body.agents as Array<{ sessions: Array<{ busy: boolean }> }>;
      return agent!.sessions.filter((session) => session.busy).length === 2;
    }, "two busy sessions");
    const refused = await own.send("hello", { chat_id: "z" });
    expect([refused.status, refused.body.code]).toEqual([503, "CAPACITY"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    for (const reply of await Promise.all(busy)) expect(reply.status).toBe(200);
  });

  it("get no history and do not resume with maxHistoryMessages 0 [SES-13]", async () => {
    await using own = await startGateway({ gateway: { history: { maxHistoryMessages: 0 } } });
    const first = await own.send("secret word");
    const id = first.body.session_id;
    await own.json("POST", `${BASE}/sessions/${id}/restart`, { body: { chat_id: "me" } });
    expect(await run(own, "HISTORY", id)).not.toContain("secret word");
    expect(await run(own, "ARGV", id)).not.toContain("--resume");
  });

  it("leave none behind when the gateway is killed [SES-15]", async () => {
    const own = await startGateway();
    try {
      const pid = Number((await own.send("PID")).body.response);
      const fork = await own.send("FORK", { chat_id: "fork" });
      const grandchild = Number(/\d+/.exec(fork.body.response as string)![0]);
      expect([alive(pid), alive(grandchild)]).toEqual([true, true]);
      await own.kill();
      await using next = await startGateway({ home: own.home });
      await until(() => !alive(pid) && !alive(grandchild), "all children to be gone");
      expect((await next.send("hello")).status).toBe(200);
    } finally {
      await own[Symbol.asyncDispose]();
    }
  });

  it("can be ready before a new session needs one [SES-17]", async () => {
    await using own = await startGateway({ session: { warmSpares: 1 }, agentArgs: ["--slow-start", "1500"] });
    const first = await own.send("hello");
    expect(first.status).toBe(200);
    const started = Date.now();
    await until(
      async () => {
        const began = Date.now();
        await own.send("hello", { chat_id: `new-${began}` });
        return Date.now() - began < 700;
      },
      "a session that does not wait for a start",
      20_000,
    );
    expect(Date.now() - started).toBeLessThan(20_000);
  });
});

describe("slash commands", () => {
  it("answer one JSON object and count nowhere as messages [CMD-1, CMD-2]", async () => {
    const first = await gateway.send("hello", { chat_id: "cmd" });
    const id = first.body.session_id;
    const command = async (message: string, extra = {}) =>
      (await gateway.send(message, { chat_id: "cmd", session_id: id, ...extra })).body;
    expect(await command("/session", { stream: true })).toEqual({
      command: "/session",
      session_id: id,
      result: { name: "hello", messageCount: 2, contextPercent: expect.any(Number) },
    });
    expect((await command("/stop")).result).toEqual({ stopped: false });
    expect((await command("/compact")).result).toEqual({
      success: true,
      keptMessages: 2,
      archivedMessages: 0,
    });
    expect((await command("/restart")).result).toEqual({ restarting: true });
    expect((await command("/clear")).result).toEqual({ cleared: true });
    expect(((await command("/session")).result as { messageCount: number }).messageCount).toBe(0);
  });

  it("act on the chat's latest session, 404 when there is none [CMD-4]", async () => {
    const { status, body } = await gateway.send("/session", { chat_id: "empty-chat" });
    expect([status, body.code]).toEqual([404, "SESSION_NOT_FOUND"]);
    await gateway.send("one", { chat_id: "latest" });
    const second = await gateway.send("two", { chat_id: "latest" });
    expect((await gateway.send("/SESSION", { chat_id: "latest" })).body.session_id).toBe(
      second.body.session_id,
    );
  });

  it("unknown ones are refused with the list, other text with a slash is a message [CMD-3]", async () => {
    const { status, body } = await gateway.send("/unknown thing");
    expect([status, body.code]).toEqual([400, "UNKNOWN_COMMAND"]);
    expect(body.error).toContain("/compact");
    expect((await gateway.send("/etc/hosts is a file")).body.response).toContain("/etc/hosts");
    expect((await gateway.send("/1 first")).status).toBe(200);
  });

  it.skipIf(inTerminal)("work on a busy session, except clear and compact [CMD-5]", async () => {
    const { body } = await create("busy-cmd");
    const id = body.sessionId as string;
    const frames = await running(id, "busy-cmd");
    const command = (message: string) => gateway.send(message, { chat_id: "busy-cmd", session_id: id });
    expect((await command("/session")).status).toBe(200);
    for (const message of ["/clear", "/compact"]) {
      const refused = await command(message);
      expect([refused.status, refused.body.code]).toEqual([409, "SESSION_BUSY"]);
    }
    expect((await command("/stop")).body.result).toEqual({ stopped: true });
    for await (const frame of frames) expect(frame.data.type).not.toBe("error");
  });

  it("/model changes this session's model alone [CMD-6]", async () => {
    const models = ["alpha", "beta"].map((id) => ({
      id,
      name: id,
      alias: id[0],
      contextWindow: 1000,
      multiplier: 1,
    }));
    await using own = await startGateway({ gateway: { models } });
    const first = await own.send("MODEL", { chat_id: "m" });
    const id = first.body.session_id;
    const shown = (await own.send("/model", { chat_id: "m", session_id: id })).body.result as Record<
      string,
      unknown
    >;
    expect((shown.models as unknown[]).length).toBe(2);
    const chosen = await own.send("/model b", { chat_id: "m", session_id: id });
    expect(chosen.body.result).toEqual({ model: "beta" });
    expect(await run(own, "MODEL", id, "m")).toContain("beta");
    expect((await own.send("MODEL", { chat_id: "m" })).body.response).not.toContain("beta");
    expect((await own.send("/model nope", { chat_id: "m", session_id: id })).status).toBe(400);
  });

  it("are listed [CMD-7]", async () => {
    const { body } = await gateway.json("GET", "/api/v1/commands", { key: KEYS.plain });
    const names = (body.commands as Array<{ name: string }>).map((command) => command.name);
    expect(names).toEqual(["/session", "/clear", "/compact", "/stop", "/restart", "/model"]);
  });
});

describe("the greeting", () => {
  const greet = (id: unknown, chat: string, key: string = KEYS.write) =>
    gateway.request("POST", `${BASE}/greeting`, { key, body: { chat_id: chat, session_id: id } });
  const file = () => put(gateway.home, "agents/assistant/workspace/GREETING.md", "SAY welcome");
  const exists = () =>
    access(join(gateway.home, "agents/assistant/workspace/GREETING.md")).then(
      () => true,
      () => false,
    );

  it("is a hidden one-shot prompt [GREET-1, GREET-2]", async () => {
    const { body } = await create("greet");
    expect((await greet(body.sessionId, "greet")).status).toBe(204);
    await file();
    const response = await greet(body.sessionId, "greet");
    expect(response.status).toBe(200);
    expect(await exists()).toBe(false);
    const text = await response.text();
    expect(text).toContain("welcome");
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    const page = await gateway.json("GET", `${BASE}/chats/api-greet/messages`);
    expect(page.body.messages).toMatchObject([{ role: "assistant", content: "welcome" }]);
    expect((await greet(body.sessionId, "greet")).status).toBe(204);
    await file();
    expect((await greet(body.sessionId, "greet")).status).toBe(200);
  });

  it("keeps its file when it is refused [GREET-3]", async () => {
    await file();
    const { body } = await create("refuse");
    expect((await greet("unknown", "refuse")).status).toBe(404);
    expect((await greet(body.sessionId, "refuse", KEYS.plain)).status).toBe(403);
    const frames = await running(body.sessionId as string, "refuse");
    expect((await greet(body.sessionId, "refuse")).status).toBe(409);
    expect(await exists()).toBe(true);
    await act(body.sessionId, "stop", "refuse");
    for await (const frame of frames) expect(frame.data.type).not.toBe("error");
    expect((await greet(body.sessionId, "refuse")).status).toBe(200);
  });
});

describe("a changed configuration", () => {
  it("reaches idle sessions at their next message [CONF-5]", async () => {
    await using own = await startGateway();
    const first = await own.send("ENV COLOUR");
    const config = testConfig({ agent: { env: { COLOUR: "teal" } } });
    await own.writeConfig(config);
    await until(
      async () =>
        (await own.send("ENV COLOUR", { chat_id: `c${Date.now()}` })).body.response !== first.body.response,
      "the new configuration",
    );
    expect(await run(own, "ENV COLOUR", first.body.session_id)).toContain("teal");
  });
});
