import { expect, it, vi } from "vitest";
import type { AgentConfig } from "../../../packages/gateway/src/config/index.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import type {
  OpenOptions,
  RuntimeSession,
  TurnOutcome,
} from "../../../packages/gateway/src/runtimes/index.ts";
import { createSessions, type SessionDeps } from "../../../packages/gateway/src/sessions/index.ts";
import { change } from "../../../packages/gateway/src/store/change.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";

vi.mock(import("../../../packages/gateway/src/lib/guarded/folder.ts"), async (original) => ({
  ...(await original()),
  makeFolder: async () => {},
}));
vi.mock(import("../../../packages/gateway/src/lib/guarded/tree.ts"), async (original) => ({
  ...(await original()),
  makeFolderBelow: async () => {},
  removeFolderBelow: async () => {},
  removeFolderSoon: async () => {},
  namesBelow: async () => [],
}));
vi.mock(import("../../../packages/gateway/src/lib/guarded/read.ts"), async (original) => ({
  ...(await original()),
  readInside: async () => Buffer.from(""),
  readNamed: async () => Buffer.from(""),
}));

const SUMMARY = "what was summarised";
const settle = async () => {
  for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve));
};

/** Sessions of one agent, whose program answers when told to. Reads can be held up. */
function rig() {
  const gates: Array<{ sql: RegExp; phase: string; open: Promise<void> }> = [];
  let writing = Promise.resolve();
  const db = memoryDatabase(
    () => writing,
    async (sql, phase) => {
      const at = gates.findIndex((gate) => gate.phase === phase && gate.sql.test(sql));
      if (at >= 0) await gates.splice(at, 1)[0]!.open;
    },
  );
  const store = createStore(db);
  const opened: OpenOptions[] = [];
  const inputs: string[] = [];
  const answers: Array<(outcome: TurnOutcome) => void> = [];
  const agent = {
    id: "a",
    workspace: "/nowhere",
    env: {},
    runtime: {},
    session: { maxConcurrent: 5, warmSpares: 0, idleTimeoutMinutes: 5 },
    history: { maxHistoryMessages: 50 },
  } as unknown as AgentConfig;
  const openProgram = async (options: OpenOptions): Promise<RuntimeSession> => {
    opened.push(options);
    const gone = Promise.withResolvers<void>();
    return {
      pid: 1,
      resumeToken: "token",
      primed: false,
      closed: gone.promise,
      turn({ text }) {
        inputs.push(text);
        return new Promise((resolve) => answers.push(resolve));
      },
      interrupt: async () => answers.at(-1)?.({ status: "interrupted", text: "" }),
      setModel: async () => true,
      contextPercent: async () => undefined,
      compact: async () => ({ summary: SUMMARY }),
      close: async () => gone.resolve(),
    } as RuntimeSession;
  };
  const sessions = createSessions({
    store,
    clock: manualClock(),
    log: silentLogger,
    config: () => ({ gateway: { turns: { hardCapMs: 100_000, retainMs: 1_000 } }, agents: [agent] }),
    agent: () => agent,
    runtimeFor: async () => ({ type: "acp", open: openProgram }),
    sessionDir: () => "/nowhere/sessions/chat/id",
    history: {
      clear: (session: number) =>
        change({ sql: "DELETE FROM messages WHERE session = ?", params: [session] }),
      emptySession: async () => {},
    },
    models: { contextWindow: () => undefined },
    tools: () => [],
    toolServers: async () => ({ servers: {}, note: undefined }),
    counters: { received() {}, sent() {}, ended() {} },
    usage: { record: () => ({ change: [] }) },
    cutOff: () => [],
    feed: { event: () => change() },
    watch: { began() {}, exited: async () => false, ended() {} },
    step() {},
  } as unknown as SessionDeps);
  let request = 0;
  return {
    agent,
    store,
    sessions,
    opened,
    inputs,
    row: async (id: string) => (await sessions.find("a", "api-c", id))!,
    create: async () => (await sessions.create(agent, "api-c", {})).sessionId,
    send: (sessionId: string | undefined, text: string) =>
      sessions.send({ agent, requestId: `r${request++}`, chatId: "api-c", sessionId, text, softMs: 1000 }),
    async answer(text = "answer") {
      await settle();
      answers.shift()!({ status: "done", text });
      await settle();
    },
    /** Holds up the next such read: before it looks, or its answer. */
    hold(sql: RegExp, phase: "asked" | "answered") {
      const { promise, resolve } = Promise.withResolvers<void>();
      gates.push({ sql, phase, open: promise });
      return resolve;
    },
    /** Holds up everything that is written from now on. */
    holdWrites() {
      const { promise, resolve } = Promise.withResolvers<void>();
      writing = promise;
      return resolve;
    },
    texts: () =>
      db.all<{ content: string }>("SELECT content FROM messages ORDER BY id").map(({ content }) => content),
    told: () => opened.at(-1)!.history.map(({ text }) => text),
  };
}
const SESSION = /FROM sessions s/;
const MESSAGES = /FROM messages/;
const outcomeOf = (work: Promise<unknown>): Promise<string | undefined> =>
  work.then(
    () => "done",
    (error: { code?: string }) => error.code,
  );

