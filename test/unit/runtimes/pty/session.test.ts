import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../../packages/gateway/src/lib/clock.ts";
import { openInTerminal } from "../../../../packages/gateway/src/runtimes/pty/index.ts";
import type { OpenOptions } from "../../../../packages/gateway/src/runtimes/types.ts";
import { isRunning } from "../../../fixtures/processes.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { openOptions, runTurn } from "../open-options.ts";

const PROGRAM = join(import.meta.dirname, "../../../fixtures/fake-terminal.mjs");

async function open(flags: string[] = [], over: Partial<OpenOptions> = {}) {
  const home = await tempFolder();
  const options = openOptions({
    sessionId: randomUUID(),
    cwd: join(home, "ws"),
    sessionDir: join(home, "s"),
    ...over,
  });
  await Promise.all([options.cwd, options.sessionDir].map((path) => mkdir(path)));
  const session = await openInTerminal(
    {
      command: [process.execPath, PROGRAM, ...flags],
      args: [],
      hostEnv: { PATH: process.env.PATH, HOME: home },
      probe: async () => ({ claudeCode: false, flags: new Set(["--settings"]) }),
    },
    options,
  );
  onTestFinished(() => session.close());
  const projects = join(home, ".claude/projects");
  const folder = join(projects, options.cwd.replaceAll(/[^a-zA-Z0-9]/g, "-"));
  const records = join(folder, `${options.sessionId}.jsonl`);
  return { session, terminal: session.terminal!, options, home, folder, records };
}
const poll = <T>(look: () => T) => expect.poll(look, { timeout: 10_000, interval: 10 });

it("says what a person submits is at work until it ends, and ends it when asked [PTY-7] [PTY-3]", async () => {
  const busy: Promise<void>[] = [];
  const { session, terminal } = await open([], { onOccupied: (until) => busy.push(until) });
  await poll(() => terminal.reading()).toMatchObject({ ready: true });
  terminal.type("SAY by hand\r");
  await poll(() => busy.length).toBe(1);
  await busy[0];
  expect((await terminal.screen()).text).toContain("● by hand");

  terminal.type("SLOW 1000 20\r");
  await poll(() => busy.length).toBe(2);
  await poll(() => terminal.reading()).toMatchObject({ busy: true });
  await session.interrupt();
  await busy[1];
  await poll(() => terminal.reading()).toMatchObject({ ready: true, busy: false });
  // Nothing of it is part of the next turn.
  expect(await runTurn(session, "SAY mine")).toMatchObject({ text: "mine", outcome: { status: "done" } });
  expect(busy.length).toBe(2);
});

it("waits for a person's line and clears what they leave there [PTY-5]", async () => {
  const { session, terminal } = await open();
  await poll(() => terminal.reading()).toMatchObject({ ready: true });
  terminal.type("half a tho");
  const turn = runTurn(session, "hello");
  await poll(async () => (await terminal.screen()).text).toContain("❯ half a tho");
  await new Promise((done) => setTimeout(done, 300));
  expect((await terminal.screen()).text).not.toContain("Echo");
  terminal.type("\x7f".repeat(10));
  expect((await turn).text).toBe("Echo[1]: hello");
});

it("clears a person's line after 30 s, and then hands the message over alone [PTY-5]", async () => {
  let ahead = 0;
  const clock = { ...systemClock, elapsed: () => systemClock.elapsed() + ahead };
  const { session, terminal } = await open([], { clock });
  await poll(() => terminal.reading()).toMatchObject({ ready: true });
  terminal.type("half a tho");
  await poll(async () => (await terminal.screen()).text).toContain("❯ half a tho");
  const turn = runTurn(session, "hello");
  await poll(async () => {
    ahead += 5000;
    return (await terminal.screen()).text;
  }).not.toContain("half a tho");
  expect((await turn).text).toBe("Echo[1]: hello");
});

it("holds up no message for what was typed in the moment before one was submitted [PTY-5]", async () => {
  let type = () => {};
  const { session, terminal } = await open([], { acting: async () => type() });
  await poll(() => terminal.reading()).toMatchObject({ ready: true });
  type = () => terminal.type("y");
  await runTurn(session, "SAY one");
  type = () => {};
  // It went with the first message: nobody has text in the line.
  expect((await runTurn(session, "SAY two")).text).toBe("two");
});

it("pastes into an empty line what would be keys and commands otherwise [PTY-4]", async () => {
  const { session } = await open();
  expect((await runTurn(session, "/help me\x03\x1b[201~\rSAY x")).text).toBe("x");
  expect((await runTurn(session, "/help me")).text).toBe("Echo[2]:  /help me");
});

