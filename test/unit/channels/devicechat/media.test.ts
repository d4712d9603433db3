import { createCipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import {
  decipher,
  fetchMedia,
  mediaUrl,
} from "../../../../packages/gateway/src/channels/devicechat/media.ts";

/** A file as WhatsApp keeps it. */
function sealed(content: Buffer, key: Buffer): Buffer {
  const keys = Buffer.from(hkdfSync("sha256", key, Buffer.alloc(32), "WhatsApp Image Keys", 112));
  const iv = keys.subarray(0, 16);
  const cipher = createCipheriv("aes-256-cbc", keys.subarray(16, 48), iv);
  const body = Buffer.concat([cipher.update(content), cipher.final()]);
  const mac = createHmac("sha256", keys.subarray(48, 80)).update(iv).update(body).digest().subarray(0, 10);
  return Buffer.concat([body, mac]);
}

const chunks = (bytes: Buffer, size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size));

test.each([1, 7, 16, 1_000])(
  "a file that comes in pieces of %i bytes is deciphered and proven",
  async (size) => {
    const key = randomBytes(32);
    const content = randomBytes(5_003);
    const plain = await buffer(
      Readable.from(chunks(sealed(content, key), size)).pipe(decipher("image", key)),
    );
    expect(plain.equals(content)).toBe(true);
  },
);

test.each([0, 100, -1])("a file with byte %i changed is damaged", async (at) => {
  const key = randomBytes(32);
  const bytes = sealed(randomBytes(5_003), key);
  const index = at < 0 ? bytes.length + at : at;
  bytes[index]! ^= 1;
  await expect(buffer(Readable.from([bytes]).pipe(decipher("image", key)))).rejects.toThrow(
    "it arrived damaged",
  );
});

test("only the provider's hosts are asked for files, or the host of a server of one's own", () => {
  const of = (ref: Record<string, string>, own?: string) => mediaUrl(ref, own)?.href;
  expect(of({ url: "https://mmg.whatsapp.net/v/a?x=1" })).toBe("https://mmg.whatsapp.net/v/a?x=1");
  expect(of({ url: "https://media-fra3-1.cdn.whatsapp.net/o/a", directPath: "/o/b?c=1" })).toBe(
    "https://media-fra3-1.cdn.whatsapp.net/o/b?c=1",
  );
  expect(of({ directPath: "/o/b" })).toBe("https://mmg.whatsapp.net/o/b");
  for (const url of [
    "http://mmg.whatsapp.net/a",
    "https://evil.example/a",
    "https://evilwhatsapp.net/a",
    "https://whatsapp.net.evil.example/a",
    "http://127.0.0.1:9/a",
    "file:///etc/passwd",
    "no url",
  ]) {
    expect(of({ url })).toBeUndefined();
    expect(of({ url, directPath: "/o/b" })).toBe("https://mmg.whatsapp.net/o/b");
  }
  expect(of({ directPath: "//evil.example/a" })).toBe("https://mmg.whatsapp.net//evil.example/a");
  expect(of({ directPath: "/\\evil.example/a" })).toBe("https://mmg.whatsapp.net//evil.example/a");
  expect(of({ url: "http://127.0.0.1:9/a" }, "ws://127.0.0.1:9/ws/chat")).toBe("http://127.0.0.1:9/a");
  expect(of({ url: "http://127.0.0.1:8/a" }, "ws://127.0.0.1:9/ws/chat")).toBeUndefined();
});

test("fetching says what is wrong", async () => {
  const key = randomBytes(32);
  const content = randomBytes(70_000);
  const server = createServer((request, response) => {
    if (request.url === "/gone") response.writeHead(410).end();
    else if (request.url === "/cut")
      response
        .writeHead(200, { "content-length": "90000" })
        .write("x".repeat(50_000), () => response.destroy());
    else if (request.url === "/away") response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
    else response.end(sealed(content, key));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const get = (path: string, mediaKey = key.toString("base64")) =>
    fetchMedia(
      { kind: "image", ref: { url: `http://${host}${path}`, mediaKey } },
      `ws://${host}/ws/chat`,
      new AbortController().signal,
    );
  expect((await buffer(await get("/file"))).equals(content)).toBe(true);
  await expect(get("/gone")).rejects.toThrow("it is no longer available at WhatsApp");
  await expect(get("/away")).rejects.toThrow("WhatsApp's file server cannot be reached");
  await expect(get("/file", "")).rejects.toThrow("WhatsApp did not say where it is");
  await expect(get("/cut").then(buffer)).rejects.toThrow();
});
