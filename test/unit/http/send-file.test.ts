import { mkdtemp, open, rm, stat, truncate, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseRange, sendFile } from "../../../packages/gateway/src/http/send-file.ts";
import { detectFile } from "../../../packages/gateway/src/lib/file-type.ts";

describe("a Range header", () => {
  it.each([
    [undefined, "whole"],
    ["bytes=0-", { start: 0, end: 99 }],
    ["bytes=10-19", { start: 10, end: 19 }],
    ["bytes=90-500", { start: 90, end: 99 }],
    ["bytes=-5", { start: 95, end: 99 }],
    ["bytes=-500", { start: 0, end: 99 }],
    ["bytes=100-", "unsatisfiable"],
    ["bytes=-0", "unsatisfiable"],
    ["bytes=5-4", "whole"],
    ["bytes=-", "whole"],
    ["bytes=0-1,5-6", "whole"],
    ["items=0-1", "whole"],
    ["bytes=a-b", "whole"],
  ])("%s of 100 bytes is %j", (header, expected) => {
    expect(parseRange(header, 100)).toEqual(expected);
  });
  it("has nothing to take from an empty file", () => {
    expect(parseRange("bytes=0-", 0)).toBe("unsatisfiable");
    expect(parseRange("bytes=-1", 0)).toBe("unsatisfiable");
  });
});

describe("a sent file", () => {
  const content = Buffer.from("0123456789".repeat(100_000));
  let folder: string;
  let server: Server;
  let url: string;
  let beforeSend: () => Promise<void> = async () => {};
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "send-file-"));
    await writeFile(join(folder, "plain.txt"), content);
    await writeFile(join(folder, "page.html"), "<html>");
    await writeFile(join(folder, "empty"), "");
    await writeFile(join(folder, 'na"me ไทย.txt'), "named");
    server = createServer(async (req, res) => {
      const path = join(folder, decodeURIComponent(req.url!.slice(1)));
      const handle = await open(path);
      const file = { handle, path, stats: await handle.stat(), type: await detectFile(handle) };
      const reply = await sendFile(req, file);
      await beforeSend();
      if (!("status" in reply)) throw new Error("unexpected reply");
      res.writeHead(reply.status, reply.headers);
      if ("stream" in reply) pipeline(reply.stream, res, () => {});
      else res.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });
  const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    fetch(`${url}/${path}`, { headers, method });

  it("comes whole with its length, type and validators", async () => {
    const reply = await get("plain.txt");
    expect(reply.status).toBe(200);
    expect(Buffer.from(await reply.arrayBuffer()).equals(content)).toBe(true);
    expect(reply.headers.get("content-length")).toBe(String(content.length));
    expect(reply.headers.get("accept-ranges")).toBe("bytes");
    expect(reply.headers.get("content-disposition")).toBe('inline; filename="plain.txt"');
    expect(reply.headers.get("last-modified")).toBeTruthy();
  });

  it("comes as the bytes that a range names, across chunks", async () => {
    const reply = await get("plain.txt", { range: "bytes=262100-524300" });
    expect(reply.status).toBe(206);
    expect(reply.headers.get("content-range")).toBe(`bytes 262100-524300/${content.length}`);
    expect(await reply.text()).toBe(content.toString("latin1", 262_100, 524_301));
    const past = await get("plain.txt", { range: `bytes=${content.length}-` });
    expect(past.status).toBe(416);
    expect(past.headers.get("content-range")).toBe(`bytes */${content.length}`);
  });

  it("is not sent again to a client that has it, and a range only of the same file", async () => {
    const { headers } = await get("plain.txt", {}, "HEAD");
    const etag = headers.get("etag")!;
    const modified = headers.get("last-modified")!;
    expect((await get("plain.txt", { "if-none-match": `"x", W/${etag}` })).status).toBe(304);
    expect((await get("plain.txt", { "if-none-match": '"x"', "if-modified-since": modified })).status).toBe(
      200,
    );
    expect((await get("plain.txt", { "if-modified-since": modified })).status).toBe(304);
    const range = { range: "bytes=0-3" };
    expect((await get("plain.txt", { ...range, "if-range": etag })).status).toBe(206);
    expect((await get("plain.txt", { ...range, "if-range": modified })).status).toBe(206);
    expect((await get("plain.txt", { ...range, "if-range": '"other"' })).status).toBe(200);
  });

  it("answers HEAD with the headers alone, and an empty file with nothing", async () => {
    const head = await get("plain.txt", {}, "HEAD");
    expect(head.headers.get("content-length")).toBe(String(content.length));
    const empty = await get("empty");
    expect([empty.status, await empty.text(), empty.headers.get("content-length")]).toEqual([200, "", "0"]);
  });

  it("is a download when a browser could execute it; its name survives", async () => {
    const page = await get("page.html");
    expect(page.headers.get("content-type")).toBe("text/html");
    expect(page.headers.get("content-disposition")).toMatch(/^attachment;/);
    expect(page.headers.get("content-security-policy")).toContain("sandbox");
    const named = await get(encodeURIComponent('na"me ไทย.txt'));
    expect(named.headers.get("content-disposition")).toBe(
      `inline; filename="na_me ___.txt"; filename*=UTF-8''na%22me%20%E0%B9%84%E0%B8%97%E0%B8%A2.txt`,
    );
  });

  it("breaks off when the file becomes shorter, instead of letting the client wait", async () => {
    const path = join(folder, "shrinks.txt");
    await writeFile(path, content);
    beforeSend = () => truncate(path, 10);
    await expect(get("shrinks.txt").then((reply) => reply.arrayBuffer())).rejects.toThrow();
    beforeSend = async () => {};
    expect((await stat(path)).size).toBe(10);
  });
});