/** A session removed after it was looked at, and another one that has been given its number. */
async function removed(room: ReturnType<typeof rig>) {
  const stale = await room.row(await room.create());
  await room.sessions.remove(stale);
  const turn = await room.send(undefined, "of the other");
  await room.answer();
  await turn.done;
  expect((await room.row(turn.sessionId)).id).toBe(stale.id);
  return { stale, other: turn.sessionId };
}

it("what is asked of a session that was removed meanwhile never reaches the one that has its number [LOOK-1]", async () => {
  const room = rig();
  const { stale, other } = await removed(room);
  const asked = {
    clear: () => room.sessions.clear(stale),
    compact: () => room.sessions.compact(room.agent, stale, null),
    restart: () => room.sessions.restart(room.agent, stale),
    rename: () => room.sessions.rename(stale, "Other"),
    setModel: () => room.sessions.setModel(stale, "other"),
    send: () => room.send(stale.uuid, "lost"),
  };
  for (const [what, work] of Object.entries(asked)) {
    expect([what, await outcomeOf(work())]).toEqual([what, "SESSION_NOT_FOUND"]);
  }
  await room.sessions.remove(stale);
  expect(room.texts()).toEqual(["of the other", "answer"]);
  expect(await room.row(other)).toMatchObject({ name: "of the other", model_override: null });
});

it("nothing clears a session between the look of a message that is being sent and its turn [LOOK-1]", async () => {
  const room = rig();
  const id = await room.create();
  await room.store.commit(room.store.sessions.update(id, { summary: SUMMARY }));
  const stale = await room.row(id);
  const release = room.hold(SESSION, "answered");
  const sending = room.send(id, "hello");
  const clearing = outcomeOf(room.sessions.clear(stale));
  await settle();
  release();
  await (await sending).started;
  await room.answer();
  // Who came first, the agent is told of exactly what the session held then.
  expect(await clearing).toBe("SESSION_BUSY");
  expect(room.told()).toEqual([`Summary of our conversation so far:\n${SUMMARY}`, "Understood."]);
  expect(room.texts()).toEqual(["hello", "answer"]);
});

it("a session that is removed while a message looks for it ends the message's turn, and nothing stays [LOOK-1]", async () => {
  const room = rig();
  const id = await room.create();
  const stale = await room.row(id);
  const release = room.hold(SESSION, "answered");
  const sending = room.send(id, "hello");
  const removing = room.sessions.remove(stale);
  await settle();
  release();
  const turn = await sending;
  await removing;
  expect((await turn.done).status).toBe("interrupted");
  expect([room.texts(), await room.row(id), await room.store.turns.running()]).toEqual([[], undefined, []]);
});

it("two messages to one session at the same moment: one begins, the other is refused at once [LOOK-1]", async () => {
  const room = rig();
  const id = await room.create();
  const release = room.hold(SESSION, "answered");
  const first = room.send(id, "first");
  expect(await outcomeOf(room.send(id, "second"))).toBe("SESSION_BUSY");
  release();
  await first;
  expect(room.sessions.isBusy(id)).toBe(true);
  await room.answer();
  expect(room.texts()).toEqual(["first", "answer"]);
});

