import { GatewayError } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import { TEST_KEYS } from "../../fixtures/http-server.ts";
import { terminalRig } from "../../fixtures/terminal-rig.ts";

const TICKET = "/api/v1/pty-stream-ticket";
const STREAM = "/api/v1/agents/assistant/pty-stream";
const ADMIN = { "x-api-key": "the-admin-key" };

describe("a ticket", () => {
  it("is refused as declared: level, agent, session, body [TERM-1]", async () => {
    await using rig = await terminalRig();
    const ask = async (body: object, key?: string) => {
      const { status, body: answer } = await rig.ask("POST", TICKET, { body, ...(key && { key }) });
      return [status, answer.code];
    };
    const right = { agentId: "assistant", sessionId: "s1" };
    expect(await ask(right)).toEqual([401, "API_KEY_MISSING"]);
    for (const key of ["the-plain-key", "the-write-key", "the-all-key"])
      expect(await ask(right, key)).toEqual([403, "FORBIDDEN"]);
    expect(await ask({ ...right, agentId: "nobody" }, "the-admin-key")).toEqual([404, "AGENT_NOT_FOUND"]);
    expect(await ask({ ...right, sessionId: "none" }, "the-admin-key")).toEqual([404, "SESSION_NOT_FOUND"]);
    expect(await ask({ ...right, sessionId: "other" }, "the-admin-key")).toEqual([404, "SESSION_NOT_FOUND"]);
    expect(await ask({ ...right, more: 1 }, "the-admin-key")).toEqual([400, "INVALID_REQUEST"]);
    expect(await ask({ agentId: "assistant" }, "the-admin-key")).toEqual([400, "INVALID_REQUEST"]);
    const { expiresAt } = await rig.ticket();
    expect(expiresAt).toBe(rig.clock.now() + 30_000);
  });

  it("starts the program of a session that has none, or says why it cannot [TERM-1]", async () => {
    await using rig = await terminalRig();
    await rig.ticket("s2");
    expect([rig.state.starts, rig.terminals.has("s2")]).toEqual([1, true]);
    rig.terminals.delete("s2");
    rig.state.failure = new GatewayError("CAPACITY");
    await expect(rig.ticket("s2")).rejects.toMatchObject({ code: "CAPACITY" });
  });

  it("is taken from a login too [TERM-1]", async () => {
    await using rig = await terminalRig();
    const login = await rig.ask("POST", "/dashboard/login", { body: { key: "the-admin-key" } });
    const cookie = String(login.headers["set-cookie"]).split(";")[0]!;
    const body = { agentId: "assistant", sessionId: "s1" };
    const { status } = await rig.ask("POST", TICKET, { body, headers: { cookie } });
    expect(status).toBe(200);
    const foreign = { cookie, origin: "https://evil.example" };
    expect((await rig.ask("POST", TICKET, { body, headers: foreign })).status).toBe(403);
  });
});

