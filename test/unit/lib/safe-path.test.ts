import { execFile } from "node:child_process";
import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openInside, openPinned, openWithin } from "../../../packages/gateway/src/lib/guarded/read.ts";
import { isWithin, PathError, safeSegments } from "../../../packages/gateway/src/lib/safe-path.ts";

let base: string;
let root: string;
beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "safe-path-")));
  root = join(base, "root");
  await mkdir(join(root, "sub"), { recursive: true });
  await mkdir(join(base, "root-sibling"));
  await writeFile(join(root, "sub", "a.txt"), "inside");
  await writeFile(join(base, "secret.txt"), "secret");
  await writeFile(join(base, "root-sibling", "b.txt"), "sibling");
  await symlink(join(base, "secret.txt"), join(root, "link-out"));
  await symlink(base, join(root, "dir-out"));
  await symlink(join(root, "sub"), join(root, "dir-in"));
  await symlink(join(root, "sub", "a.txt"), join(root, "link-in"));
  await promisify(execFile)("mkfifo", [join(root, "fifo")]);
});
afterAll(() => rm(base, { recursive: true, force: true }));

const problemOf = (opening: Promise<unknown>) =>
  opening.then(
    () => "opened",
    (error) => (error instanceof PathError ? error.problem : Promise.reject(error)),
  );
const read = async (opening: ReturnType<typeof openInside>) => {
  const { handle } = await opening;
  try {
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
};

describe("a relative path from outside", () => {
  it.each([
    "../secret.txt",
    "sub/../../secret.txt",
    "..",
    ".",
    "",
    "/etc/passwd",
    "//etc/passwd",
    "sub//a.txt",
    "sub/",
    "sub\\..\\a.txt",
    "C:/windows",
    "sub/a.txt\0.png",
    "sub/a\n.txt",
    "%2e%2e/secret.txt",
    "..%2fsecret.txt",
    "%2E%2E%5Csecret.txt",
    "a%00b",
  ])("is refused when it is %j", async (path) => {
    expect(await problemOf(openInside(root, path))).toBe("invalid");
  });

  it("is refused when it is longer than any path may be", async () => {
    expect(await problemOf(openInside(root, "x".repeat(5000)))).toBe("invalid");
  });

  it("opens a regular file inside, also through links that stay inside", async () => {
    expect(await read(openInside(root, "sub/a.txt"))).toBe("inside");
    expect(await read(openInside(root, "dir-in/a.txt"))).toBe("inside");
  });

  it("never follows a link out, nor opens what is no regular file", async () => {
    expect(await problemOf(openInside(root, "link-out"))).toBe("outside");
    expect(await problemOf(openInside(root, "dir-out/secret.txt"))).toBe("outside");
    expect(await problemOf(openInside(root, "sub"))).toBe("not-file");
    expect(await problemOf(openInside(root, "fifo"))).toBe("not-file");
    expect(await problemOf(openInside(root, "sub/none.txt"))).toBe("missing");
    expect(await problemOf(openInside(root, "sub/a.txt/none"))).toBe("missing");
    expect(await problemOf(openInside(join(base, "no-root"), "a.txt"))).toBe("missing");
  });

  it("never yields anything but proper names, whatever comes in", () => {
    const part = fc.oneof(
      fc.constantFrom("..", ".", "", "%2e%2e", "%2F", "\\", "\0", "a", "b.txt", "…", "sub"),
      fc.string({ unit: "binary", maxLength: 6 }),
    );
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 6 }),
        fc.constantFrom("/", "//", "\\", "%2f"),
        (parts, glue) => {
          let segments: string[];
          try {
            segments = safeSegments(parts.join(glue));
          } catch (error) {
            return error instanceof PathError;
          }
          const full = join("/srv/root", ...segments);
          const again = join(
            "/srv/root",
            ...segments.map((s) => (isDecodable(s) ? decodeURIComponent(s) : s)),
          );
          return isWithin("/srv/root", full) && isWithin("/srv/root", again) && full !== "/srv/root";
        },
      ),
      { numRuns: 2000 },
    );
  });
});

const isDecodable = (text: string) => {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
};

describe("an absolute path", () => {
  it("is opened when its true path lies inside one of the folders", async () => {
    expect(await read(openWithin([root], join(root, "sub/a.txt")))).toBe("inside");
    expect(await read(openWithin(["/nowhere", root], join(root, "link-in")))).toBe("inside");
    expect(await read(openWithin([join(root, "dir-in")], join(root, "sub/../sub/a.txt")))).toBe("inside");
  });

  it("is outside when it leads out, is relative, or lies in a folder with the same beginning", async () => {
    for (const path of [
      join(base, "secret.txt"),
      `${root}/../secret.txt`,
      join(root, "link-out"),
      join(root, "dir-out/secret.txt"),
      join(base, "root-sibling/b.txt"),
      "sub/a.txt",
      `${root}/a\0`,
      "/proc/self/environ",
    ]) {
      expect(await problemOf(openWithin([root], path)), path).toBe("outside");
    }
  });

  it("is missing only where it would lie inside, so that nothing is learnt about the rest", async () => {
    expect(await problemOf(openWithin([root], join(root, "sub/none/none.txt")))).toBe("missing");
    expect(await problemOf(openWithin([root], join(base, "none.txt")))).toBe("outside");
    expect(await problemOf(openWithin([root], join(root, "dir-out/none.txt")))).toBe("outside");
  });
});

describe("a pinned path", () => {
  it("opens while it is the same plain path, and not once a link took its place", async () => {
    const folder = join(root, "pinned");
    await mkdir(folder);
    await writeFile(join(folder, "f"), "first");
    expect(await read(openPinned(join(folder, "f")))).toBe("first");
    await rename(folder, join(base, "moved"));
    await symlink(join(base, "moved"), folder);
    expect(await problemOf(openPinned(join(folder, "f")))).toBe("outside");
    await rm(folder);
    expect(await problemOf(openPinned(join(folder, "f")))).toBe("missing");
  });
});

it("a folder that is swapped for a link between check and open leads nowhere", async () => {
  const folder = join(root, "raced");
  const aside = join(root, "raced-aside");
  const lure = join(base, "lure");
  await mkdir(folder);
  await mkdir(lure);
  await writeFile(join(folder, "f"), "inside");
  await writeFile(join(lure, "f"), "secret");
  let running = true;
  const swap = (async () => {
    while (running) {
      await rename(folder, aside);
      await symlink(lure, folder);
      await rm(folder);
      await rename(aside, folder);
    }
  })();
  const seen = new Set<string>();
  for (let round = 0; round < 400; round++) {
    seen.add(
      await read(openWithin([root], join(folder, "f"))).catch((error) => (error as PathError).problem),
    );
  }
  running = false;
  await swap;
  expect(seen).not.toContain("secret");
});