it("whoever waits for a session is woken when the message that looked for it was refused [LOOK-1]", async () => {
  const room = rig();
  const id = await room.create();
  const release = room.hold(SESSION, "answered");
  room.agent.session.maxConcurrent = 0;
  const sending = outcomeOf(room.send(id, "hello"));
  const idle = room.sessions.idle("a", id, { ms: 60_000, signal: new AbortController().signal });
  await settle();
  release();
  expect(await sending).toBe("CAPACITY");
  expect(await idle).toBe(true);
});

it("a new process is told its message once, however late it reads the conversation [LOOK-1]", async () => {
  const room = rig();
  const id = await room.create();
  const release = room.hold(MESSAGES, "asked");
  const turn = await room.send(id, "hello");
  await settle();
  expect(room.opened).toEqual([]);
  release();
  await room.answer();
  await turn.done;
  expect([room.told(), room.inputs]).toEqual([[], ["hello"]]);
});

it("a program's own session goes on although the new message is stored before it is looked up [LOOK-1]", async () => {
  const room = rig();
  const first = await room.send(undefined, "one");
  await room.answer();
  await first.done;
  room.sessions.reconfigure();
  const row = await room.row(first.sessionId);
  const place = room.sessions.places()[0]!;
  await place.runtime!.close();
  await settle();
  expect(JSON.parse(row.runtime_state!)).toMatchObject({ token: "token" });
  const release = room.hold(MESSAGES, "asked");
  await room.send(row.uuid, "two");
  release();
  await room.answer();
  expect(room.opened.at(-1)!.resume).toBe("token");
});

it("a message that arrives while the session restarts is told once [LOOK-1]", async () => {
  const room = rig();
  const first = await room.send(undefined, "one");
  await room.answer();
  await first.done;
  const release = room.hold(MESSAGES, "asked");
  await room.sessions.restart(room.agent, await room.row(first.sessionId));
  await room.send(first.sessionId, "two");
  release();
  await room.answer();
  expect([room.opened.length, room.told(), room.inputs]).toEqual([2, ["one", "answer"], ["one", "two"]]);
});

it("a restarted session is not told what was cleared while it restarted [LOOK-1]", async () => {
  const room = rig();
  const id = await room.create();
  await room.store.commit(room.store.sessions.update(id, { summary: SUMMARY }));
  const stale = await room.row(id);
  const release = room.hold(SESSION, "answered");
  const restarting = room.sessions.restart(room.agent, stale);
  await settle();
  const clearing = outcomeOf(room.sessions.clear(stale));
  await settle();
  release();
  await restarting;
  if ((await clearing) === "SESSION_BUSY") await room.sessions.clear(stale);
  await room.send(id, "hello");
  await room.answer();
  expect(room.told()).toEqual([]);
});

it("a compaction keeps the newest messages although imported ones have higher ids [LOOK-1]", async () => {
  const room = rig();
  const id = await room.create();
  const say = (content: string, ts: number) =>
    room.store.messages.add({
      id: room.store.ids.message(),
      session: id,
      role: "user",
      content,
      ts,
      extra: {},
    });
  for (let n = 0; n < 10; n++) await room.store.commit(say(`new ${n}`, 1000 + n));
  for (let n = 0; n < 5; n++) await room.store.commit(say(`imported ${n}`, n));
  const done = await room.sessions.compact(room.agent, await room.row(id), null);
  expect(done).toEqual({ success: true, keptMessages: 10, archivedMessages: 5 });
  await room.send(id, "hello");
  await room.answer();
  expect(room.told().filter((text) => text.startsWith("new")).length).toBe(10);
});

it("a session and its process are taken until the reply is stored [SES-12, LOOK-1]", async () => {
  const { sessions, create, send, answer, holdWrites, row } = rig();
  const id = await create();
  await send(id, "hello");
  const stored = holdWrites();
  await answer();
  const taken = () => [sessions.isBusy(id), sessions.places().map(({ busy }) => busy)];
  expect(taken()).toEqual([true, [true]]);
  expect((await row(id)).message_count).toBe(1);
  stored();
  await settle();
  expect(taken()).toEqual([false, [false]]);
  expect((await row(id)).message_count).toBe(2);
});
