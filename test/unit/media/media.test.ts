import { mkdir, mkdtemp, open, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { GatewayError } from "@agent-gateway/contract";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Config } from "../../../packages/gateway/src/config/index.ts";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { createMedia, type Media, type Upload } from "../../../packages/gateway/src/media/index.ts";

const PNG = Buffer.from("\x89PNG\r\n\x1a\n and then whatever", "latin1");
const LIMIT = 1000;

let home: string;
let media: Media;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "media-"));
  media = createMedia({
    paths: { mediaDir: (agentId) => join(home, agentId, "media") },
    config: { current: { gateway: { media: { maxUploadBytes: LIMIT } } } as Config },
    clock: systemClock,
    log: silentLogger,
    takeSpace: () => {},
  });
});
afterEach(() => rm(home, { recursive: true, force: true }));

const upload = (content: Buffer | Readable = PNG, extra: Partial<Upload> = {}) =>
  media.upload("a", {
    contentType: "image/png",
    contentLength: content instanceof Readable ? undefined : content.length,
    filename: undefined,
    body: content instanceof Readable ? content : Readable.from([content], { objectMode: false }),
    ...extra,
  });
const codeOf = (action: Promise<unknown>) =>
  action.then(
    () => "done",
    (error) => (error instanceof GatewayError ? error.code : Promise.reject(error)),
  );
const read = async (path: string) => {
  const { handle, type } = await media.open("a", path);
  const content = await handle.readFile();
  await handle.close();
  return { content, mime: type.mime };
};
const leftovers = () => readdir(join(home, "a/media/.incoming")).catch(() => []);

describe("an upload", () => {
  it("is stored under month and id, private, and served back", async () => {
    const path = await upload();
    expect(path).toMatch(/^\d{4}-\d\d\/[0-9a-f-]{36}\.png$/);
    expect(await read(path)).toEqual({ content: PNG, mime: "image/png" });
    expect((await stat(join(home, "a/media", path))).mode & 0o777).toBe(0o600);
    expect(await leftovers()).toEqual([]);
  });

  it("keeps the extension of its name where that fits the content", async () => {
    const jpeg = Buffer.from("\xff\xd8\xff\xe0....", "latin1");
    const named = async (filename: string) =>
      (await upload(jpeg, { contentType: "image/jpg; x=y", filename })).split(".").at(-1);
    expect(await named("me.JPEG")).toBe("jpeg");
    expect(await named("me.jpg")).toBe("jpg");
    expect(await named("../../x.sh")).toBe("jpg");
    expect(await named("page.html")).toBe("jpg");
  });

  it("is refused by type, declared and real", async () => {
    for (const contentType of [undefined, "", "text/plain", "image/", "application/json", "image/*"]) {
      expect(await codeOf(upload(PNG, { contentType })), contentType).toBe("UNSUPPORTED_MEDIA_TYPE");
    }
    expect(await codeOf(upload(Buffer.from("<html>")))).toBe("UNSUPPORTED_MEDIA_TYPE");
    expect(await codeOf(upload(PNG, { contentType: "application/pdf" }))).toBe("UNSUPPORTED_MEDIA_TYPE");
    expect(await codeOf(upload(PNG, { contentType: "image/jpeg" }))).toBe("UNSUPPORTED_MEDIA_TYPE");
    expect(await leftovers()).toEqual([]);
  });

  it("is refused when it is empty", async () => {
    expect(await codeOf(upload(Buffer.alloc(0)))).toBe("INVALID_REQUEST");
    expect(await codeOf(upload(Readable.from([])))).toBe("INVALID_REQUEST");
    expect(await leftovers()).toEqual([]);
  });

  it("is refused by its announced length before a byte is read, and by what really comes", async () => {
    let reads = 0;
    const body = new Readable({
      read() {
        reads++;
        this.push(PNG);
      },
    });
    expect(await codeOf(upload(body, { contentLength: LIMIT + 1 }))).toBe("PAYLOAD_TOO_LARGE");
    expect(reads).toBe(0);
    expect(await codeOf(upload(body))).toBe("PAYLOAD_TOO_LARGE");
    expect(body.destroyed).toBe(false);
    expect(await leftovers()).toEqual([]);
    expect(await codeOf(upload(Buffer.concat([PNG, Buffer.alloc(LIMIT - PNG.length)])))).toBe("done");
  });

  it("leaves nothing when the client goes away in the middle", async () => {
    const body = new Readable({ read() {} });
    body.push(PNG);
    const result = codeOf(upload(body));
    setImmediate(() => body.destroy(new Error("aborted")));
    expect(await result).toBe("INVALID_REQUEST");
    const gone = new Readable({ read() {} });
    gone.push(PNG);
    gone.destroy();
    expect(await codeOf(upload(gone))).toBe("INVALID_REQUEST");
    expect(await leftovers()).toEqual([]);
  });

  it("leaves nothing of what a crash cut off, once the gateway starts again", async () => {
    await upload();
    await writeFile(join(home, "a/media/.incoming/half"), "x");
    const body = new Readable({ read() {} });
    body.push(PNG);
    const late = upload(body);
    await vi.waitFor(async () => expect(await leftovers()).toHaveLength(2));
    await media.sweep(["a", "unknown"]);
    expect(await leftovers()).toHaveLength(1);
    body.push(null);
    expect((await read(await late)).content).toEqual(PNG);
    expect(await leftovers()).toEqual([]);
  });

  it("never goes through a link that leads out of the media folder", async () => {
    await mkdir(join(home, "a/media"), { recursive: true });
    await mkdir(join(home, "elsewhere"));
    await symlink(join(home, "elsewhere"), join(home, "a/media", new Date().toISOString().slice(0, 7)));
    await expect(upload()).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await readdir(join(home, "elsewhere"))).toEqual([]);
    expect(await leftovers()).toEqual([]);
  });
});

