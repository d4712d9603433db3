import { routes } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import { type FeedSource, streamFeed } from "../../../packages/gateway/src/http/feed-stream.ts";
import { endpoint } from "../../../packages/gateway/src/http/index.ts";
import { dial } from "../../fixtures/dial.ts";
import { startTestServer } from "../../fixtures/http-server.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { until } from "../../harness.ts";

const PAGE = 50;
const KILOBYTES = "x".repeat(10_000);

/** A feed of `last` events, streamed by a server whose clock stands still. */
async function streaming() {
  const clock = manualClock();
  const listeners = new Set<(closing: boolean) => void>();
  let last = 0;
  /** How often each reader, by its key, has read. */
  const reads: Record<string, number> = {};
  let failure: Error | undefined;
  /** The readers are not to be told of what happens. */
  let silent = false;
  const tell = (count: number) => {
    last += count;
    for (const listener of listeners) listener(false);
  };
  const stream = endpoint(routes.events, async ({ res, req, requestId }) => {
    const key = String(req.headers["x-api-key"]);
    const source: FeedSource = {
      async read(after) {
        reads[key] = (reads[key] ?? 0) + 1;
        const upTo = Math.min(last, after + PAGE);
        await Promise.resolve();
        if (failure) throw failure;
        const events = Array.from({ length: upTo - after }, (_, at) => {
          const seq = after + at + 1;
          const event = { id: `evt_${seq}`, type: "t", timestamp: "", data: { text: KILOBYTES } };
          return { seq, event };
        }).slice(0, silent ? 0 : PAGE);
        return { events, more: upTo < last, upTo };
      },
      follow(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    };
    await streamFeed(res, source, { after: 0, requestId, clock, keepaliveMs: 15_000 });
    return { handled: true };
  });
  const server = await startTestServer({ clock, endpoints: [stream] });
  const readers: { socket: { destroy(): void } }[] = [];
  const follow = async (key = "the-plain-key") => {
    const reader = await dial(server.port);
    readers.push(reader);
    reader.socket.write(`GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: ${key}\r\n\r\n`);
    await reader.gets("text/event-stream");
    return reader;
  };
  return {
    clock,
    listeners,
    reads,
    tell,
    follow,
    silence() {
      silent = true;
    },
    fail(error: Error) {
      failure = error;
    },
    close() {
      for (const listener of listeners) listener(true);
    },
    [Symbol.asyncDispose]() {
      for (const { socket } of readers) socket.destroy();
      return server[Symbol.asyncDispose]();
    },
  };
}

const numbers = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

describe("a stream of the feed", () => {
  it("waits with a reader that does not read, whom it then tells everything once, and holds up no other [EVENT-10]", async () => {
    await using rig = await streaming();
    const slow = await rig.follow();
    slow.socket.pause();
    const quick = await rig.follow("the-all-key");
    // Far more than both sides' sockets hold.
    const many = 4_000;
    for (let told = 0; told < many; told += 100) rig.tell(100);
    await until(() => numbers(quick.text()).length === many, "the quick reader to have everything");
    const before = rig.reads["the-plain-key"]!;
    expect(before).toBeLessThan(many / PAGE / 2);
    rig.tell(1);
    await until(() => numbers(quick.text()).length === many + 1, "one more");
    expect(rig.reads["the-plain-key"]).toBe(before);
    slow.socket.resume();
    await until(() => numbers(slow.text()).length >= many + 1, "the slow reader to have everything");
    expect(numbers(slow.text())).toEqual(upTo(many + 1));
    expect(numbers(quick.text())).toEqual(upTo(many + 1));
  });

  it("misses nothing that is told while it reads [EVENT-2]", async () => {
    await using rig = await streaming();
    const reader = await rig.follow();
    for (let told = 0; told < 50; told++) {
      rig.tell(1);
      if (told % 7 === 0) await new Promise(setImmediate);
    }
    await until(() => numbers(reader.text()).length >= 50, "50 events");
    expect(numbers(reader.text())).toEqual(upTo(50));
  });

  it("keeps alive, ends after what was told last, and is forgotten when its reader leaves [EVENT-6]", async () => {
    await using rig = await streaming();
    const gone = await rig.follow();
    const reader = await rig.follow();
    expect(rig.listeners.size).toBe(2);
    gone.socket.destroy();
    await until(() => rig.listeners.size === 1, "the reader to be forgotten");
    rig.clock.advance(15_000);
    await reader.gets(": keepalive\n\n");
    rig.tell(1);
    rig.close();
    await reader.gets("id: 1\n");
    await reader.gets("\r\n0\r\n\r\n");
    await until(() => rig.listeners.size === 0, "no listeners");
    expect(rig.clock.timers()).toBeLessThan(10);
  });

  it("tells a reader who is told of no event how far it has come, once [EVENT-16]", async () => {
    await using rig = await streaming();
    const reader = await rig.follow();
    rig.silence();
    rig.tell(7);
    await until(() => rig.reads["the-plain-key"]! >= 2, "the feed to be read");
    rig.clock.advance(15_000);
    await reader.gets(": keepalive\nid: 7\n\n");
    rig.clock.advance(15_000);
    await reader.gets(": keepalive\n\n");
    expect(numbers(reader.text())).toEqual([7]);
  });

  it("ends with one sentence when the feed cannot be read, which names nothing of the cause [EVENT-6]", async () => {
    await using rig = await streaming();
    const reader = await rig.follow();
    rig.fail(new Error("/secret/path is locked"));
    rig.tell(1);
    await reader.gets("data: [DONE]");
    expect(reader.text()).toContain('"code":"INTERNAL"');
    expect(reader.text()).not.toContain("secret");
    await until(() => rig.listeners.size === 0, "no listeners");
  });
});
