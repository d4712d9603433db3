import { readdir, symlink } from "node:fs/promises";
import { request as nodeRequest } from "node:http";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rowsOf } from "./fixtures/rows.ts";
import { type Gateway, KEYS, put, startGateway, until } from "./harness.ts";

const LIMIT = 200_000;
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const MEDIA = "/api/v1/agents/assistant/media";

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ gateway: { media: { maxUploadBytes: LIMIT } } });
});
afterAll(() => gateway[Symbol.asyncDispose]());

const folder = () => join(gateway.home, "agents/assistant/media");
const upload = (content: Buffer, headers: Record<string, string> = {}, key: string | null = KEYS.plain) =>
  gateway.json("POST", MEDIA, {
    key,
    headers: { "content-type": "image/png", ...headers },
    raw: content as unknown as BodyInit,
  });
const fetchMedia = (path: unknown, headers: Record<string, string> = {}, method = "GET") =>
  gateway.request(method, `${MEDIA}/${path}`, { key: KEYS.plain, headers });
const leftovers = () => readdir(join(folder(), ".incoming")).catch(() => []);

/** A request whose path goes out as it is; `fetch` would tidy it. */
function rawGet(path: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(gateway.url);
    const request = nodeRequest(
      { hostname, port, path, headers: { "x-api-key": KEYS.plain } },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    request.on("error", reject).end();
  });
}

