import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Attachment, GatewayError } from "@agent-gateway/contract";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Config } from "../../../packages/gateway/src/config/index.ts";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import {
  createShares,
  type OutgoingFile,
  type Shares,
  type ShareToolScope,
} from "../../../packages/gateway/src/shares/index.ts";
import type { Store } from "../../../packages/gateway/src/store/index.ts";
import { createStore, memoryDatabase } from "../../fixtures/memory-db.ts";

let base: string;
let db: ReturnType<typeof memoryDatabase>;
let store: Store;
/** What happens right after the row of a share was read. */
let meanwhile = async () => {};
let now = 1_000_000;
let shares: Shares;
let plain: Shares;
beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "shares-")));
  for (const folder of ["ws", "session", "media", "outside"]) await mkdir(join(base, folder));
  db = memoryDatabase();
  store = createStore(db);
});
afterAll(async () => {
  await store.close();
  await rm(base, { recursive: true, force: true });
});
beforeEach(async () => {
  await writeFile(join(base, "ws/report.txt"), "report");
  await writeFile(join(base, "ws/picture"), "\x89PNG\r\n\x1a\n", "latin1");
  await writeFile(join(base, "outside/secret"), "secret");
  meanwhile = async () => {};
  const { shares: rows, forAgent } = store;
  const make = (publicUrl?: string) =>
    createShares({
      store: {
        forAgent,
        shares: {
          ...rows,
          async byToken(tokenHash, at) {
            const found = await rows.byToken(tokenHash, at);
            await meanwhile();
            return found;
          },
        },
      },
      paths: { mediaDir: () => join(base, "media") },
      config: {
        current: {
          gateway: { publicUrl },
          agents: [{ id: "a", workspace: join(base, "ws") }],
        } as unknown as Config,
      },
      clock: { ...systemClock, now: () => now },
      log: silentLogger,
      keepImage: async () => "/api/v1/agents/a/media/x.png",
      async keepFile(_agentId, _file, name) {
        if (name === "huge.zip") throw new GatewayError("PAYLOAD_TOO_LARGE");
        return { path: `/copy/of/${name}`, name, mime: "text/plain", url: `/media/${name}`, size: 6 };
      },
    });
  shares = make("https://example.org/x/gateway");
  plain = make();
});

const scope = () => ({ agentId: "a", sessionId: "s", sessionDir: join(base, "session") });
const mint = async (path: string, ttl?: number) => (await shares.mint(scope(), [{ path }], ttl))[0]!;
const read = async (token: string) => {
  const { handle } = await shares.open(token);
  const text = await handle.readFile("utf8");
  await handle.close();
  return text;
};
const errorOf = (action: Promise<unknown>) =>
  action.then(
    () => {
      throw new Error("nothing was thrown");
    },
    (error) => error as GatewayError,
  );

