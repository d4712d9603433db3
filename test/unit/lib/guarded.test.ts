import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { APPEND, openFolder } from "../../../packages/gateway/src/lib/guarded/folder.ts";
import { openByDescriptor, openByWalk } from "../../../packages/gateway/src/lib/guarded/open-true.ts";
import {
  identityOf,
  openInside,
  openPinned,
  openWithin,
  readInside,
  readNamed,
} from "../../../packages/gateway/src/lib/guarded/read.ts";
import { restrictState, writeState } from "../../../packages/gateway/src/lib/guarded/state.ts";
import { removeFolderBelow, removeFolderSoon } from "../../../packages/gateway/src/lib/guarded/tree.ts";
import { isWithin, PathError } from "../../../packages/gateway/src/lib/safe-path.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { root as project, put } from "../../harness.ts";

const CANARY = "CANARY outside of every workspace";
let base: string;
let root: string;
let outside: string;
beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "guarded-")));
  root = join(base, "workspace");
  outside = join(base, "outside");
  await put(root, "folder/file", "inside");
  await put(outside, "file", CANARY);
});
afterEach(() => rm(base, { recursive: true, force: true }));

const problemOf = (doing: Promise<unknown>) =>
  doing.then(
    () => "done",
    (error) => (error instanceof PathError ? error.problem : (error as { code?: string }).code),
  );