describe("an upload", () => {
  it("is a raw body; its mediaPath fetches it back, and the extension of X-Filename is kept [MEDIA-1]", async () => {
    const { status, body } = await upload(PNG, { "x-filename": "cat.png" });
    expect(status).toBe(200);
    expect(body.mediaPath).toMatch(/^\d{4}-\d\d\/[0-9a-f-]{36}\.png$/);
    const reply = await fetchMedia(body.mediaPath);
    expect(reply.status).toBe(200);
    expect(Buffer.from(await reply.arrayBuffer()).equals(PNG)).toBe(true);
    const jpeg = Buffer.from("\xff\xd8\xff\xe0 jpeg", "latin1");
    const named = await upload(jpeg, { "content-type": "image/jpeg", "x-filename": "cat.jpeg" });
    expect(named.body.mediaPath).toMatch(/\.jpeg$/);
    const pdf = await upload(Buffer.from("%PDF-1.7\n"), { "content-type": "application/pdf" });
    expect(pdf.body.mediaPath).toMatch(/\.pdf$/);
  });

  it("is 400 without a body, 413 over the limit, 415 when it is unsupported or something else [MEDIA-2]", async () => {
    expect(await upload(Buffer.alloc(0))).toMatchObject({ status: 400, body: { code: "INVALID_REQUEST" } });
    expect(await upload(Buffer.concat([PNG, Buffer.alloc(LIMIT)]))).toMatchObject({
      status: 413,
      body: { code: "PAYLOAD_TOO_LARGE" },
    });
    const unsupported = { status: 415, body: { code: "UNSUPPORTED_MEDIA_TYPE" } };
    expect(await upload(PNG, { "content-type": "text/plain" })).toMatchObject(unsupported);
    expect(await upload(Buffer.from("<script>alert(1)</script>"))).toMatchObject(unsupported);
    expect(await upload(PNG, { "content-type": "application/pdf" })).toMatchObject(unsupported);
    expect(await leftovers()).toEqual([]);
  });

  it("is 413 also when its length is not announced, and the connection still carries the answer [MEDIA-2]", async () => {
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.concat([PNG, Buffer.alloc(64 * 1024)]);
      })(),
    );
    const { hostname, port } = new URL(gateway.url);
    const answer = await new Promise<{ status: number; code: unknown }>((resolve, reject) => {
      const request = nodeRequest(
        {
          hostname,
          port,
          method: "POST",
          path: MEDIA,
          headers: { "x-api-key": KEYS.plain, "content-type": "image/png", "transfer-encoding": "chunked" },
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => {
            text += chunk;
          });
          response.on("end", () => {
            resolve({ status: response.statusCode ?? 0, code: (JSON.parse(text) as { code: string }).code });
            request.destroy();
          });
        },
      );
      // Ends with an error as soon as the answer is there and the request is given up.
      pipeline(endless, request, () => reject(new Error("the connection broke before the answer")));
    });
    expect(answer).toEqual({ status: 413, code: "PAYLOAD_TOO_LARGE" });
    expect(await leftovers()).toEqual([]);
  });

  it("leaves nothing when its client goes away [MEDIA-2]", async () => {
    const { hostname, port } = new URL(gateway.url);
    const request = nodeRequest({
      hostname,
      port,
      method: "POST",
      path: MEDIA,
      headers: { "x-api-key": KEYS.plain, "content-type": "image/png", "content-length": 10_000 },
    });
    request.on("error", () => {});
    request.write(PNG);
    await until(async () => (await leftovers()).length === 1, "the temporary file");
    request.destroy();
    await until(async () => (await leftovers()).length === 0, "its removal");
  });

  it("reaches an agent's turn, ten at most, and only this agent's [MSG-4, MEDIA-1]", async () => {
    const { body } = await upload(PNG);
    const { body: reply } = await gateway.send("look", { media_files: [body.mediaPath] });
    expect(reply.response).toContain("img=1");
    for (const media_files of [
      Array(11).fill(body.mediaPath),
      ["2026-01/none.png"],
      ["../../../config.json"],
      [join(folder(), String(body.mediaPath))],
    ]) {
      const { status, body: refused } = await gateway.send("look", { media_files });
      expect([status, refused.code]).toEqual([400, "INVALID_REQUEST"]);
    }
    const other = await gateway.json("POST", "/api/v1/agents/second/messages", {
      body: { message: "look", chat_id: "me", media_files: [body.mediaPath] },
    });
    expect(other.status).toBe(400);
  });

  it("counts as named by the message that it came with, and so does an image of the reply [HIST-10]", async () => {
    const { body: uploaded } = await upload(PNG);
    await gateway.send("look", { media_files: [uploaded.mediaPath] });
    const { body: reply } = await gateway.send("IMAGE");
    const [image] = reply.attachments as Array<{ url: string }>;
    for (const path of [uploaded.mediaPath, image!.url.slice(`${MEDIA}/`.length)]) {
      const named = rowsOf(
        gateway,
        `SELECT 1 FROM message_media WHERE agent_id = 'assistant' AND path = '${path}'`,
      );
      expect(named, String(path)).toHaveLength(1);
    }
  });

  it("needs a key with access to the agent [AUTH-3]", async () => {
    expect((await upload(PNG, {}, null)).status).toBe(401);
    expect((await upload(PNG, {}, KEYS.other)).status).toBe(403);
    const { status, body } = await gateway.json("POST", "/api/v1/agents/none/media", {
      headers: { "content-type": "image/png" },
      raw: PNG as unknown as BodyInit,
    });
    expect([status, body.code]).toEqual([404, "AGENT_NOT_FOUND"]);
  });
});

