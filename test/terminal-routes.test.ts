import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { attachTo } from "./fixtures/attach.ts";
import { type Viewer, watch } from "./fixtures/viewer.ts";
import { fakeTerminal, type Gateway, KEYS, root, startGateway, testConfig, until } from "./harness.ts";

type Json = Record<string, unknown>;
const runtime = { type: "agent-cli", command: [process.execPath, fakeTerminal] };
const headless = {
  type: "agent-cli",
  command: [process.execPath, join(root, "test/fixtures/fake-agent.mjs")],
};
const ADMIN = { "x-api-key": KEYS.admin };
const REFUSED = [403, "FORBIDDEN"];
const streamOf = (agent: string) => `/api/v1/agents/${agent}/pty-stream`;
const STREAM = streamOf("assistant");

let gateway: Gateway;
beforeAll(async () => {
  const config = testConfig({
    gateway: { headless: false, publicUrl: "https://gw.example/gateway" },
  });
  config.agents = [
    { id: "assistant", description: "first", runtime },
    { id: "second", description: "second", runtime },
    { id: "planner", description: "headless", runtime: headless, orchestration: { enabled: true } },
  ];
  gateway = await startGateway({ config, gateway: { headless: false } });
});
afterAll(() => gateway[Symbol.asyncDispose]());

const post = (path: string, body: Json, key: string = KEYS.admin) =>
  gateway.json("POST", path, { key, body });
const opened = async (agent = "assistant") =>
  (await post(`/api/v1/agents/${agent}/sessions`, { chat_id: "me" })).body.sessionId as string;
const say = async (sessionId: string, message: string) =>
  (await gateway.send(message, { session_id: sessionId })).body.response as string;
const onSession = (sessionId: string, verb: string) =>
  post(`/api/v1/agents/assistant/sessions/${sessionId}/${verb}`, { chat_id: "me" });
const ticketFor = (sessionId: string, agentId = "assistant", key: string = KEYS.admin) =>
  post("/api/v1/pty-stream-ticket", { agentId, sessionId }, key);
const dial = (path: string, headers?: Record<string, string>): Promise<Viewer> =>
  watch(`${gateway.url.replace("http", "ws")}${path}`, headers);
const view = async (sessionId: string, agent = "assistant", prefix = "") => {
  const { status, body } = await ticketFor(sessionId, agent);
  expect({ status, body }).toMatchObject({ status: 200, body: { expiresAt: expect.any(Number) } });
  return dial(`${prefix}${streamOf(agent)}?ticket=${body.ticket}`);
};
const screenOf = (sessionId: string, key: string = KEYS.admin) =>
  gateway.json("GET", `/api/v1/sessions/${sessionId}/screen`, { key });
const textOn = async (sessionId: string) => String((await screenOf(sessionId)).body.text);
/** Waits until the program takes input and nothing runs. */
const ready = (sessionId: string) =>
  until(async () => /─\n❯ *\n─/.test(await textOn(sessionId)), "an empty input line");
/** The messages of people that are stored. */
const stored = async () => {
  const { body } = await gateway.json("GET", "/api/v1/agents/assistant/chats/api-me/messages?limit=100");
  return (body.messages as Json[]).filter(({ role }) => role === "user").map(({ content }) => content);
};

