import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Json, PNG } from "./fixtures/device-gateway.ts";
import { type Gateway, startGateway } from "./harness.ts";

const KEY = "sk-images-secret-0001";

/** What the service was asked, and how it answers next. */
let asked: Array<{ method: string; url: string; key: string | undefined; body: Json | undefined }> = [];
let answer: (path: string, body: Json | undefined) => { status?: number; body: unknown; type?: string };
let service: Server;
let gateway: Gateway;
const base = () => `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
const image = { b64_json: PNG.toString("base64") };

async function readBody(request: IncomingMessage): Promise<Json | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length > 0 ? (JSON.parse(Buffer.concat(chunks).toString()) as Json) : undefined;
}

beforeAll(async () => {
  service = createServer(async (request, response) => {
    const body = await readBody(request);
    asked.push({ method: request.method!, url: request.url!, key: request.headers.authorization, body });
    const { status = 200, body: sent, type = "application/json" } = answer(request.url!, body);
    response.writeHead(status, { "content-type": type });
    response.end(Buffer.isBuffer(sent) ? sent : JSON.stringify(sent));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => service.once("listening", resolve));
  const made = { baseUrl: `${base()}/v1/`, apiKey: KEY };
  gateway = await startGateway({
    gateway: {
      publicUrl: "https://bot.example/gateway",
      images: { ...made, model: "image-1" },
      videos: { ...made, model: "video-1" },
    },
  });
});
afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]();
  service?.close();
});
beforeEach(() => {
  asked = [];
  answer = () => ({ body: { data: [image] } });
});

const use = async (tool: string, input: Json, extra: Json = {}) => {
  const { body } = await gateway.send(`CALL ${tool} ${JSON.stringify(input)}`, extra);
  return body as { response: string; attachments?: Array<{ type: string; url: string; mime?: string }> };
};
const fetched = async (url: string) => {
  const reply = await gateway.request("GET", url);
  return Buffer.from(await reply.arrayBuffer());
};

describe("generate_image", () => {
  it("asks the service and attaches what it sends [GEN-1]", async () => {
    answer = () => ({ body: { data: [image, image] } });
    const { response, attachments } = await use("generate_image", { prompt: "a red dot", n: 2 });
    expect(response).toBe("Called: 2 images are attached to your reply.");
    expect(asked).toEqual([
      {
        method: "POST",
        url: "/v1/images/generations",
        key: `Bearer ${KEY}`,
        body: { model: "image-1", prompt: "a red dot", n: 2 },
      },
    ]);
    expect(attachments).toMatchObject([{ type: "image" }, { type: "image" }]);
    expect((await fetched(attachments![0]!.url)).equals(PNG)).toBe(true);
  });

  it("takes images that the service only names, without handing the key over [GEN-1]", async () => {
    answer = (path) =>
      path === "/made.png"
        ? { body: PNG, type: "image/png" }
        : { body: { data: [{ url: `${base()}/made.png` }] } };
    const { attachments } = await use("generate_image", { prompt: "x" });
    expect(asked.at(-1)).toMatchObject({ url: "/made.png", key: undefined });
    expect((await fetched(attachments![0]!.url)).equals(PNG)).toBe(true);
    answer = () => ({ body: { data: [{ url: "http://169.254.169.254/latest" }] } });
    expect((await use("generate_image", { prompt: "x" })).response).toMatch(/not encrypted/);
  });

  it("does what the message asks rather than what the agent says, for that message [GEN-2]", async () => {
    const said = { prompt: "x", model: "agents-choice", size: "small" };
    await use("generate_image", said, {
      chat_id: "wishes",
      image_params: { model: "mine", quality: "high", n: 1 },
    });
    expect(asked[0]!.body).toEqual({ prompt: "x", model: "mine", size: "small", quality: "high", n: 1 });
    await use("generate_image", said, { chat_id: "wishes" });
    expect(asked[1]!.body).toEqual({ prompt: "x", model: "agents-choice", size: "small" });
  });

  it("hands a reference over as a link that ends, for files that the agent may share [GEN-3]", async () => {
    const first = await use("generate_image", { prompt: "x" });
    await use("generate_image", { prompt: "bluer", image_ref: first.attachments![0]!.url });
    const link = asked[1]!.body!.image as string;
    expect(link).toMatch(/^https:\/\/bot\.example\/gateway\/shared\/[\w-]{43}$/);
    expect((await fetched(new URL(link).pathname)).equals(PNG)).toBe(true);
    const workspace = join(gateway.home, "agents/assistant/workspace");
    mkdirSync(workspace, { recursive: true });
    writeFileSync(join(workspace, "own.png"), PNG);
    await use("generate_image", { prompt: "x" }, { image_params: { image_ref: "own.png" } });
    expect(asked[2]!.body!.image).toMatch(/\/shared\//);
    for (const image_ref of ["/etc/passwd", "../../config.json", "nothing.png"]) {
      expect((await use("generate_image", { prompt: "x", image_ref })).response).toMatch(
        /image_ref cannot be/,
      );
    }
    expect(asked).toHaveLength(3);
  });

  it("says in one sentence what the service answered, without the key [GEN-6]", async () => {
    answer = () => ({ status: 400, body: { error: { message: `bad\n\nkey ${KEY} ${"x".repeat(5_000)}` } } });
    const { response } = await use("generate_image", { prompt: "x" });
    expect(response).toMatch(/^Called: The service answered 400: bad key \*\*\* x+$/);
    expect(response.length).toBeLessThan(400);
    for (const body of ["not JSON", { data: [] }, { data: [{}] }, { data: "x" }, null]) {
      answer = () => ({ body: typeof body === "string" ? Buffer.from(body) : body });
      expect((await use("generate_image", { prompt: "x" })).response).toMatch(/cannot be read|sent no image/);
    }
    answer = () => ({ body: { data: [{ b64_json: Buffer.from("no image").toString("base64") }] } });
    expect((await use("generate_image", { prompt: "x" })).attachments ?? []).toEqual([]);
    answer = () => ({ body: Buffer.alloc(33 * 1024 * 1024, 32) });
    expect((await use("generate_image", { prompt: "x" })).response).toMatch(/sent too much/);
    expect((await use("generate_image", {})).response).toMatch(/prompt is missing or wrong/);
  });
});

describe("generate_video", () => {
  const clip = Buffer.concat([Buffer.from("\0\0\0\x18ftypmp42", "latin1"), Buffer.alloc(2_000, 7)]);

  it("waits until it is made and attaches it; the message's parameters stand [GEN-4] [GEN-2]", async () => {
    answer = (path, body) => {
      if (body) return { body: { id: "video_1", status: "queued" } };
      if (path.endsWith("/content")) return { body: clip, type: "video/mp4" };
      return { body: { id: "video_1", status: "completed" } };
    };
    const { response, attachments } = await use(
      "generate_video",
      { prompt: "waves", duration: 4 },
      { video_params: { duration: 8, aspect_ratio: "16:9", resolution: "1280x720" } },
    );
    expect(response).toBe("Called: The video is attached to your reply.");
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "POST /v1/videos",
      "GET /v1/videos/video_1",
      "GET /v1/videos/video_1/content",
    ]);
    expect(asked[0]!.body).toEqual({
      model: "video-1",
      prompt: "waves",
      seconds: "8",
      size: "1280x720",
      aspect_ratio: "16:9",
    });
    expect(attachments).toMatchObject([{ type: "file", mime: "video/mp4", name: "video.mp4" }]);
    expect((await fetched(attachments![0]!.url)).equals(clip)).toBe(true);
  });

  it("tells when it was not made [GEN-4]", async () => {
    answer = (path, body) =>
      body
        ? { body: { id: "video_2", status: "completed" } }
        : path.endsWith("/content")
          ? { status: 404, body: { error: { message: "expired" } } }
          : { body: {} };
    expect((await use("generate_video", { prompt: "x" })).response).toBe(
      "Called: The service answered 404: expired",
    );
    answer = () => ({ body: { id: "../../x", status: "queued" } });
    expect((await use("generate_video", { prompt: "x" })).response).toMatch(/cannot be read/);
  });
});

it("are no tools where no service is configured [GEN-5]", async () => {
  await using plain = await startGateway({});
  const { body } = await plain.send("TOOLS");
  expect(body.response).toMatch(/share_file/);
  expect(body.response).not.toMatch(/generate_/);
});
