import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, put, startGateway, until } from "./harness.ts";

const base = "/api/v1/agents/assistant";

interface Place {
  sessionId: string;
  chatId: string;
  pid: number | null;
}

const create = async (gateway: Gateway, chat: string) =>
  gateway.json("POST", `${base}/sessions`, { body: { chat_id: chat } });

describe("spare processes", () => {
  let gateway: Gateway;
  const places = async () => {
    const { body } = await gateway.json("GET", "/status");
    const agents = body.agents as Array<{ id: string; sessions: Place[] }>;
    return agents.find(({ id }) => id === "assistant")!.sessions;
  };
  /** Processes of agents that no session has. */
  const spares = async () => {
    const { body } = await gateway.json("GET", "/processes");
    const [own, ...children] = body.processes as Array<{ pid: number; ppid: number }>;
    const taken = new Set((await places()).map(({ pid }) => pid));
    return children.filter(({ pid, ppid }) => ppid === own!.pid && !taken.has(pid));
  };
  const ready = (count: number) =>
    until(async () => (await spares()).length >= count, `${count} spare processes`);

  beforeAll(async () => {
    gateway = await startGateway({ session: { warmSpares: 2 } });
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  it("are taken once, by one creation after another and by two at the same time [HOLD-1]", async () => {
    await ready(2);
    const replies = [
      await create(gateway, "one"),
      await create(gateway, "two"),
      ...(await Promise.all([create(gateway, "three"), create(gateway, "four"), create(gateway, "five")])),
    ];
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(new Set(replies.map(({ body }) => body.sessionId)).size).toBe(5);
    for (const [index, chat] of ["one", "two", "three", "four", "five"].entries()) {
      const said = await gateway.send("hello", { chat_id: chat, session_id: replies[index]!.body.sessionId });
      expect(said.status).toBe(200);
    }
  });

  it("are taken once by a creation and a first message at the same time [HOLD-1]", async () => {
    await ready(1);
    const [created, said, other] = await Promise.all([
      create(gateway, "six"),
      gateway.send("hello", { chat_id: "seven" }),
      gateway.send("hello", { chat_id: "eight" }),
    ]);
    expect([created.status, said.status, other.status]).toEqual([201, 200, 200]);
    expect(new Set([created.body.sessionId, said.body.session_id, other.body.session_id]).size).toBe(3);
  });

  it("may die after their id was taken, and before [HOLD-2]", async () => {
    await ready(1);
    const before = new Set((await spares()).map(({ pid }) => pid));
    const created = await create(gateway, "nine");
    const taken = (await places()).find(({ sessionId }) => sessionId === created.body.sessionId);
    expect(before).toContain(taken!.pid);
    process.kill(taken!.pid!, "SIGKILL");
    const said = await gateway.send("PID", { chat_id: "nine", session_id: created.body.sessionId });
    expect(said.status).toBe(200);
    for (const { pid } of await spares()) process.kill(pid, "SIGKILL");
    const [made, message] = await Promise.all([
      create(gateway, "ten"),
      gateway.send("hello", { chat_id: "eleven" }),
    ]);
    expect([made.status, message.status]).toEqual([201, 200]);
  });
});

describe("one session at a time", () => {
  let gateway: Gateway;
  let log: string;
  beforeAll(async () => {
    gateway = await startGateway({
      agentArgs: ["--hang-compact"],
      // Relative to the agent's workspace, which goes with the gateway's home.
      agent: { env: { FAKE_AGENT_LOG: "fake-agent.log" } },
    });
    log = join(gateway.home, "agents/assistant/workspace/fake-agent.log");
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  it("a greeting goes to one of many sessions that ask for it together [HOLD-3]", async () => {
    const ids = [];
    for (let n = 0; n < 6; n++) ids.push((await create(gateway, "greet")).body.sessionId as string);
    await put(join(gateway.home, "agents/assistant/workspace"), "GREETING.md", "Greet the user.");
    const replies = await Promise.all(
      ids.map((id) =>
        gateway.request("POST", `${base}/greeting`, { body: { chat_id: "greet", session_id: id } }),
      ),
    );
    const texts = await Promise.all(replies.map((reply) => reply.text()));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 204, 204, 204, 204, 204]);
    expect(texts.filter((text) => text.includes("Greet the user.")).length).toBe(1);
  });

  it("stop ends a compaction at once and asks the agent for no summary [HOLD-4]", async () => {
    const { body } = await create(gateway, "compact");
    const session = body.sessionId as string;
    for (let n = 0; n < 6; n++) await gateway.send(`m${n}`, { chat_id: "compact", session_id: session });
    const at = `${base}/sessions/${session}`;
    const compaction = gateway.json("POST", `${at}/compact`, { body: { chat_id: "compact" } });
    const asked = async () => (await readFile(log, "utf8")).match(/"text":"[^"]*/g) ?? [];
    await until(async () => (await asked()).at(-1) === '"text":"/compact', "the agent to be asked");
    const busy = await gateway.send("hello", { chat_id: "compact", session_id: session });
    expect(busy.body.code).toBe("SESSION_BUSY");
    const began = Date.now();
    const stopped = await gateway.json("POST", `${at}/stop`, { body: { chat_id: "compact" } });
    const refused = await compaction;
    expect(Date.now() - began).toBeLessThan(2000);
    expect(stopped.body).toEqual({ stopped: true });
    expect([refused.status, refused.body.code]).toEqual([500, "AGENT_FAILED"]);
    expect(refused.body.error).toMatch(/stopped/);
    const after = await gateway.send("and now", { chat_id: "compact", session_id: session });
    expect(after.status).toBe(200);
    expect((await asked()).filter((line) => line.includes("summary"))).toEqual([]);
  });

  it("a deleted session leaves no folder, and a turn of it ends [HOLD-5]", async () => {
    const said = await gateway.send("hello", { chat_id: "folder" });
    const session = said.body.session_id as string;
    const chat = join(gateway.home, "agents/assistant/sessions/api-folder");
    expect(await readdir(chat)).toEqual([session]);
    const running = gateway.send("SLOW 1000 50", { chat_id: "folder", session_id: session });
    await until(
      async () => (await gateway.send("x", { chat_id: "folder", session_id: session })).status === 409,
      "the turn to run",
    );
    const at = `${base}/sessions/${session}?chat_id=folder`;
    const [one, two] = await Promise.all([gateway.json("DELETE", at), gateway.json("DELETE", at)]);
    expect([one.status, two.status]).toEqual([204, 204]);
    expect((await running).body.interrupted).toBe(true);
    expect(existsSync(chat)).toBe(false);
    expect((await gateway.json("DELETE", at)).status).toBe(404);
  });

  it("nothing begins while a session is deleted, cleared or restarted [HOLD-6]", async () => {
    for (const act of ["delete", "clear", "restart"] as const) {
      const said = await gateway.send("hello", { chat_id: `hold-${act}` });
      const session = said.body.session_id as string;
      const at = `${base}/sessions/${session}`;
      const done =
        act === "delete"
          ? gateway.json("DELETE", `${at}?chat_id=hold-${act}`)
          : gateway.json("POST", `${at}/${act}`, { body: { chat_id: `hold-${act}` } });
      const sent = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          gateway.send(`m${n}`, { chat_id: `hold-${act}`, session_id: session }),
        ),
      );
      await done;
      const codes = new Set(sent.map(({ status }) => status));
      for (const code of codes) expect([200, 404, 409]).toContain(code);
      const { body } = await gateway.json("GET", `${base}/chats/api-hold-${act}/messages?order=asc`);
      const roles = (body.messages as Array<{ role: string; interrupted?: true }>).map(({ role }) => role);
      // Whole turns alone: a question without its answer would be one whose process was taken away.
      expect(roles.filter((role) => role === "user").length).toBe(
        roles.filter((role) => role === "assistant").length,
      );
      if (act === "delete") expect(roles).toEqual([]);
    }
  });
});
