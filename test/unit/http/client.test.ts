import { text } from "node:stream/consumers";
import { createClient, GatewayError, readSse, routes, type TurnFrame } from "@agent-gateway/contract";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endpoint, json } from "../../../packages/gateway/src/http/index.ts";
import { sampleEndpoints, startTestServer } from "../../fixtures/http-server.ts";

type Server = Awaited<ReturnType<typeof startTestServer>>;
let server: Server;
const frames = (...data: string[]) => data.map((line, i) => `id: ${i + 1}\ndata: ${line}\n\n`).join("");
const delta = (seq: number, said: string) =>
  JSON.stringify({ type: "text_delta", text: said, seq, request_id: "r" });

beforeAll(async () => {
  const send = endpoint(routes.sendMessage, ({ body, res }) => {
    if (!body.stream) {
      const reply = { request_id: "r", agent_id: "assistant", response: body.message, session_id: "s" };
      const none = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
      return json({ ...reply, duration_ms: 1, usage: { ...none, cost: 0, estimated: false } });
    }
    res.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
    if (body.message === "break") res.end(frames(delta(1, "half")));
    else res.end(`: keepalive\n\n${frames(delta(1, "สวัส"), delta(2, "ดี"))}data: [DONE]\n\n`);
    return { handled: true };
  });
  const upload = endpoint(routes.uploadMedia, async ({ req }) => json({ mediaPath: await text(req) }));
  const rest = sampleEndpoints().filter(({ decl }) => decl !== routes.greet);
  const greet = endpoint(routes.greet, () => ({ status: 204, empty: true }));
  const echo = endpoint(routes.getMedia, ({ params }) => ({
    status: 200,
    headers: { "Content-Type": "text/plain" },
    bytes: params["*"],
  }));
  server = await startTestServer({ endpoints: [...rest, greet, send, upload, echo] });
});
afterAll(() => server[Symbol.asyncDispose]());

const client = (key = "the-admin-key") => createClient({ baseUrl: `${server.url}/`, key });
const params = { agentId: "assistant" };
const body = { message: "hello", chat_id: "me" };
const collect = async (stream: AsyncIterable<TurnFrame>) => {
  const said: string[] = [];
  for await (const frame of stream) if (frame.type === "text_delta") said.push(frame.text);
  return said;
};

describe("the client", () => {
  it("calls routes by name with typed parts", async () => {
    expect(await client().call("health")).toEqual({ status: "ok" });
    expect((await client().call("sendMessage", { params, body })) satisfies object).toMatchObject({
      response: "hello",
    });
    const page = await client().call("listMessages", {
      params: { ...params, chatId: "api-a/b" },
      query: { limit: 7, order: undefined },
    });
    expect(page).toMatchObject({ nextCursor: 7, nextCursorId: 7 });
    expect(
      await client().call("deleteSession", {
        params: { ...params, sessionId: "s" },
        query: { chat_id: "me" },
      }),
    ).toBeUndefined();
  });

  it("throws the gateway's errors as they were", async () => {
    const wrong = client().call("createSession", { params, body: { chat_id: "" } });
    await expect(wrong).rejects.toMatchObject({
      code: "INVALID_CHAT_ID",
      status: 400,
      details: [{ path: "chat_id" }],
      extra: { request_id: expect.any(String) },
    });
    await expect(client("bad").call("listAgents")).rejects.toBeInstanceOf(GatewayError);
    const dead = createClient({ baseUrl: "http://127.0.0.1:1" }).call("health");
    await expect(dead).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
    const strange = createClient({
      baseUrl: "http://x",
      fetch: async () => new Response("<h1>", { status: 502 }),
    });
    await expect(strange.call("health")).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE", status: 502 });
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(client().call("health", { signal })).rejects.toThrow("enough");
  });

  it("streams a turn until [DONE], and says when it broke off", async () => {
    expect(await collect(client().stream("sendMessage", { params, body }))).toEqual(["สวัส", "ดี"]);
    await expect(
      collect(client().stream("sendMessage", { params, body: { ...body, message: "break" } })),
    ).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
    const none = client().stream("greet", { params, body: { chat_id: "me", session_id: "s" } });
    expect(await collect(none)).toEqual([]);
  });

  it("sends raw bodies and gives raw replies", async () => {
    expect(await client().call("uploadMedia", { params, body: new Blob(["bytes"]) })).toEqual({
      mediaPath: "bytes",
    });
    const file = await client().raw("getMedia", { params: { ...params, "*": "a b/c%2Fd.png" } });
    expect(await file.text()).toBe("a b/c%2Fd.png");
  });

  it("never lets a value change the route", async () => {
    for (const agentId of ["", ".", ".."]) {
      await expect(client().call("getAgent", { params: { agentId } })).rejects.toMatchObject({
        code: "INVALID_REQUEST",
      });
    }
    await expect(client().call("getAgent", { params: { agentId: "a/../../x?y#z" } })).rejects.toMatchObject({
      code: "AGENT_NOT_FOUND",
    });
  });
});

describe("the SSE reader", () => {
  const read = async (bytes: Uint8Array, sizes: number[]) => {
    const parts: Uint8Array[] = [];
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const size = sizes[i % sizes.length] ?? 1;
      parts.push(bytes.slice(at, at + size));
      at += size;
    }
    const events = [];
    for await (const event of readSse(streamOf(parts))) events.push(event);
    return events;
  };
  const streamOf = (parts: Uint8Array[]) =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        const part = parts.shift();
        if (part) controller.enqueue(part);
        else controller.close();
      },
    });

  it("reads the same events however the bytes are split and lines end", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: "grapheme", maxLength: 30 }), { maxLength: 6 }),
        fc.constantFrom("\n", "\r\n", "\r"),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        async (texts, end, sizes) => {
          const wire = texts.map(
            (said, i) =>
              `: comment${end}id: ${i}${end}data: ${JSON.stringify(said)}${end}data:x${end}other${end}${end}`,
          );
          const events = await read(new TextEncoder().encode(wire.join("")), sizes);
          expect(events).toEqual(
            texts.map((said, i) => ({ id: `${i}`, data: `${JSON.stringify(said)}\nx` })),
          );
        },
      ),
      { numRuns: 200 },
    );
  });

  it("reads a line of many megabytes in linear time", async () => {
    const line = "x".repeat(16 * 1024 * 1024);
    const started = performance.now();
    const events = await read(new TextEncoder().encode(`data: ${line}\n\n`), [64 * 1024]);
    expect(events[0]?.data.length).toBe(line.length);
    expect(performance.now() - started).toBeLessThan(3_000);
  });
});
