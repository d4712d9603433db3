import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { type LoggedSpawn, spawnLogged } from "../../../packages/gateway/src/lib/logged-process.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { createReaper } from "../../../packages/gateway/src/lib/reaper.ts";
import { createRunLog, openRunLog, type RunLogReader } from "../../../packages/gateway/src/lib/run-log.ts";
import { isRunning } from "../../fixtures/processes.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";

/** Writes wait for this. */
const disk = vi.hoisted((): { held: Promise<void> | undefined } => ({ held: undefined }));
vi.mock(import("node:fs/promises"), async (original) => {
  const real = await original();
  const open: typeof real.open = async (...args) => {
    const handle = await real.open(...args);
    const write = handle.write.bind(handle) as (...all: unknown[]) => Promise<never>;
    handle.write = async (...all: unknown[]) => {
      await disk.held;
      return write(...all);
    };
    return handle;
  };
  return { ...real, open };
});

const MIB = 1024 * 1024;

/** Starts a shell script. */
async function run(script: string, over: Partial<LoggedSpawn> = {}) {
  const logDir = join(await tempFolder(), "log");
  const program = await spawnLogged({
    command: ["/bin/sh", "-c", script],
    cwd: "/",
    env: { PATH: process.env.PATH ?? "" },
    log: silentLogger,
    logDir,
    maxLogBytes: MIB,
    ...over,
  });
  onTestFinished(async () => void (await program.stop(0)));
  return { program, logDir };
}

async function textOf(log: RunLogReader, at = 0): Promise<string> {
  let text = "";
  for await (const { bytes } of log.follow(at)) text += bytes;
  return text;
}

it("keeps what the program writes, in order, and tells how it ended [RUN-1] [RUN-4]", async () => {
  const { program, logDir } = await run(
    "echo one; sleep 0.05; echo two >&2; sleep 0.05; printf three; exit 7",
  );
  expect(await program.exited).toEqual({ code: 7, signal: null });
  expect(await textOf(program.log)).toBe("one\ntwo\nthree");
  expect(program.stderrTail()).toBe("two\n");
  expect(await textOf(program.log, 4)).toBe("two\nthree");
  expect(await textOf(await openRunLog(logDir))).toBe("one\ntwo\nthree");
});

it("is followed while it runs, by readers that come and go [RUN-1]", async () => {
  const { program } = await run(
    'echo ready; read line; while [ ! -e "$GO" ]; do sleep 0.02; done; echo more',
    {
      env: { PATH: process.env.PATH ?? "", GO: join(await tempFolder(), "go") },
    },
  );
  const first = program.log.follow(0)[Symbol.asyncIterator]();
  expect(String((await first.next()).value.bytes)).toBe("ready\n");
  // One that waits leaves when it is told to, or by itself.
  const leave = new AbortController();
  const waiting = program.log.follow(6, leave.signal)[Symbol.asyncIterator]().next();
  leave.abort();
  expect((await waiting).done).toBe(true);
  const next = first.next();
  expect(await program.stop()).toEqual({ code: null, signal: "SIGTERM" });
  expect((await next).done).toBe(true);
});

it("goes on when it has closed its output, and ends with its code [RUN-4]", async () => {
  const { program } = await run("echo said; exec >&- 2>&-; sleep 2.3; exit 9");
  expect(await program.exited).toEqual({ code: 9, signal: null });
  expect(await textOf(program.log)).toBe("said\n");
});

it("keeps the newest of a large output in little memory, and its end whole [RUN-2] [RUN-3]", async () => {
  const before = process.memoryUsage();
  let most = 0;
  const { program, logDir } = await run("head -c 200000000 /dev/zero | tr '\\0' 'x'; echo; echo the end");
  const watch = setInterval(() => {
    const { arrayBuffers, heapUsed } = process.memoryUsage();
    most = Math.max(most, arrayBuffers + heapUsed - before.arrayBuffers - before.heapUsed);
  }, 20);
  onTestFinished(() => clearInterval(watch));
  expect(await program.exited).toEqual({ code: 0, signal: null });
  expect(most).toBeLessThan(128 * MIB);
  const sizes = await Promise.all(
    (await readdir(logDir)).map(async (name) => (await stat(join(logDir, name))).size),
  );
  const kept = sizes.reduce((sum, size) => sum + size, 0);
  expect(kept).toBeLessThanOrEqual(MIB);
  expect(kept).toBeGreaterThan(MIB / 2);
  const { value: piece } = await program.log.follow(0)[Symbol.asyncIterator]().next();
  expect(piece.at).toBe(200_000_009 - kept);
  expect(await textOf(program.log)).toMatch(/^x+\nthe end\n$/);
  expect(program.log.lost).toBe(0);
});