describe("a stored file", () => {
  it("is found by its path alone: traversal is INVALID_REQUEST, the rest NOT_FOUND", async () => {
    const path = await upload();
    await writeFile(join(home, "a/secret"), "secret");
    await writeFile(join(home, "a/media/.incoming/part"), "x");
    await symlink(join(home, "a/secret"), join(home, "a/media/link"));
    const code = (wanted: string) => codeOf(media.open("a", wanted));
    for (const bad of ["../secret", "x/../../secret", "/etc/passwd", "", "a\\b", "%2e%2e/secret", "link"]) {
      expect(await code(bad), bad).toBe("INVALID_REQUEST");
    }
    for (const none of ["2026-11/none.png", path.slice(0, 7), ".incoming/part", ".incoming", `${path}/x`]) {
      expect(await code(none), none).toBe("NOT_FOUND");
    }
    expect(await codeOf(media.open("b", path))).toBe("NOT_FOUND");
  });

  it("goes to a turn as a path with its type, if it is this agent's", async () => {
    const path = await upload();
    expect(await media.resolveUpload("a", path)).toMatchObject({ mime: "image/png" });
    expect(await codeOf(media.resolveUpload("b", path))).toBe("INVALID_REQUEST");
    const tiff = await upload(Buffer.from("II*\0...."), { contentType: "image/tiff" });
    await expect(media.resolveUpload("a", tiff)).rejects.toThrow(/image\/tiff, which agents cannot read/);
    expect(await codeOf(media.resolveUpload("a", "../../etc/passwd"))).toBe("INVALID_REQUEST");
    expect(await codeOf(media.resolveUpload("a", join(home, "a/media", path)))).toBe("INVALID_REQUEST");
  });

  it("can be an image of the agent, or a copy of a file", async () => {
    const image = await media.storeImage("a", "image/png", PNG);
    expect((await read(image)).mime).toBe("image/png");
    expect(media.attachmentUrl("a", image)).toBe(`/api/v1/agents/a/media/${image}`);
    expect(await codeOf(media.storeImage("a", "image/png", Buffer.from("no image")))).toBe(
      "UNSUPPORTED_MEDIA_TYPE",
    );
    await writeFile(join(home, "original"), PNG);
    const handle = await open(join(home, "original"));
    const url = await media.keepImage("a", { handle });
    expect((await read(url.slice("/api/v1/agents/a/media/".length))).content).toEqual(PNG);
    expect((await handle.stat()).size).toBe(PNG.length);
    await handle.close();
  });
});