describe("a share", () => {
  it("opens the file until it expires; only the hash of its token is stored", async () => {
    const item = await mint(join(base, "ws/report.txt"), 10);
    expect(item).toMatchObject({
      expires_at: now + 10_000,
      url: `https://example.org/x/gateway/shared/${item.token}`,
    });
    expect(Buffer.from(item.token, "base64url")).toHaveLength(32);
    expect(await read(item.token)).toBe("report");
    expect(JSON.stringify(db.all("SELECT * FROM shares"))).not.toContain(item.token);
    now += 10_000;
    expect((await errorOf(shares.open(item.token))).code).toBe("NOT_FOUND");
    await store.commit(...shares.housekeeping.changes());
    expect(await shares.agentOfShare(item.share_id)).toBeUndefined();
  });

  it("has no url without a public URL, whose path says where shares are reached", async () => {
    const [item] = await plain.mint(scope(), [{ path: join(base, "ws/report.txt") }]);
    expect(item).not.toHaveProperty("url");
    expect([shares.publicPath, plain.publicPath]).toEqual(["/x/gateway", undefined]);
  });

  it("answers everything else with one and the same NOT_FOUND", async () => {
    const revoked = await mint(join(base, "ws/report.txt"));
    expect(await shares.agentOfShare(revoked.share_id)).toBe("a");
    await shares.revoke("a", revoked.share_id);
    const gone = await mint(join(base, "ws/report.txt"));
    await rm(join(base, "ws/report.txt"));
    const replaced = await mint(join(base, "ws/picture"));
    await rm(join(base, "ws/picture"));
    await symlink(join(base, "outside/secret"), join(base, "ws/picture"));
    const errors = await Promise.all(
      [revoked.token, gone.token, replaced.token, "x", "../x", "A".repeat(43)].map((token) =>
        errorOf(shares.open(token)),
      ),
    );
    await rm(join(base, "ws/picture"));
    for (const error of errors) {
      expect(error).toMatchObject({ code: "NOT_FOUND", message: errors[0]!.message });
      expect(error.details).toBeUndefined();
    }
  });

  it("is not served when it is revoked or expires while its file is being opened [SHARE-9]", async () => {
    const once = (act: () => Promise<void>) => async () => {
      meanwhile = async () => {};
      await act();
    };
    const revoked = await mint(join(base, "ws/report.txt"));
    meanwhile = once(() => shares.revoke("a", revoked.share_id));
    expect((await errorOf(shares.open(revoked.token))).code).toBe("NOT_FOUND");
    const expired = await mint(join(base, "ws/report.txt"), 10);
    meanwhile = once(async () => {
      now += 10_000;
    });
    expect((await errorOf(shares.open(expired.token))).code).toBe("NOT_FOUND");
  });

  it("of a file that two ask for at once is two, each with a token of its own [SHARE-1]", async () => {
    const [one, two] = await Promise.all([
      mint(join(base, "ws/report.txt")),
      mint(join(base, "ws/report.txt")),
    ]);
    expect(one.token).not.toBe(two.token);
    await shares.revoke("a", one.share_id);
    expect(await read(two.token)).toBe("report");
    expect((await errorOf(shares.open(one.token))).code).toBe("NOT_FOUND");
  });

  it("holds the true path: a folder that is swapped for a link shares nothing", async () => {
    await mkdir(join(base, "ws/d"));
    await writeFile(join(base, "ws/d/secret"), "mine");
    const item = await mint(join(base, "ws/d/secret"));
    await rename(join(base, "ws/d"), join(base, "ws/e"));
    await symlink(join(base, "outside"), join(base, "ws/d"));
    expect((await errorOf(shares.open(item.token))).code).toBe("NOT_FOUND");
    await rm(join(base, "ws/d"));
    await rm(join(base, "ws/e"), { recursive: true });
  });

  it("is denied outside workspace, session and media folder; all or none", async () => {
    const before = db.all("SELECT id FROM shares").length;
    await symlink(join(base, "outside/secret"), join(base, "ws/link"));
    for (const path of [
      join(base, "outside/secret"),
      join(base, "ws/link"),
      "/etc/passwd",
      "report.txt",
      "/none",
    ]) {
      const refs = [{ path: join(base, "ws/report.txt") }, { path }];
      const error = await errorOf(shares.mint(scope(), refs));
      expect(error, path).toMatchObject({ code: "ARTIFACT_PATH_DENIED", status: 403 });
      expect(error.details).toEqual([expect.objectContaining({ path: "refs.1.path" })]);
    }
    await rm(join(base, "ws/link"));
    for (const path of [join(base, "ws/none"), join(base, "ws")]) {
      expect((await errorOf(shares.mint(scope(), [{ path }]))).code).toBe("INVALID_REQUEST");
    }
    expect(db.all("SELECT id FROM shares").length).toBe(before);
    for (const folder of ["session", "media"]) {
      await writeFile(join(base, folder, "f"), folder);
      expect(await read((await mint(join(base, folder, "f"))).token)).toBe(folder);
    }
  });
});

