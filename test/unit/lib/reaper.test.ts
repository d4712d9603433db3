import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { createReaper } from "../../../packages/gateway/src/lib/reaper.ts";
import { recordingLogger, tempFolder } from "../../fixtures/temp-home.ts";

const fault = vi.hoisted(() => ({ failing: false }));
vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  const readdir = (path: string) => {
    if (fault.failing && path === "/proc") throw new Error("EMFILE: too many open files");
    return real.readdir(path);
  };
  return { ...real, readdir };
});

test.runIf(process.platform === "linux")(
  "a look for what left its program's group that fails is made again [FAULT-9]",
  async () => {
    const reaper = await createReaper({ dir: await tempFolder(), log: recordingLogger() });
    const mark = reaper.mark();
    const stray = spawn("sleep", ["60"], { env: { ...process.env, ...mark.env }, detached: true });
    const gone = once(stray, "exit");
    fault.failing = true;
    await reaper.sweep(mark);
    fault.failing = false;
    await reaper.sweep(reaper.mark());
    expect(await gone).toEqual([null, "SIGKILL"]);
  },
);