describe("a served file", () => {
  it("has its type by content, nosniff, validators and byte ranges [MEDIA-3]", async () => {
    const { body } = await upload(PNG);
    const whole = await fetchMedia(body.mediaPath);
    expect(whole.headers.get("content-type")).toBe("image/png");
    expect(whole.headers.get("x-content-type-options")).toBe("nosniff");
    expect(whole.headers.get("content-disposition")).toMatch(/^inline/);
    await whole.arrayBuffer();
    const part = await fetchMedia(body.mediaPath, { range: "bytes=1-3" });
    expect([part.status, await part.text(), part.headers.get("content-range")]).toEqual([
      206,
      "PNG",
      `bytes 1-3/${PNG.length}`,
    ]);
    const past = await fetchMedia(body.mediaPath, { range: "bytes=9999-" });
    expect([past.status, past.headers.get("content-range")]).toEqual([416, `bytes */${PNG.length}`]);
    await past.arrayBuffer();
    const again = await fetchMedia(body.mediaPath, { "if-none-match": whole.headers.get("etag")! });
    expect(again.status).toBe(304);
    const head = await fetchMedia(body.mediaPath, {}, "HEAD");
    expect([head.status, head.headers.get("content-length")]).toEqual([200, String(PNG.length)]);
  });

  it("is a download when a browser could execute it, whatever its name says [MEDIA-3]", async () => {
    await put(folder(), "x/picture.png", "<html><script>alert(1)</script>");
    await put(folder(), "x/drawing.png", '<svg xmlns="http://www.w3.org/2000/svg"/>');
    const svg = await upload(Buffer.from("<svg/>"), { "content-type": "image/svg+xml" });
    for (const [path, type] of [
      ["x/picture.png", "text/html"],
      ["x/drawing.png", "image/svg+xml"],
      [svg.body.mediaPath, "image/svg+xml"],
    ]) {
      const reply = await fetchMedia(path);
      await reply.arrayBuffer();
      expect(reply.headers.get("content-type")).toBe(type);
      expect(reply.headers.get("content-disposition")).toMatch(/^attachment/);
      expect(reply.headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  it("is 404 when missing and 400 when the path leaves the folder; links out are not followed [MEDIA-4]", async () => {
    await put(folder(), "x/file.txt", "text");
    await put(gateway.home, "agents/assistant/secret.txt", "top secret");
    await symlink(join(gateway.home, "agents/assistant/secret.txt"), join(folder(), "x/link.txt"));
    await symlink(join(gateway.home, "agents"), join(folder(), "agents"));
    const statuses: Record<string, number> = {};
    for (const path of [
      "../secret.txt",
      "x/../../secret.txt",
      "..%2fsecret.txt",
      "%2e%2e/secret.txt",
      "x/%2e%2e%2f%2e%2e%2fsecret.txt",
      "..%5csecret.txt",
      "%252e%252e/secret.txt",
      "/etc/passwd",
      "x/link.txt",
      "agents/assistant/secret.txt",
    ]) {
      const { status, text } = await rawGet(`${MEDIA}/${path}`);
      expect(text).not.toMatch(/top secret|root:/);
      expect(text).not.toContain(gateway.home);
      statuses[path] = status;
    }
    expect(new Set(Object.values(statuses)), JSON.stringify(statuses)).toEqual(new Set([400]));
    expect((await rawGet(`${MEDIA}/x/none.txt`)).status).toBe(404);
    expect((await rawGet(`${MEDIA}/x`)).status).toBe(404);
    expect((await rawGet(`${MEDIA}/.incoming/x`)).status).toBe(404);
  });
});

describe("share_file", () => {
  it("stores an image as an attachment that can be fetched [MEDIA-5]", async () => {
    const image = await put(gateway.home, "agents/assistant/workspace/made.png", PNG);
    const { body } = await gateway.send(`SHARE ${image}`);
    expect(body.attachments).toEqual([{ type: "image", url: expect.stringContaining(MEDIA) }]);
    const [{ url }] = body.attachments as [{ url: string }];
    const reply = await gateway.request("GET", url, { key: KEYS.plain });
    expect(Buffer.from(await reply.arrayBuffer()).equals(PNG)).toBe(true);
  });

  it("refuses a path outside workspace, session and media with ARTIFACT_PATH_DENIED [MEDIA-5]", async () => {
    for (const path of ["/etc/passwd", join(gateway.home, "config.json")]) {
      const { body } = await gateway.send(`SHARE ${path}`);
      expect(body.response).toContain("ARTIFACT_PATH_DENIED");
      expect(body).not.toHaveProperty("attachments");
    }
  });
});