describe("the socket of a terminal", () => {
  it("opens once for a ticket at its own agent, and for no foreign page [TERM-1]", async () => {
    await using rig = await terminalRig();
    rig.terminals.get("s1")!.write("hello");
    const at = async (path: string, headers = {}) => (await rig.dial(path, headers)).refused;
    expect(await at(STREAM)).toEqual([401, "API_KEY_MISSING"]);
    expect(await at(`${STREAM}?ticket=nonsense`)).toEqual([403, "FORBIDDEN"]);
    expect(await at(STREAM, ADMIN)).toEqual([400, "INVALID_REQUEST"]);
    expect(await at(`${STREAM}?session=none`, ADMIN)).toEqual([404, "SESSION_NOT_FOUND"]);
    expect(await at(`${STREAM}?session=other`, ADMIN)).toEqual([404, "SESSION_NOT_FOUND"]);
    const { ticket } = await rig.ticket();
    const foreign = { origin: "https://evil.example" };
    expect(await at(`${STREAM}?ticket=${ticket}`, foreign)).toEqual([403, "FORBIDDEN"]);
    const viewer = await rig.dial(`/gateway${STREAM}?ticket=${ticket}`);
    await expect.poll(viewer.text).toBe("hello");
    expect(await at(`${STREAM}?ticket=${ticket}`)).toEqual([403, "FORBIDDEN"]);
    const astray = (await rig.ticket()).ticket;
    expect(await at(`/api/v1/agents/second/pty-stream?ticket=${astray}`)).toEqual([403, "FORBIDDEN"]);
    expect(await at(`${STREAM}?ticket=${astray}`)).toEqual([403, "FORBIDDEN"]);
    const late = (await rig.ticket()).ticket;
    rig.clock.advance(30_000);
    expect(await at(`${STREAM}?ticket=${late}`)).toEqual([403, "FORBIDDEN"]);
  });

  it("shows all viewers the same, and takes the keys of each [TERM-2, TERM-3]", async () => {
    await using rig = await terminalRig();
    const { write, typed } = rig.terminals.get("s1")!;
    write("first ");
    const [one, two] = [await rig.view(), await rig.dial(`${STREAM}?session=s1`, ADMIN)];
    await expect.poll(() => [one.text(), two.text()]).toEqual(["first ", "first "]);
    write("then");
    await expect.poll(() => [one.text(), two.text()]).toEqual(["first then", "first then"]);
    one.socket.send("l");
    await expect.poll(() => typed).toEqual(["l"]);
    two.socket.send("s\r");
    await expect.poll(() => typed).toEqual(["l", "s\r"]);
    two.socket.send("");
    two.socket.send("x".repeat(4097));
    two.socket.send(Buffer.from("binary"));
    two.socket.send("é".repeat(2048));
    await expect.poll(() => typed).toEqual(["l", "s\r", "é".repeat(2048)]);
    two.socket.send("x".repeat(64 * 1024 + 1));
    expect(await two.closed).toBe(1009);
    write(" on");
    await expect.poll(one.text).toBe("first then on");
  });

  it("keeps the keys that come while the program starts [TERM-3]", async () => {
    await using rig = await terminalRig();
    const viewer = await rig.dial(`${STREAM}?session=s2`, ADMIN);
    viewer.socket.send("early");
    await expect.poll(() => rig.terminals.get("s2")?.typed).toEqual(["early"]);
  });

  it("pauses a viewer that does not read, which costs the others nothing [TERM-4]", async () => {
    await using rig = await terminalRig();
    const { write, shown } = rig.terminals.get("s1")!;
    const [stalled, quick] = [await rig.view(), await rig.view()];
    await expect.poll(() => [stalled.frames.length, quick.frames.length]).toEqual([1, 1]);
    stalled.socket.pause();
    const chunk = "x".repeat(256 * 1024);
    let sent = 0;
    const sizeOf = (frames: readonly Buffer[]) => frames.reduce((sum, { length }) => sum + length, 0);
    // More than the system's own buffers hold.
    for (let count = 0; count < 64; count++) {
      write(chunk);
      sent += chunk.length;
      await expect.poll(() => sizeOf(quick.frames), { interval: 1 }).toBe(sent);
    }
    write("the end");
    await expect.poll(() => String(quick.frames.at(-1))).toBe("the end");
    stalled.socket.resume();
    // What it had not read was left out; the last frame is the screen.
    await expect.poll(() => String(stalled.frames.at(-1)).endsWith("the end")).toBe(true);
    expect(String(stalled.frames.at(-1)) === `\u001bc${shown()}`).toBe(true);
    expect(sizeOf(stalled.frames.slice(0, -1))).toBeLessThan(sent);
  });

  it("says by its code why it closes [TERM-5]", async () => {
    await using rig = await terminalRig();
    const ended = await rig.view();
    await expect.poll(() => ended.frames.length).toBe(1);
    rig.terminals.get("s1")!.end();
    expect(await ended.closed).toBe(4410);
    rig.state.failure = new GatewayError("CAPACITY");
    expect(await (await rig.dial(`${STREAM}?session=s2`, ADMIN)).closed).toBe(4404);
    rig.state.failure = undefined;
    rig.state.headless = true;
    const headless = await rig.view("s2");
    headless.socket.send("dropped");
    expect(await headless.closed).toBe(4404);
    expect(rig.terminals.get("s2")?.typed ?? []).toEqual([]);
  });

  it("closes with 4401 within 5 s of the end of its right, and with 1001 when the gateway stops [TERM-5]", async () => {
    await using rig = await terminalRig();
    const one = await rig.view("s2");
    await expect.poll(() => one.frames.length).toBe(1);
    rig.server.reconfigure({ api: { keys: TEST_KEYS.slice(1), rateLimit: false } });
    rig.clock.advance(5000);
    expect(await one.closed).toBe(4401);
    rig.server.reconfigure({ api: { keys: TEST_KEYS, rateLimit: false } });
    const two = await rig.view("s2");
    await expect.poll(() => two.frames.length).toBe(1);
    void rig.server.server.close(1000);
    expect(await two.closed).toBe(1001);
  });
});

describe("the screen of a session", () => {
  it("is text for whoever reaches the agent; it starts nothing [TERM-6]", async () => {
    await using rig = await terminalRig();
    rig.terminals.get("s1")!.write("hello");
    const ask = async (session: string, key = "the-plain-key") => {
      const { status, body } = await rig.ask("GET", `/api/v1/sessions/${session}/screen`, { key });
      return [status, body.code ?? body.text];
    };
    expect(await ask("s1")).toEqual([200, "hello"]);
    expect(await ask("none")).toEqual([404, "SESSION_NOT_FOUND"]);
    expect(await ask("other")).toEqual([403, "FORBIDDEN"]);
    expect(await ask("s2")).toEqual([404, "NOT_FOUND"]);
    expect(rig.state.starts).toBe(0);
    expect(await ask("s1", "the-other-key")).toEqual([403, "FORBIDDEN"]);
  });
});