it("shows a reader that is behind what it missed [RUN-2]", async () => {
  const log = await createRunLog(join(await tempFolder(), "log"), { maxBytes: 400 });
  const reader = log.follow(0)[Symbol.asyncIterator]();
  log.write(Buffer.from("a".repeat(50)));
  expect((await reader.next()).value).toMatchObject({ at: 0, bytes: Buffer.from("a".repeat(50)) });
  for (const letter of "bcdefghij") log.write(Buffer.from(letter.repeat(100)));
  await log.close();
  const seen: [number, string][] = [];
  for await (const { at, bytes } of { [Symbol.asyncIterator]: () => reader }) seen.push([at, String(bytes)]);
  expect(seen[0]![0]).toBeGreaterThanOrEqual(550);
  let position = seen[0]![0];
  for (const [at, text] of seen) {
    expect(at).toBe(position);
    position += text.length;
  }
  expect(position).toBe(950);
  expect(seen.at(-1)![1].endsWith("j")).toBe(true);
});

it("does without a disk that takes nothing, and says how much was lost [RUN-3]", async () => {
  const folder = await tempFolder();
  const [logDir, go] = [join(folder, "log"), join(folder, "go")];
  const { program } = await run('echo kept; while [ ! -e "$GO" ]; do sleep 0.02; done; echo lost; exit 3', {
    logDir,
    env: { PATH: process.env.PATH ?? "", GO: go },
    // So small that the next line begins a new file.
    maxLogBytes: 16,
  });
  await program.log.follow(0)[Symbol.asyncIterator]().next();
  await rm(logDir, { recursive: true });
  await writeFile(logDir, "no folder");
  await writeFile(go, "");
  expect(await program.exited).toEqual({ code: 3, signal: null });
  expect(program.log.lost).toBeGreaterThan(0);
});

it("leaves no file for each piece that a full disk did not take [RUN-3]", async () => {
  const dir = join(await tempFolder(), "log");
  let written = () => {};
  const log = await createRunLog(dir, { maxBytes: 4096, onWritten: () => written() });
  const put = async (text: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    written = resolve;
    log.write(Buffer.from(text));
    await promise;
  };
  disk.held = Promise.reject(new Error("ENOSPC"));
  disk.held.catch(() => {});
  for (let n = 0; n < 20; n++) await put("lost");
  expect(await readdir(dir)).toEqual([]);
  expect(log.lost).toBe(80);
  disk.held = undefined;
  await put("kept");
  expect(await readdir(dir)).toEqual(["80"]);
  await log.close();
});

it("waits with a program that writes faster than the disk takes it [RUN-3]", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  disk.held = promise;
  const { program, logDir } = await run("yes | head -c 20000000", { maxLogBytes: 64 * MIB });
  await expect.poll(() => program.log.waiting).toBeGreaterThan(MIB);
  for (let turn = 0; turn < 200; turn++) await new Promise((next) => setImmediate(next));
  expect(program.log.waiting).toBeLessThan(2 * MIB);
  expect(isRunning(program.pid)).toBe(true);
  resolve();
  expect(await program.exited).toEqual({ code: 0, signal: null });
  expect((await textOf(await openRunLog(logDir))).length).toBe(20_000_000);
});

it("is stopped with all that it started, by force if need be [RUN-5]", async () => {
  const stop = new AbortController();
  const { program } = await run('trap "" TERM; sleep 1000 & echo $!; wait; sleep 1000', {
    signal: stop.signal,
  });
  const { value } = await program.log.follow(0)[Symbol.asyncIterator]().next();
  const child = Number(value.bytes);
  expect(isRunning(child)).toBe(true);
  stop.abort();
  // It ignores the polite request, and so do its children.
  void program.stop(100);
  expect(await program.exited).toEqual({ code: null, signal: "SIGKILL" });
  await expect.poll(() => isRunning(child)).toBe(false);
});

it("says that a program does not exist, and leaves nothing open", async () => {
  await expect(run("", { command: ["/no/such/program"] })).rejects.toThrow("was not found");
  const gone = AbortSignal.abort(new Error("too late"));
  await expect(run("echo", { signal: gone })).rejects.toThrow("too late");
});

it("goes with the gateway, and what escapes goes at the next start; its log can be read [RUN-5]", async () => {
  const folder = await tempFolder();
  const [records, logDir] = [join(folder, "children"), join(folder, "log")];
  const script = new URL("../../fixtures/orphan-parent.ts", import.meta.url).pathname;
  const parent = spawn(process.execPath, [script, records, "escapee", logDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const pids = JSON.parse(String(line)) as number[];
  parent.kill("SIGKILL");
  await once(parent, "exit");
  const reaper = await createReaper({ dir: records, log: silentLogger });
  await reaper.reapLeftovers();
  for (const pid of pids) await expect.poll(() => isRunning(pid)).toBe(false);
  expect(await textOf(await openRunLog(logDir))).toBe(String(line));
});
