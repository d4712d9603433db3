import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { AgentConfig } from "../../../packages/gateway/src/config/index.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { spawnProcess } from "../../../packages/gateway/src/lib/process.ts";
import type { RuntimeSession } from "../../../packages/gateway/src/runtimes/index.ts";
import { createSessions, type SessionDeps } from "../../../packages/gateway/src/sessions/index.ts";
import { change } from "../../../packages/gateway/src/store/change.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";
import { isRunning } from "../../fixtures/processes.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";

const MINUTE_MS = 60_000;
const SCREEN_CHARS = 4096;

/** A shell in a real terminal, whose "screen" is the end of what it wrote. */
async function shell(cwd: string, terminal: boolean): Promise<RuntimeSession> {
  let screen = "";
  const listeners = new Set<(bytes: Uint8Array) => void>();
  const program = await spawnProcess({
    // util-linux' script runs its command in a terminal of its own.
    command: ["/usr/bin/script", "-qfec", "PS1='$ ' /bin/sh -i", "/dev/null"],
    cwd,
    env: { PATH: process.env.PATH ?? "", TERM: "dumb" },
    log: silentLogger,
    onStdout(chunk) {
      screen = (screen + chunk).slice(-SCREEN_CHARS);
      for (const listener of listeners) listener(chunk);
    },
  });
  const closed = program.exited.then(() => {});
  return {
    pid: program.pid,
    resumeToken: null,
    primed: false,
    turn: async () => ({ status: "done", text: "done" }),
    interrupt: async () => {},
    setModel: async () => true,
    contextPercent: async () => undefined,
    compact: async () => null,
    close: () => program.close(),
    closed,
    ...(terminal && {
      terminal: {
        cols: 80,
        rows: 24,
        snapshot: async () => Buffer.from(`[screen]${screen}`),
        screen: async () => ({ text: screen, cursorRow: 0, cursorCol: 0, cols: 80, rows: 24 }),
        onOutput(listener) {
          listeners.add(listener);
          return () => void listeners.delete(listener);
        },
        type: (keys) => void program.write(keys),
        ended: closed,
        reading: async () => ({ ready: true, busy: false, dialog: null }),
        printedAt: () => 0,
        press: async () => false,
      },
    }),
  };
}

/** A session whose process is a shell. */
async function rig({ terminal = true } = {}) {
  const home = await tempFolder();
  const clock = manualClock();
  const store = createStore(memoryDatabase());
  const agent = {
    id: "a",
    workspace: join(home, "workspace"),
    env: {},
    runtime: {},
    allowTools: true,
    session: { maxConcurrent: 5, warmSpares: 0, idleTimeoutMinutes: 5 },
    history: { maxHistoryMessages: 50 },
  } as unknown as AgentConfig;
  const sessions = createSessions({
    store,
    clock,
    log: silentLogger,
    config: () => ({ gateway: { turns: { hardCapMs: 1_000_000, retainMs: 1_000 } }, agents: [agent] }),
    agent: () => agent,
    runtimeFor: async () => ({
      type: "agent-cli",
      inTerminal: () => terminal,
      open: ({ cwd }: { cwd: string }) => shell(cwd, terminal),
    }),
    sessionDir: (_: string, chat: string, id: string) => join(home, "sessions", chat, id),
    models: { contextWindow: () => undefined },
    tools: () => [],
    toolServers: async () => ({ servers: {}, note: undefined }),
    counters: { received() {}, sent() {}, ended() {} },
    usage: { record: () => ({ change: [] }) },
    feed: { event: () => change() },
    watch: { began() {}, exited: async () => false, ended() {} },
    step() {},
  } as unknown as SessionDeps);
  onTestFinished(() => sessions.close());
  const turn = await sessions.send({ agent, requestId: "r", chatId: "api-c", text: "begin", softMs: 30_000 });
  await turn.done;
  const row = (await sessions.find("a", "api-c", turn.sessionId))!;

  const watch = async (terminal = sessions.terminal(row.uuid)!) => {
    const seen = { text: String(await terminal.snapshot().then(Buffer.from)), ended: false };
    const leave = terminal.onOutput((bytes) => {
      seen.text += Buffer.from(bytes);
    });
    void terminal.ended.then(() => {
      seen.ended = true;
    });
    return { seen, leave, type: terminal.type };
  };
  const pid = () => sessions.places()[0]?.runtime?.pid ?? 0;
  return { agent, clock, sessions, row, watch, pid };
}
const shows = (seen: { text: string }, text: string) =>
  expect.poll(() => seen.text, { timeout: 10_000 }).toContain(text);

it("shows the screen, then what comes, to each viewer, and passes keys on [SCREEN-1]", async () => {
  const room = await rig();
  const one = await room.watch();
  await shows(one.seen, "$ ");
  one.type("echo the answer is $((6 * 7))\r");
  await shows(one.seen, "the answer is 42");
  const other = await room.watch();
  expect(other.seen.text).toContain("the answer is 42");
  other.type("tty; echo $((2 + 1))rd\r");
  for (const { seen } of [one, other]) await shows(seen, "3rd");
  expect(other.seen.text).toContain("/dev/pts/");
  one.leave();
  const before = one.seen.text;
  other.type("echo $((3 + 1))th\r");
  await shows(other.seen, "4th");
  expect(one.seen.text).toBe(before);
});

it("starts the program of a session for who wants its terminal, and only there [SCREEN-2]", async () => {
  const room = await rig();
  const pid = room.pid();
  expect(await room.sessions.openTerminal(room.agent, room.row)).toBeDefined();
  expect(room.pid()).toBe(pid);
  await room.sessions.restart(room.agent, room.row);
  const [one, two] = await Promise.all([
    room.sessions.openTerminal(room.agent, room.row),
    room.sessions.openTerminal(room.agent, room.row),
  ]);
  const { seen } = await room.watch(one);
  two!.type("echo $((6 * 7)) it is\r");
  await shows(seen, "42 it is");
  expect(room.sessions.places()).toMatchObject([{ busy: false }]);
  expect(room.pid()).not.toBe(pid);

  const without = await rig({ terminal: false });
  process.kill(without.pid(), "SIGKILL");
  await expect.poll(() => without.sessions.places()).toEqual([]);
  expect(await without.sessions.openTerminal(without.agent, without.row)).toBeUndefined();
  expect(without.sessions.places()).toEqual([]);
});

it("does not end a process as idle while somebody types [SCREEN-3] [SCREEN-4]", async () => {
  const room = await rig();
  const { seen, type } = await room.watch();
  const pid = room.pid();
  for (let minute = 0; minute < 12; minute += 4) {
    type(" ");
    room.clock.advance(4 * MINUTE_MS);
  }
  expect([isRunning(pid), seen.ended]).toEqual([true, false]);
  room.clock.advance(6 * MINUTE_MS);
  // It is given a moment to end by itself.
  await expect.poll(() => seen.ended, { timeout: 10_000 }).toBe(true);
  await expect.poll(() => isRunning(pid)).toBe(false);
});

it("tells viewers that the program has ended, and has no terminal any more [SCREEN-4]", async () => {
  const room = await rig();
  const { seen, type } = await room.watch();
  type("exit\r");
  await expect.poll(() => seen.ended, { timeout: 10_000 }).toBe(true);
  await expect.poll(() => room.sessions.terminal(room.row.uuid)).toBeUndefined();
  const without = await rig({ terminal: false });
  expect(without.sessions.terminal(without.row.uuid)).toBeUndefined();
});
