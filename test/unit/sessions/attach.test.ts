import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { AgentConfig } from "../../../packages/gateway/src/config/index.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { spawnProcess } from "../../../packages/gateway/src/lib/process.ts";
import { createScreenViews } from "../../../packages/gateway/src/lib/screen-views.ts";
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
  const views = createScreenViews(() => Buffer.from(`[screen]${screen}`));
  const program = await spawnProcess({
    // util-linux' script runs its command in a terminal of its own.
    command: ["/usr/bin/script", "-qfec", "PS1='$ ' /bin/sh -i", "/dev/null"],
    cwd,
    env: { PATH: process.env.PATH ?? "", TERM: "dumb" },
    log: silentLogger,
    onStdout(chunk) {
      screen = (screen + chunk).slice(-SCREEN_CHARS);
      views.write(chunk);
    },
  });
  const closed = program.exited.then(() => views.end());
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
      attach: (viewer) => ({ ...views.add(viewer), type: (keys) => void program.write(keys) }),
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
    runtimeFor: async () => ({ type: "agent-cli", open: ({ cwd }: { cwd: string }) => shell(cwd, terminal) }),
    sessionDir: (_: string, chat: string, id: string) => join(home, "sessions", chat, id),
    models: { contextWindow: () => undefined },
    tools: () => [],
    mcpServers: async () => ({}),
    counters: { received() {}, sent() {}, ended() {} },
    usage: { record: () => ({ change: [] }) },
    feed: { event: () => change() },
    step() {},
  } as unknown as SessionDeps);
  onTestFinished(() => sessions.close());
  const turn = await sessions.send({ agent, requestId: "r", chatId: "api-c", text: "begin", softMs: 30_000 });
  await turn.done;
  const row = (await sessions.find("a", "api-c", turn.sessionId))!;

  /** A viewer that takes this many pieces before it has to wait. */
  const watch = (room = Number.POSITIVE_INFINITY) => {
    const seen = { text: "", pieces: 0, ended: false, room };
    const attached = sessions.attach(row, {
      show(bytes) {
        seen.text += Buffer.from(bytes);
        return ++seen.pieces < seen.room;
      },
      ended() {
        seen.ended = true;
      },
    });
    return { seen, attached };
  };
  const pid = () => sessions.places()[0]?.runtime?.pid ?? 0;
  return { clock, sessions, row, watch, pid };
}
const shows = (seen: { text: string }, text: string) =>
  expect.poll(() => seen.text, { timeout: 10_000 }).toContain(text);

it("shows the screen, then what comes, to each viewer, and passes keys on [SCREEN-1]", async () => {
  const room = await rig();
  const one = room.watch();
  await shows(one.seen, "$ ");
  one.attached!.type("echo the answer is $((6 * 7))\r");
  await shows(one.seen, "the answer is 42");
  const other = room.watch();
  // It came later, and has it all in one piece.
  expect(other.seen).toMatchObject({ pieces: 1, text: expect.stringContaining("the answer is 42") });
  other.attached!.type("tty; echo $((2 + 1))rd\r");
  for (const { seen } of [one, other]) await shows(seen, "3rd");
  expect(other.seen.text).toContain("/dev/pts/");
  one.attached!.leave();
  const before = one.seen.pieces;
  other.attached!.type("echo $((3 + 1))th\r");
  await shows(other.seen, "4th");
  expect(one.seen.pieces).toBe(before);
});

it("keeps nothing for a viewer that is behind, which goes on with the present screen [SCREEN-2]", async () => {
  const room = await rig();
  const slow = room.watch(1);
  const quick = room.watch();
  quick.attached!.type("seq 1 20000; echo $((1 + 1))nd\r");
  await shows(quick.seen, "2nd");
  expect(slow.seen.pieces).toBe(1);
  slow.seen.room = Number.POSITIVE_INFINITY;
  slow.seen.text = "";
  slow.attached!.resume();
  expect(slow.seen.text).toMatch(/^\[screen\]/);
  expect(slow.seen.text).toContain("2nd");
  expect(slow.seen.text.length).toBeLessThan(2 * SCREEN_CHARS);
  // Who is up to date is not shown the screen once more.
  slow.attached!.resume();
  expect(slow.seen.pieces).toBe(2);
  quick.attached!.type("echo $((2 + 1))rd\r");
  await shows(slow.seen, "3rd");
});

it("does not end a process as idle while somebody types [SCREEN-3] [SCREEN-4]", async () => {
  const room = await rig();
  const { seen, attached } = room.watch();
  const pid = room.pid();
  for (let minute = 0; minute < 12; minute += 4) {
    attached!.type(" ");
    room.clock.advance(4 * MINUTE_MS);
  }
  expect([isRunning(pid), seen.ended]).toEqual([true, false]);
  room.clock.advance(6 * MINUTE_MS);
  // It is given a moment to end by itself.
  await expect.poll(() => seen.ended, { timeout: 10_000 }).toBe(true);
  await expect.poll(() => isRunning(pid)).toBe(false);
});

it("tells viewers that the program has ended, and attaches to nothing else [SCREEN-4]", async () => {
  const room = await rig();
  const { seen, attached } = room.watch();
  attached!.type("exit\r");
  await expect.poll(() => seen.ended, { timeout: 10_000 }).toBe(true);
  await expect.poll(() => room.watch().attached).toBeUndefined();
  const without = await rig({ terminal: false });
  expect(without.watch().attached).toBeUndefined();
});