describe("the terminal of a session", () => {
  it("is started by the ticket of a session that has none, and shown on a socket and as text [TERM-1, TERM-2, TERM-6]", async () => {
    const session = await opened();
    expect(await screenOf(session)).toMatchObject({ status: 404, body: { code: "NOT_FOUND" } });
    const viewer = await view(session);
    await ready(session);
    const { status, body } = await screenOf(session, KEYS.plain);
    expect(status).toBe(200);
    expect(body).toEqual({
      text: expect.stringContaining("bypass permissions on"),
      cursorRow: expect.any(Number),
      cursorCol: expect.any(Number),
      cols: 200,
      rows: 50,
    });
    expect(body.text).not.toContain("\u001b");
    await until(() => viewer.text().includes("bypass permissions on"), "the screen on the socket");
    // A later one is drawn what stands there.
    const later = await view(session, "assistant", "/gateway");
    await until(() => later.frames.length > 0, "the first frame");
    expect(later.frames[0]!.toString()).toContain("bypass permissions on");
    viewer.socket.close();
    later.socket.close();
  });

  it("takes the keys of two viewers; what they submit is at work, is not stored, and can be stopped [TERM-3, PTY-7]", async () => {
    const session = await opened();
    const [one, two] = [await view(session), await view(session)];
    await ready(session);
    one.socket.send("SAY ty");
    await until(async () => (await textOn(session)).includes("❯ SAY ty"), "the first keys");
    two.socket.send("ped by two\r");
    for (const { text } of [one, two]) await until(() => text().includes("● typed by two"), "the answer");
    await until(async () => (await say(session, "SAY sent")) === "sent", "the session to be free");
    // The program has both in its conversation.
    expect(await say(session, "HISTORY")).toContain("typed by two");
    one.socket.send("SLOW 1000 20\r");
    await until(async () => (await textOn(session)).includes("esc to interrupt"), "the program to be busy");
    expect(await gateway.send("SAY meanwhile", { session_id: session })).toMatchObject({
      status: 409,
      body: { code: "SESSION_BUSY" },
    });
    expect((await onSession(session, "stop")).body).toEqual({ stopped: true });
    await until(async () => !(await textOn(session)).includes("esc to interrupt"), "the program to be free");
    await until(async () => (await say(session, "SAY after")) === "after", "the session to be free");
    const kept = await stored();
    expect(kept).toEqual(expect.arrayContaining(["SAY sent", "SAY after"]));
    for (const typed of ["SAY typed by two", "SLOW 1000 20"]) expect(kept).not.toContain(typed);
    one.socket.close();
    two.socket.close();
  });

  it("shows a message over the API to who watches, and to the command line [TERM-2, TERM-7]", async () => {
    const session = await opened();
    const viewer = await view(session);
    await ready(session);
    const person = attachTo(session, { url: gateway.url, key: KEYS.admin });
    await person.shows("Ctrl+] leaves");
    expect(await say(session, "hello there")).toBe("Echo[1]: hello there");
    for (const line of ["❯ hello there", "● Echo[1]: hello there"]) {
      await until(() => viewer.text().includes(line), "the message on the socket");
      expect(await textOn(session)).toContain(line);
      await person.shows(line);
    }
    person.type("SAY at the keyboard\r");
    await person.shows("● at the keyboard");
    person.type("\u001d");
    expect(await person.left()).toBe(0);
    viewer.socket.close();
  });

  it("closes its sockets with 4410 when its program ends or its session is restarted or deleted [TERM-5]", async () => {
    const session = await opened();
    const ended = await view(session);
    const pid = Number(await say(session, "PID"));
    process.kill(pid, "SIGKILL");
    expect(await ended.closed).toBe(4410);
    expect(await screenOf(session)).toMatchObject({ status: 404, body: { code: "NOT_FOUND" } });
    // The next ticket starts the program again, with its conversation.
    const restarted = await view(session);
    await ready(session);
    expect(await say(session, "HISTORY")).toContain("PID");
    expect((await onSession(session, "restart")).status).toBe(200);
    expect(await restarted.closed).toBe(4410);
    const deleted = await view(session);
    await ready(session);
    const path = `/api/v1/agents/assistant/sessions/${session}?chat_id=me`;
    expect((await gateway.json("DELETE", path)).status).toBe(204);
    expect(await deleted.closed).toBe(4410);
    expect(await screenOf(session)).toMatchObject({ status: 404, body: { code: "SESSION_NOT_FOUND" } });
  });

  it("is not there for an agent with orchestration, which stays headless: 4404 [TERM-5, PTY-1]", async () => {
    const session = await opened("planner");
    expect(await (await view(session, "planner")).closed).toBe(4404);
    expect(await screenOf(session)).toMatchObject({ status: 404, body: { code: "NOT_FOUND" } });
    // An agent's process that runs without one is not replaced either.
    const message = { message: "SAY on", chat_id: "me", session_id: session };
    expect((await post("/api/v1/agents/planner/messages", message)).body.response).toBe("on");
    expect(await (await view(session, "planner")).closed).toBe(4404);
  });

  it("is for administrators, by a ticket that counts once, for one session of one agent [TERM-1]", async () => {
    const session = await opened();
    const refusalOf = async (path: string, headers?: Record<string, string>) =>
      (await dial(path, headers)).refused;
    for (const key of [KEYS.plain, KEYS.write, KEYS.all]) {
      expect(await ticketFor(session, "assistant", key)).toMatchObject({ status: 403 });
      expect(await refusalOf(`${STREAM}?session=${session}`, { "x-api-key": key })).toEqual(REFUSED);
    }
    expect(await screenOf(session, KEYS.other)).toMatchObject({ status: 403 });
    expect(await ticketFor(session, "second")).toMatchObject({
      status: 404,
      body: { code: "SESSION_NOT_FOUND" },
    });
    expect(await ticketFor(session, "nobody")).toMatchObject({
      status: 404,
      body: { code: "AGENT_NOT_FOUND" },
    });
    expect(await refusalOf(STREAM)).toEqual([401, "API_KEY_MISSING"]);
    expect(await refusalOf(STREAM, ADMIN)).toEqual([400, "INVALID_REQUEST"]);
    const { ticket } = (await ticketFor(session)).body;
    const viewer = await dial(`${STREAM}?ticket=${ticket}`);
    expect(viewer.refused).toBeUndefined();
    expect(await refusalOf(`${STREAM}?ticket=${ticket}`)).toEqual(REFUSED);
    const { ticket: astray } = (await ticketFor(session)).body;
    expect(await refusalOf(`${streamOf("second")}?ticket=${astray}`)).toEqual(REFUSED);
    expect(await refusalOf(`${STREAM}?ticket=${astray}`)).toEqual(REFUSED);
    const { ticket: elsewhere } = (await ticketFor(session)).body;
    const foreign = { origin: "https://evil.example" };
    expect(await refusalOf(`${STREAM}?ticket=${elsewhere}`, foreign)).toEqual(REFUSED);
    // Refusals do not disturb the one who was let in.
    await ready(session);
    viewer.socket.send("SAY still here\r");
    await until(() => viewer.text().includes("● still here"), "the answer");
    viewer.socket.close();
  });

  // The last one: it ends the gateway of them all.
  it("closes its sockets with 1001 when the gateway stops [TERM-5]", async () => {
    const session = await opened();
    const viewer = await dial(`${STREAM}?session=${session}`, ADMIN);
    await until(() => viewer.frames.length > 0, "the first frame");
    const [code, exit] = await Promise.all([viewer.closed, gateway.stop()]);
    expect([code, exit]).toEqual([1001, 0]);
  });
});