describe("a link for a provider that fetches files itself", () => {
  it("is one of a day to a file that the agent may share, at a public https address [CH-SIG-6]", async () => {
    const url = await shares.link("a", join(base, "ws/report.txt"));
    expect(url).toMatch(/^https:\/\/example\.org\/x\/gateway\/shared\//);
    const token = url!.split("/").at(-1)!;
    expect(await read(token)).toBe("report");
    now += 86_399_000;
    expect(await read(token)).toBe("report");
    now += 2_000;
    expect(await errorOf(shares.open(token))).toMatchObject({ code: "NOT_FOUND" });
    expect(await shares.link("a", join(base, "outside/secret"))).toBeUndefined();
    expect(await shares.link("a", join(base, "ws/none"))).toBeUndefined();
    expect(await plain.link("a", join(base, "ws/report.txt"))).toBeUndefined();
  });
});

describe("share_file", () => {
  const REPORT = { type: "file", url: "/media/report.txt", name: "report.txt", mime: "text/plain", size: 6 };
  const call = async (from: Shares, name: string, args: Record<string, unknown>, inChat = false) => {
    const attachments: Attachment[] = [];
    const files: OutgoingFile[] = [];
    const own: ShareToolScope = {
      ...scope(),
      onAttachment: (attachment) => attachments.push(attachment),
      takeShare() {},
    };
    const tool = from.tools(own).find((one) => one.name === name)!;
    // As with a process that was started before its session had a chat.
    if (inChat) own.onFile = (file) => files.push(file);
    const text = await tool.call(args).catch((error: Error) => `error: ${error.message}`);
    return { text, attachments, files };
  };

  it("attaches an image or any other file, and links it where there is a public URL [SHARE-5]", async () => {
    const image = await call(shares, "share_file", { path: join(base, "ws/picture"), caption: "a cat" });
    expect(image.attachments).toEqual([{ type: "image", url: "/api/v1/agents/a/media/x.png" }]);
    expect(image.text).toMatch(/attached[\s\S]*https:\/\/example\.org\/x\/gateway\/shared\/[\s\S]*a cat/);
    const file = await call(shares, "share_file", { path: join(base, "ws/report.txt") });
    expect(file.attachments).toEqual([REPORT]);
    expect(file.text).toContain("attached");
    const token = /shared\/([A-Za-z0-9_-]{43})/.exec(file.text)![1]!;
    expect(await read(token)).toBe("report");
    const unlinked = await call(plain, "share_file", { path: join(base, "ws/report.txt") });
    expect([unlinked.text, unlinked.attachments]).toEqual(["The file is attached to your reply.", [REPORT]]);
  });

  it("takes a path relative to the workspace, and none that leads out of it [SHARE-6]", async () => {
    expect((await call(plain, "share_file", { path: "report.txt" })).attachments).toEqual([REPORT]);
    expect((await call(plain, "share_file", { path: "./picture" })).attachments).toHaveLength(1);
    for (const path of ["../outside/secret", "/report.txt", "..", "."]) {
      const { text, attachments } = await call(plain, "share_file", { path });
      expect(text, path).toMatch(/^error: (?:ARTIFACT_PATH_DENIED|There is no file)/);
      expect(attachments).toEqual([]);
    }
  });

  it("sends a file that is no image into the session's chat, as a copy [CH-FILES-7]", async () => {
    for (const from of [shares, plain]) {
      const file = await call(from, "share_file", { path: join(base, "ws/report.txt") }, true);
      expect(file.files).toEqual([{ path: "/copy/of/report.txt", name: "report.txt", mime: "text/plain" }]);
      expect(file.text).toBe("The file will be sent with your reply.");
      expect(file.attachments).toEqual([REPORT]);
      const image = await call(from, "share_file", { path: join(base, "ws/picture") }, true);
      expect([image.files, image.attachments]).toMatchObject([[], [{ type: "image" }]]);
    }
    await writeFile(join(base, "ws/huge.zip"), "huge");
    const huge = { path: join(base, "ws/huge.zip") };
    expect((await call(shares, "share_file", huge, true)).text).toContain("/shared/");
    expect((await call(plain, "share_file", huge, true)).text).toBe("error: The file is too large to share.");
  });

  it("says what it cannot do", async () => {
    const denied = await call(shares, "share_file", { path: join(base, "outside/secret") });
    expect(denied.text).toMatch(/^error: ARTIFACT_PATH_DENIED/);
    expect(denied.text).not.toContain(base);
    expect((await call(shares, "share_file", { path: join(base, "ws/none") })).text).toMatch(/no file/);
    expect((await call(shares, "share_file", {})).text).toMatch(/path/);
    await writeFile(join(base, "ws/empty.txt"), "");
    expect((await call(plain, "share_file", { path: join(base, "ws/empty.txt") })).text).toBe(
      "error: The file is empty.",
    );
    expect((await call(plain, "share_file", { path: join(base, "ws/picture") })).attachments).toHaveLength(1);
  });

  it("has the older form share_image, for images alone", async () => {
    expect((await call(shares, "share_image", { path: join(base, "ws/picture") })).attachments).toHaveLength(
      1,
    );
    expect((await call(shares, "share_image", { path: join(base, "ws/report.txt") })).text).toMatch(
      /not an image/,
    );
  });
});