it("interrupts by a key, and notices a message that was only given back [PTY-2]", async () => {
  const { session, terminal } = await open();
  const slow = runTurn(session, "SLOW 1000 20");
  await poll(() => terminal.reading()).toMatchObject({ busy: true });
  await session.interrupt();
  expect((await slow).outcome).toMatchObject({ status: "interrupted", text: expect.stringMatching(/^w0 /) });

  const other = await open(["--keep-message"]);
  const pid = other.session.pid;
  const given = runTurn(other.session, "SLOW 1000 20");
  await poll(() => other.terminal.reading()).toMatchObject({ busy: true });
  await other.session.interrupt();
  expect((await given).outcome).toMatchObject({ status: "interrupted", text: "" });
  expect((await runTurn(other.session, "SAY next")).text).toBe("next");
  expect(other.session.pid).toBe(pid);
});

it("waits for the records of a turn whose end the program has told before [PTY-2]", async () => {
  const { session } = await open(["--late-records"]);
  for (const word of ["one", "two", "three"]) expect((await runTurn(session, `SAY ${word}`)).text).toBe(word);
});

it("ends a program that ignores Escape, with its children [PTY-10]", async () => {
  const { session, terminal } = await open(["--ignore-escape"]);
  const fork = Number((await runTurn(session, "FORK")).text);
  const { pid } = session;
  const turn = runTurn(session, "HANG");
  await poll(() => terminal.reading()).toMatchObject({ busy: true });
  await session.interrupt();
  expect((await turn).outcome.status).toBe("interrupted");
  await session.closed;
  await terminal.ended;
  await poll(() => [isRunning(pid!), isRunning(fork)]).toEqual([false, false]);
  expect((await runTurn(session, "x")).outcome).toMatchObject({ status: "failed", unread: true });
});

it("resumes the program's own session, else tells the conversation in the first paste [PTY-8]", async () => {
  const history = [
    { role: "user", text: "<one>" },
    { role: "assistant", text: "two" },
  ] as const;
  const { session, records } = await open(["--no-resume"], { resume: randomUUID(), history });
  const { text } = await runTurn(session, "CONTENT");
  expect(JSON.parse(text)).toMatch(
    /^<conversation_history>\n<message role="user">&lt;one&gt;<[\s\S]*\n\nCONTENT$/,
  );
  expect(records).toContain(session.resumeToken!);
  // Told once.
  expect(JSON.parse((await runTurn(session, "CONTENT")).text)).toBe("CONTENT");
});

it("is not held up by a program that prints 100 MB, nor grows by it [PTY-11]", async () => {
  const { session } = await open();
  await runTurn(session, "SAY warm");
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss - before);
  }, 50);
  const { text } = await runTurn(session, "PRINT 100");
  clearInterval(timer);
  delay.disable();
  expect(text).toBe("printed 100");
  expect(most / 2 ** 20).toBeLessThan(80);
  expect(delay.percentile(99) / 1e6).toBeLessThan(100);
});

it("draws the screen anew, and what follows comes once and whole, also in a flood [PTY-13]", async () => {
  const { session, terminal } = await open();
  await runTurn(session, "SAY ready");
  const all: Uint8Array[] = [];
  terminal.onOutput((bytes) => all.push(bytes));
  const turn = runTurn(session, "PRINT 8");
  const late: { from: number; bytes: Uint8Array[] }[] = [];
  for (let count = 0; count < 20; count++) {
    const snapshot = await terminal.snapshot();
    const mine = { from: Buffer.concat(all).length, bytes: [] as Uint8Array[] };
    terminal.onOutput((bytes) => mine.bytes.push(bytes));
    late.push(mine);
    expect(snapshot.length).toBeGreaterThan(100);
  }
  await turn;
  const whole = Buffer.concat(all);
  for (const { from, bytes } of late) expect(Buffer.concat(bytes).equals(whole.subarray(from))).toBe(true);
});

it.each([
  ["a link", (path: string) => symlink("/etc/hostname", path)],
  ["a pipe", (path: string) => promisify(execFile)("mkfifo", [path])],
  ["a folder", (path: string) => mkdir(path)],
])("fails a turn whose records %s has taken the place of [PTY-12]", async (_, make) => {
  const { session, terminal, records, folder } = await open();
  await poll(() => terminal.reading()).toMatchObject({ ready: true });
  await rm(records, { force: true });
  await mkdir(folder, { recursive: true });
  await make(records);
  const { outcome } = await runTurn(session, "HANG");
  expect(outcome).toMatchObject({
    status: "failed",
    error: "The agent program's records could not be read.",
  });
});

it("fails a turn whose records are a sparse giant, soon and in little memory [PTY-12]", async () => {
  const { session, terminal, records } = await open();
  await poll(() => terminal.reading()).toMatchObject({ ready: true });
  const turn = runTurn(session, "HANG");
  await poll(() => terminal.reading()).toMatchObject({ busy: true });
  await writeFile(records, "");
  await truncate(records, 2 ** 40);
  expect((await turn).outcome).toMatchObject({
    status: "failed",
    error: "The agent sent more data in one piece than the gateway accepts.",
  });
  await session.closed;
});
