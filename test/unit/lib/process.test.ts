import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { type ManagedProcess, spawnProcess } from "../../../packages/gateway/src/lib/process.ts";
import { createReaper } from "../../../packages/gateway/src/lib/reaper.ts";
import { isRunning } from "../../fixtures/processes.ts";

const started: ManagedProcess[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
  await Promise.all(folders.splice(0).map((dir) => rm(dir, { recursive: true, force: true })));
});

async function temp() {
  const dir = await mkdtemp(join(tmpdir(), "agw-process-"));
  folders.push(dir);
  return dir;
}

async function run(script: string, over: Partial<Parameters<typeof spawnProcess>[0]> = {}) {
  let out = "";
  const child = await spawnProcess({
    command: [process.execPath, "-e", script],
    cwd: tmpdir(),
    env: { PATH: process.env.PATH ?? "" },
    log: silentLogger,
    onStdout: (chunk) => {
      out += chunk;
    },
    ...over,
  });
  started.push(child);
  return { child, out: () => out };
}

const GRANDCHILD = `
  const c = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  console.log(c.pid);`;

describe("a child process", () => {
  test("everything it wrote is handed on before its exit is told", async () => {
    const { child, out } = await run(
      `process.stdout.write("x".repeat(200000)); process.stderr.write("oops"); process.exitCode = 3`,
    );
    expect(await child.exited).toEqual({ code: 3, signal: null });
    expect(out().length).toBe(200_000);
    expect(child.stderrTail()).toBe("oops");
  });

  test("its exit takes what is left of its group with it", async () => {
    const { child, out } = await run(`${GRANDCHILD} setTimeout(() => process.exit(0), 50)`);
    await child.exited;
    await vi.waitFor(() => expect(isRunning(Number(out()))).toBe(false));
  });

  test("close is polite first, then ends the whole group by force", async () => {
    const polite = await run(`process.stdin.resume().on("end", () => process.exit(0))`);
    await polite.child.close();
    expect(await polite.child.exited).toEqual({ code: 0, signal: null });

    const stubborn = await run(`process.on("SIGTERM", () => {}); ${GRANDCHILD} setInterval(() => {}, 1000)`);
    await vi.waitFor(() => expect(stubborn.out()).not.toBe(""));
    await Promise.all([stubborn.child.close({ graceMs: 50 }), stubborn.child.close()]);
    expect((await stubborn.child.exited).signal).toBe("SIGKILL");
    await vi.waitFor(() => expect(isRunning(Number(stubborn.out()))).toBe(false));
  });

  test("writing to one that has ended neither throws nor hangs", async () => {
    const { child } = await run("process.stdin.destroy(); setTimeout(() => {}, 100)");
    for (let n = 0; n < 50; n++) void child.write("x".repeat(100_000));
    await child.exited;
    await child.write("more");
  });

  test("a large write waits until the child reads", async () => {
    const { child, out } = await run(
      `let n = 0; process.stdin.on("data", (c) => { n += c.length; }).on("end", () => console.log(n))`,
    );
    await child.write("x".repeat(5_000_000));
    await child.close({ graceMs: 5000 });
    expect(Number(out())).toBe(5_000_000);
  });

  test("what cannot be started is refused in one sentence without a path", async () => {
    await expect(run("", { command: ["no-such-program"] })).rejects.toThrow(
      "The agent program was not found.",
    );
    await expect(run("", { command: [] })).rejects.toThrow("No program is configured for the agent.");
    await expect(run("", { cwd: "/nonexistent-folder" })).rejects.toThrow(
      "The agent program could not be started: its working folder does not exist.",
    );
    const file = join(await temp(), "tool");
    await writeFile(file, "#!/bin/sh\n", { mode: 0o644 });
    await expect(run("", { command: [file] })).rejects.toThrow("The agent program may not be executed.");
  });
});

describe.skipIf(process.platform !== "linux")("no orphan after kill -9 of the gateway", () => {
  async function killedParent(kind: string) {
    const dir = await temp();
    const script = join(import.meta.dirname, "../../fixtures/orphan-parent.ts");
    const parent = spawn(process.execPath, [script, dir, kind], { stdio: ["ignore", "pipe", "inherit"] });
    const [chunk] = (await once(parent.stdout, "data")) as [Buffer];
    const pids = JSON.parse(String(chunk)) as number[];
    await vi.waitFor(async () => expect(await readdir(dir)).toHaveLength(1));
    parent.kill("SIGKILL");
    await once(parent, "exit");
    return { dir, pids };
  }

  test.each(["sleeper", "forker", "escapee"])(
    "%s: nothing of its tree is left after the next start",
    async (kind) => {
      const { dir, pids } = await killedParent(kind);
      const reaper = await createReaper({ dir, log: silentLogger });
      await reaper.reapLeftovers();
      await vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]));
      expect(await readdir(dir)).toEqual([]);
    },
  );

  test("children of a gateway that still runs, and strangers with a recorded pid, are left alone", async () => {
    const dir = await temp();
    const mine = await createReaper({ dir, log: silentLogger });
    const { child } = await run("setInterval(() => {}, 1000)", { reaper: mine });
    const stranger = await run("setInterval(() => {}, 1000)");
    const record = { pid: stranger.child.pid, start: "1", boot: "", owner: { pid: 999_999_999, start: "1" } };
    await writeFile(join(dir, String(record.pid)), JSON.stringify(record));
    await writeFile(join(dir, "garbage"), "{");
    const other = await createReaper({ dir, log: silentLogger });
    expect(await other.reapLeftovers()).toBe(0);
    expect(isRunning(child.pid)).toBe(true);
    expect(isRunning(stranger.child.pid)).toBe(true);
    await vi.waitFor(async () => expect(await readdir(dir)).toEqual([String(child.pid)]));
    await child.close({ graceMs: 10 });
    await vi.waitFor(async () => expect(await readdir(dir)).toEqual([]));
  });
});

describe.skipIf(process.platform !== "linux")("a descendant in a session of its own", () => {
  const ESCAPE = `
    const { spawn } = require("node:child_process");
    const far = spawn("sleep", ["300"], { detached: true, stdio: "ignore" });
    console.log(far.pid);
    setInterval(() => {}, 1000);`;

  test("ends with its child, while another child's goes on until the shutdown [REAP-1]", async () => {
    const reaper = await createReaper({ dir: await temp(), log: silentLogger });
    const [one, other] = [await run(ESCAPE, { reaper }), await run(ESCAPE, { reaper })];
    await vi.waitFor(() => expect([one.out(), other.out()]).not.toContain(""));
    const [far, kept] = [Number(one.out()), Number(other.out())];
    expect([far, kept].map(isRunning)).toEqual([true, true]);
    await one.child.close({ graceMs: 10 });
    await vi.waitFor(() => expect(isRunning(far)).toBe(false), 5_000);
    expect(isRunning(kept)).toBe(true);
    await reaper.sweepAll();
    await vi.waitFor(() => expect(isRunning(kept)).toBe(false), 5_000);
  });

  test("is found however many children end at once [REAP-1]", async () => {
    const reaper = await createReaper({ dir: await temp(), log: silentLogger });
    const children = await Promise.all(Array.from({ length: 5 }, () => run(ESCAPE, { reaper })));
    await vi.waitFor(() => expect(children.map(({ out }) => out())).not.toContain(""), 10_000);
    await Promise.all(children.map(({ child }) => child.close({ graceMs: 10 })));
    await vi.waitFor(() => expect(children.filter(({ out }) => isRunning(Number(out())))).toEqual([]), 5_000);
  });
});