/** Runs `attempt` again and again while a child exchanges `folder` and a link to the folder outside. */
async function whileExchanged(attempt: () => Promise<unknown>, times: number): Promise<void> {
  const script = join(project, "test/fixtures/exchange-loop.mjs");
  const child = spawn(process.execPath, [script, join(root, "folder"), outside], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    await once(child.stdout, "data");
    for (let round = 0; round < times; round++) await attempt();
    expect(child.exitCode).toBeNull();
  } finally {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
}

describe("reading while a folder and a link are exchanged", () => {
  it("gets the file inside or nothing [FILE-1]", async () => {
    const seen = new Map<string, number>();
    await whileExchanged(async () => {
      const what = await openByDescriptor(join(root, "folder/file"), (path) => {
        if (!isWithin(root, path)) throw new PathError("outside");
      }).then(
        async ({ handle }) => handle.readFile("utf8").finally(() => handle.close()),
        (error) => (error as PathError).problem,
      );
      seen.set(what, (seen.get(what) ?? 0) + 1);
    }, 3_000);
    expect(seen.has(CANARY)).toBe(false);
    expect(seen.get("inside")).toBeGreaterThan(0);
    expect([...seen.keys()].filter((what) => !["inside", "missing", "outside"].includes(what))).toEqual([]);
  });

  it("a write lands inside or nowhere [FILE-5]", async () => {
    const seen = new Set<string | undefined>();
    await whileExchanged(async () => {
      const writing = openFolder(root, ["folder"]).then((folder) =>
        folder.write("written", "by the gateway").finally(() => folder.close()),
      );
      seen.add(await problemOf(writing));
    }, 300);
    expect(seen).toContain("done");
    expect(await readdir(outside)).toEqual(["file"]);
    expect(await readFile(join(outside, "file"), "utf8")).toBe(CANARY);
  });

  it("removing a folder removes links in it, not what they lead to [FILE-5]", async () => {
    await symlink(outside, join(root, "folder/link"));
    await removeFolderBelow(join(root, "folder"), 1);
    expect(await readdir(root)).toEqual([]);
    expect(await readdir(outside)).toEqual(["file"]);
  });

  it("removing a folder goes as deep as it is [REMOVE-1]", async () => {
    let at = join(root, "folder");
    for (let depth = 0; depth < 700; depth++) at = join(at, "d");
    await mkdir(at, { recursive: true });
    await writeFile(join(at, "file"), "");
    await removeFolderBelow(join(root, "folder"), 1);
    expect(await readdir(root)).toEqual([]);
  });

  it("removing a folder that fills faster than it empties is given up, and done later [REMOVE-1]", async () => {
    const folder = join(root, "folder");
    let filling = true;
    const fill = (async () => {
      for (let n = 0; filling; n++) await writeFile(join(folder, `${n}`), "").catch(() => {});
    })();
    const clock = manualClock();
    await expect(removeFolderBelow(folder, 1, { removeMs: 0 })).rejects.toThrow(/in time/);
    filling = false;
    await fill;
    await rm(folder, { recursive: true, force: true });
    await put(folder, "file", "");
    await symlink(outside, join(root, "link"));
    // Not a folder on the way at first: the attempt fails, and the next one finds what it needs.
    await rename(folder, join(root, "away"));
    await writeFile(folder, "");
    await expect(removeFolderSoon(join(folder, "inner"), 2, clock)).rejects.toThrow();
    await rm(folder);
    await put(folder, "inner/file", "");
    clock.advance(60_000);
    await expect.poll(() => readdir(folder)).toEqual([]);
    expect(clock.timers()).toBe(0);
  });
});

it("where a system does not tell paths, links out and what is no file are refused too [FILE-1]", async () => {
  const judge = (path: string) => {
    if (!isWithin(root, path)) throw new PathError("outside");
  };
  await symlink(outside, join(root, "out"));
  await symlink("folder", join(root, "in"));
  await promisify(execFile)("mkfifo", [join(root, "pipe")]);
  expect(await problemOf(openByWalk(join(root, "out/file"), judge))).toBe("outside");
  expect(await problemOf(openByWalk(join(root, "pipe"), judge))).toBe("not-file");
  const { handle } = await openByWalk(join(root, "in/file"), judge);
  expect(await handle.readFile("utf8").finally(() => handle.close())).toBe("inside");
});

describe("what is not a plain file", () => {
  it("keeps nobody waiting, however often it is opened [FILE-3]", async () => {
    await promisify(execFile)("mkfifo", [join(root, "pipe")]);
    const tries = Array.from({ length: 16 }, () => problemOf(readInside(root, "pipe", 100)));
    expect(new Set(await Promise.all(tries))).toEqual(new Set(["not-file"]));
    expect(await problemOf(readNamed(join(root, "pipe"), 100))).toBe("not-file");
    const folder = await openFolder(root, []);
    expect(await problemOf(folder.open("pipe", APPEND))).toBe("not-file");
    expect(await problemOf(readInside(root, "folder", 100))).toBe("not-file");
    await folder.close();
  });

  it.runIf(process.getuid?.() === 0)("a device is not read [FILE-3]", async () => {
    await promisify(execFile)("mknod", [join(root, "zero"), "c", "1", "5"]);
    expect(await problemOf(readInside(root, "zero", 100))).toBe("not-file");
    expect(await problemOf(openWithin([root], join(root, "zero")))).toBe("not-file");
  });

  it("a second hard link is refused, for reading and for adding to [FILE-1, FILE-5]", async () => {
    await link(join(outside, "file"), join(root, "hard"));
    expect(await problemOf(openInside(root, "hard"))).toBe("outside");
    expect(await problemOf(openWithin([root], join(root, "hard")))).toBe("outside");
    const folder = await openFolder(root, []);
    expect(await problemOf(folder.open("hard", APPEND))).toBe("outside");
    await folder.close();
  });

  it("costs no more than its cap [FILE-4]", async () => {
    const file = await open(join(root, "giant"), "w");
    await file.truncate(64 * 2 ** 30);
    await file.close();
    expect((await readInside(root, "giant", 1000)).length).toBe(1000);
  });
});

describe("a state folder", () => {
  const state = () => join(root, ".botchat-state");
  const spellings = [
    ".botchat-state/access.json",
    ".BotChat-State/access.json",
    ".botchat-\u017ftate/access.json",
    ".botchat-\u200bstate/access.json",
    ".devicechat-state/work/creds.json",
    "deep/.sigchat-state/x/y",
  ];
  it.each(spellings)("is never given out as %j [FILE-2]", async (path) => {
    await put(root, path, CANARY);
    expect(await problemOf(openWithin([root], join(root, path)))).toBe("outside");
    await symlink(join(root, path), join(root, "innocent"));
    expect(await problemOf(openWithin([root], join(root, "innocent")))).toBe("outside");
    await link(join(root, path), join(root, "hard"));
    expect(await problemOf(openWithin([root], join(root, "hard")))).toBe("outside");
  });

  it("is not given out where a link in its place leads [FILE-2]", async () => {
    await put(root, "real/access.json", CANARY);
    await symlink("real", state());
    expect(await problemOf(openWithin([root], join(root, "real/access.json")))).toBe("outside");
  });

  it("is 0700 with files 0600, whatever they were; links are left alone [FILE-7]", async () => {
    await put(root, ".botchat-state/approved/1", "1");
    await chmod(state(), 0o755);
    await chmod(join(state(), "approved"), 0o777);
    await chmod(join(state(), "approved/1"), 0o666);
    await chmod(join(outside, "file"), 0o644);
    await symlink(join(outside, "file"), join(state(), "link"));
    await link(join(outside, "file"), join(state(), "hard"));
    await restrictState(root);
    const modeOf = async (path: string) => (await stat(path)).mode & 0o777;
    expect(await modeOf(state())).toBe(0o700);
    expect(await modeOf(join(state(), "approved"))).toBe(0o700);
    expect(await modeOf(join(state(), "approved/1"))).toBe(0o600);
    expect(await modeOf(join(outside, "file"))).toBe(0o644);
  });

  it("that is a link is not written to, and is named [FILE-5]", async () => {
    await symlink(outside, state());
    const mode = (await stat(outside)).mode;
    await expect(writeState(join(state(), "access.json"), "{}")).rejects.toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining(".botchat-state") as string,
    });
    expect(await readdir(outside)).toEqual(["file"]);
    expect((await stat(outside)).mode).toBe(mode);
    await rm(state());
    await mkdir(state());
    await symlink(join(outside, "file"), join(state(), "access.json"));
    await expect(writeState(join(state(), "access.json"), "{}")).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await readFile(join(outside, "file"), "utf8")).toBe(CANARY);
  });
});

it("a pinned file is that very file, under its only name [FILE-6]", async () => {
  const path = join(root, "report");
  await writeFile(path, "first");
  const { handle, stats } = await openWithin([root], path);
  await handle.close();
  const reopen = async () => {
    const file = await openPinned(path, identityOf(stats));
    return file.handle.readFile("utf8").finally(() => file.handle.close());
  };
  expect(await reopen()).toBe("first");
  await writeFile(path, "changed");
  expect(await reopen()).toBe("changed");
  await link(path, join(root, "second"));
  expect(await problemOf(reopen())).toBe("outside");
  await rm(path);
  await writeFile(path, "another file");
  await rm(join(root, "second"));
  expect(await problemOf(reopen())).toBe("missing");
});
