import { routes } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import { createStreamSlots, endpoint } from "../../../packages/gateway/src/http/index.ts";
import { streamTurn } from "../../../packages/gateway/src/http/sse.ts";
import { createTurnLog } from "../../../packages/gateway/src/sessions/turn-log.ts";
import { dial } from "../../fixtures/dial.ts";
import { httpConfig, startTestServer } from "../../fixtures/http-server.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { until } from "../../harness.ts";

const PATH = "/api/v1/agents/assistant/sessions/0d9f7cb8-9d1b-4b0b-9a53-5b0d1b3f8c55/stream?chat_id=me";

/** A turn streamed by a server whose clock stands still. */
async function streaming(gateway: Record<string, unknown> = {}) {
  const clock = manualClock();
  const log = createTurnLog("r");
  let ended = 0;
  let reading = 0;
  const stream = endpoint(routes.streamSession, async ({ res }) => {
    await streamTurn(res, log, {
      clock,
      keepaliveMs: 15_000,
      onReader(delta) {
        reading += delta;
      },
    });
    ended++;
    return { handled: true };
  });
  const server = await startTestServer({ clock, endpoints: [stream], gateway });
  const readers: { socket: { destroy(): void } }[] = [];
  const follow = async (key = "the-plain-key") => {
    const reader = await dial(server.port);
    readers.push(reader);
    reader.socket.write(`GET ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: ${key}\r\n\r\n`);
    return reader;
  };
  return {
    clock,
    log,
    server,
    follow,
    ended: () => ended,
    reading: () => reading,
    [Symbol.asyncDispose]() {
      for (const { socket } of readers) socket.destroy();
      return server[Symbol.asyncDispose]();
    },
  };
}

/** More than the sockets of both sides can hold. */
const fill = (log: ReturnType<typeof createTurnLog>) => {
  for (let count = 0; count < 64; count++) log.append({ type: "text_delta", text: "x".repeat(512 * 1024) });
};

describe("a client that stops reading a stream", () => {
  for (const over of [false, true]) {
    it(`loses its connection, and the turn's log goes on${over ? " to its end" : ""} [EDGE-1]`, async () => {
      await using rig = await streaming();
      const { clock, log, server } = rig;
      const reader = await rig.follow();
      await reader.gets("text/event-stream");
      reader.socket.pause();
      fill(log);
      if (over) log.append({ type: "result", text: "", session_id: "s" });
      await until(() => server.server.connections().waiting === 1, "the stream to be held up");
      clock.advance(55_000);
      expect(server.server.connections().open).toBe(1);
      clock.advance(35_000);
      await until(() => server.server.connections().open === 0 && rig.ended() === 1, "the end");
      if (!over) expect(log.append({ type: "text_delta", text: "on" })).toBeUndefined();
    });
  }
});

describe("who reads a stream", () => {
  it("is counted from its beginning to its end, however that comes [MON-4]", async () => {
    await using rig = await streaming();
    const [left, kept] = [await rig.follow(), await rig.follow()];
    await Promise.all([left.gets("text/event-stream"), kept.gets("text/event-stream")]);
    expect(rig.reading()).toBe(2);
    left.socket.destroy();
    await until(() => rig.ended() === 1, "the end of the first");
    expect(rig.reading()).toBe(1);
    rig.log.append({ type: "result", text: "", session_id: "s" });
    await kept.gets("[DONE]");
    await until(() => rig.ended() === 2, "the end of the second");
    expect(rig.reading()).toBe(0);
    const late = await rig.follow();
    await late.gets("[DONE]");
    await until(() => rig.ended() === 3, "the end of the third");
    expect(rig.reading()).toBe(0);
  });
});

describe("a stream whose key", () => {
  const keys = (entry: Record<string, unknown>) => ({
    api: { keys: [{ key: "the-admin-key", admin: true }, entry], rateLimit: false },
  });
  for (const [what, code, after] of [
    ["is removed", "API_KEY_INVALID", keys({ key: "another" })],
    ["loses the agent", "FORBIDDEN", keys({ key: "the-plain-key", agents: ["second"] })],
  ] as const) {
    it(`${what} ends with an error, the others go on [EDGE-5]`, async () => {
      await using rig = await streaming();
      const cut = await rig.follow();
      const kept = await rig.follow("the-admin-key");
      await Promise.all([cut.gets("text/event-stream"), kept.gets("text/event-stream")]);
      rig.log.append({ type: "text_delta", text: "one" });
      await cut.gets("one");
      rig.server.reconfigure(after);
      rig.server.server.recheck();
      await cut.gets("[DONE]");
      expect(cut.text()).toContain(`"code":"${code}"`);
      rig.log.append({ type: "text_delta", text: "two" });
      await kept.gets("two");
      expect(cut.text()).not.toContain("two");
      expect(rig.ended()).toBe(1);
    });
  }

  it("only says something else of itself goes on [EDGE-5]", async () => {
    await using rig = await streaming();
    const kept = await rig.follow();
    await kept.gets("text/event-stream");
    rig.server.reconfigure(keys({ key: "the-plain-key", agents: "*", description: "renamed", write: true }));
    rig.server.server.recheck();
    rig.log.append({ type: "text_delta", text: "still here" });
    await kept.gets("still here");
  });
});

describe("event streams of one key", () => {
  it("are at most maxStreams; a place that is given back can be taken again [EDGE-4]", () => {
    const config = httpConfig({ api: { keys: [], maxStreams: 2 } });
    const take = createStreamSlots(() => config.gateway.api.maxStreams);
    const first = take("a");
    take("a");
    expect(() => take("a")).toThrow(expect.objectContaining({ code: "RATE_LIMITED", status: 429 }));
    take("b");
    first[Symbol.dispose]();
    expect(take("a")).toBeDefined();
  });
});
