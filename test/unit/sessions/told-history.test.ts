import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { AgentConfig } from "../../../packages/gateway/src/config/index.ts";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { createAgentCliRuntime } from "../../../packages/gateway/src/runtimes/agent-cli/index.ts";
import type { HistoryEntry } from "../../../packages/gateway/src/runtimes/index.ts";
import { createSessions, type SessionDeps } from "../../../packages/gateway/src/sessions/index.ts";
import { change } from "../../../packages/gateway/src/store/change.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";

const FAKE = new URL("../../fixtures/fake-agent.mjs", import.meta.url).pathname;
const TOLD: HistoryEntry[] = [
  { role: "user", text: "What is <b>?" },
  { role: "assistant", text: "A letter." },
];

/** Sessions of one agent, whose program is a real process. */
async function rig(feed: unknown = { event: () => change() }) {
  const home = await tempFolder();
  const db = memoryDatabase();
  const store = createStore(db);
  const runtime = createAgentCliRuntime({
    command: [process.execPath, FAKE],
    args: [],
    hostEnv: { PATH: process.env.PATH, HOME: home },
  });
  const agent = {
    id: "a",
    workspace: join(home, "workspace"),
    env: {},
    allowTools: true,
    runtime: {},
    session: { maxConcurrent: 5, warmSpares: 1, idleTimeoutMinutes: 5 },
    history: { maxHistoryMessages: 50 },
  } as unknown as AgentConfig;
  const sessions = createSessions({
    store,
    clock: systemClock,
    log: silentLogger,
    config: () => ({ gateway: { turns: { hardCapMs: 100_000, retainMs: 1_000 } }, agents: [agent] }),
    agent: () => agent,
    runtimeFor: async () => runtime,
    sessionDir: (_: string, chat: string, id: string) => join(home, "sessions", chat, id),
    models: { contextWindow: () => undefined },
    tools: () => [],
    toolServers: async () => ({ servers: {}, note: undefined }),
    counters: { received() {}, sent() {}, ended() {} },
    usage: { record: () => ({ change: [] }) },
    cutOff: async () => [],
    feed,
    watch: { began() {}, exited: async () => false, ended() {} },
    step() {},
  } as unknown as SessionDeps);
  onTestFinished(() => sessions.close());
  let request = 0;
  return {
    sessions,
    agent,
    store,
    async send(sessionId: string | undefined, text: string, history?: HistoryEntry[]) {
      const requestId = `r${request++}`;
      const turn = await sessions.send({
        agent,
        requestId,
        chatId: "api-c",
        sessionId,
        text,
        softMs: 30_000,
        history,
      });
      const { text: reply, status } = await turn.done;
      expect(status).toBe("done");
      return { sessionId: turn.sessionId, reply };
    },
    row: async (id: string) => (await sessions.find("a", "api-c", id))!,
    stored: () =>
      db
        .all<{ role: number; content: string }>("SELECT role, content FROM messages ORDER BY id")
        .map(({ role, content }) => `${role === 0 ? "user" : "assistant"}: ${content}`),
  };
}

it("a turn with a foreign history gets that alone, and leaves the session as it was [HIST-1] [HIST-3]", async () => {
  const room = await rig();
  const { sessionId, reply: first } = await room.send(undefined, "PID");
  const { reply: told } = await room.send(sessionId, "HISTORY", TOLD);
  expect(told).toContain("A letter.");
  expect(told).toContain("What is");
  expect(told).not.toContain("PID");
  // The session's own process went for it, and that of the turn is gone as well.
  expect((await room.row(sessionId)).runtime_state).toBeNull();
  const { reply: after } = await room.send(sessionId, "HISTORY");
  expect(after).toContain("PID");
  expect(after).toContain(first);
  expect(room.stored()).toEqual([
    "user: PID",
    `assistant: ${first}`,
    "user: HISTORY",
    `assistant: ${told}`,
    "user: HISTORY",
    `assistant: ${after}`,
  ]);
  const { reply: alone } = await room.send(sessionId, "PID", []);
  const { reply: again } = await room.send(sessionId, "PID");
  expect(new Set([first, alone, again]).size).toBe(3);
});

it("a new session keeps the history that it is told, in one process, which is no spare [HIST-2]", async () => {
  const room = await rig();
  room.sessions.reconfigure();
  await expect.poll(() => room.sessions.places()[0]?.runtime !== undefined).toBe(true);
  const spare = room.sessions.places()[0]!;
  const { sessionId, reply } = await room.send(undefined, "HISTORY", TOLD);
  expect(sessionId).not.toBe(spare.sessionId);
  expect(reply).toContain("A letter.");
  expect(room.stored()).toEqual([
    "user: What is <b>?",
    "assistant: A letter.",
    "user: HISTORY",
    `assistant: ${reply}`,
  ]);
  expect(await room.row(sessionId)).toMatchObject({ name: "What is <b>?", message_count: 4 });
  const pid = room.sessions.places().find((place) => place.sessionId === sessionId)?.runtime?.pid;
  expect((await room.send(sessionId, "PID")).reply).toContain(String(pid));
});

it("a history that cannot be stored begins no turn, and leaves nothing [HIST-2]", async () => {
  const room = await rig();
  const sending = room.sessions.send({
    agent: room.agent,
    requestId: "r",
    chatId: "api-c",
    text: "hello",
    softMs: 30_000,
    history: TOLD,
    also: () => [change({ sql: "INSERT INTO no_such_table VALUES (1)", params: [] })],
  });
  await expect(sending).rejects.toThrow();
  expect(room.stored()).toEqual([]);
  expect(await room.sessions.list("a", "api-c")).toEqual([]);
});

it("a turn whose end fails for a reason of its own is closed in the store at once [TURN-CLOSED-1]", async () => {
  let failed = false;
  const room = await rig({
    event({ type }: { type: string }) {
      if (type === "turn.finished" && !failed) {
        failed = true;
        throw new Error("wrong");
      }
      return change();
    },
  });
  const begin = { agent: room.agent, chatId: "api-c", sessionId: undefined, softMs: 30_000 };
  const turn = await room.sessions.send({ ...begin, requestId: "r", text: "PID" });
  expect(await turn.done).toMatchObject({ status: "failed", stored: false });
  await expect.poll(() => room.store.turns.running()).toEqual([]);
});
