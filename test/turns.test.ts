import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  alive,
  allFrames,
  type Frame,
  type Gateway,
  inTerminal,
  KEYS,
  readFrames,
  startGateway,
  textOf,
  until,
} from "./harness.ts";

const MESSAGES = "/api/v1/agents/assistant/messages";
let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    gateway: { turns: { hardCapMs: 1500, keepaliveMs: 200, injectionMs: 1200, retainMs: 120_000 } },
    session: { maxConcurrent: 200 },
  });
});
afterAll(() => gateway[Symbol.asyncDispose]());

const session = async (chat = "me") => {
  const { body } = await gateway.json("POST", "/api/v1/agents/assistant/sessions", {
    body: { chat_id: chat },
  });
  return body.sessionId as string;
};
const streamPath = (id: string, query = "", chat = "me") =>
  `/api/v1/agents/assistant/sessions/${id}/stream?chat_id=${chat}${query}`;
const stop = (id: string, chat = "me") =>
  gateway.json("POST", `/api/v1/agents/assistant/sessions/${id}/stop`, { body: { chat_id: chat } });
const open = (message: string, extra: object) =>
  gateway.request("POST", MESSAGES, { body: { message, chat_id: "me", stream: true, ...extra } });
const history = async (id: string, chat = "me") =>
  (
    await gateway.json(
      "GET",
      `/api/v1/agents/assistant/chats/api-${chat}/messages?order=asc&session_id=${id}`,
    )
  ).body.messages as Array<Record<string, unknown>>;
const firstText = async (frames: AsyncGenerator<Frame>) => {
  for (;;) {
    const { value, done } = await frames.next();
    if (done || value.data.type === "text_delta") return value as Frame;
  }
};

describe("timeouts", () => {
  it("a sync caller gets 504, the session is busy until its turn ends and free at once then [TURN-5, TURN-8]", async () => {
    const id = await session();
    const late = await gateway.send("SLOW 6 100", { session_id: id, timeout_ms: 150 });
    expect(late.status).toBe(504);
    expect(late.body).toMatchObject({ code: "TIMEOUT", session_id: id });
    expect(late.body.request_id).toBe(late.headers.get("x-request-id"));
    const busy = await gateway.send("hello", { session_id: id });
    expect([busy.status, busy.body.code]).toEqual([409, "SESSION_BUSY"]);
    const busyStream = await open("hello", { session_id: id });
    expect([busyStream.status, busyStream.headers.get("content-type")]).toEqual([
      409,
      expect.stringContaining("json"),
    ]);
    const rest = await allFrames(
      await gateway.request("GET", streamPath(id, `&request_id=${late.body.request_id}`)),
    );
    expect(textOf(rest)).toContain("w5");
    expect((await gateway.send("hello", { session_id: id })).status).toBe(200);
  });

  it("a stream gets a timeout event and stays open [TURN-6]", async () => {
    const frames = await gateway.stream("SLOW 6 100", { timeout_ms: 150 });
    const timeout = frames.find(({ data }) => data.type === "timeout");
    expect(timeout!.data).toMatchObject({ resumable: true, message: expect.any(String) });
    expect(frames.at(-2)!.data).toMatchObject({ type: "result" });
    expect(textOf(frames)).toContain("w5");
  });

  it("the hard cap interrupts the turn and closes the stream with TIMEOUT [TURN-7, TURN-10]", async () => {
    const id = await session();
    const frames = await gateway.stream("SLOW 400 50", { session_id: id, timeout_ms: 100 });
    expect(frames.at(-2)!.data).toMatchObject({ type: "error", code: "TIMEOUT" });
    expect(frames.at(-1)!.data.type).toBe("[DONE]");
    expect((await history(id)).at(-1)).toMatchObject({ role: "assistant", interrupted: true });
    expect((await gateway.send("hello", { session_id: id })).status).toBe(200);
  });

  it("a keepalive comment goes out while the agent is silent [TURN-2]", async () => {
    const response = await open("SLOW 2 700", {});
    const text = await response.text();
    expect(text).toContain(": keepalive\n\n");
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });
});

describe("stop", () => {
  it("gives the sync caller the text so far, and the same process takes the next turn [TURN-16]", async () => {
    const id = await session();
    const pid = (await gateway.send("PID", { session_id: id })).body.response;
    const waiting = gateway.send("SLOW 200 50", { session_id: id });
    // The stream may still be that of the turn before.
    await until(async () => {
      const response = await gateway.request("GET", streamPath(id));
      if (response.status !== 200) return false;
      return JSON.stringify(await firstText(readFrames(response))).includes("w0");
    }, "the turn");
    expect((await stop(id)).body).toEqual({ stopped: true });
    const reply = await waiting;
    expect(reply.status).toBe(200);
    expect(reply.body.interrupted).toBe(true);
    expect(reply.body.response).toContain("w0");
    expect((await history(id)).at(-1)).toMatchObject({ content: reply.body.response, interrupted: true });
    expect((await gateway.send("PID", { session_id: id })).body.response).toBe(pid);
  });

  it.skipIf(inTerminal)("ends a stream with an interrupted result [TURN-16]", async () => {
    const id = await session();
    const reader = readFrames(await open("SLOW 200 50", { session_id: id }));
    await firstText(reader);
    expect((await stop(id)).body).toEqual({ stopped: true });
    const rest: Frame[] = [];
    for await (const frame of reader) rest.push(frame);
    expect(rest.at(-2)!.data).toMatchObject({ type: "result", interrupted: true, session_id: id });
  });

  it("says so when nothing runs [TURN-17]", async () => {
    const { status, body } = await stop(await session());
    expect([status, body]).toEqual([200, { stopped: false }]);
  });
});

describe("an agent that fails", () => {
  it.skipIf(inTerminal)("by dying in mid-turn is AGENT_FAILED with its text kept [TURN-18]", async () => {
    const id = await session();
    const sync = await gateway.send("DIE", { session_id: id });
    expect([sync.status, sync.body.code]).toEqual([500, "AGENT_FAILED"]);
    const kept = (await history(id)).at(-1)!;
    expect(kept).toMatchObject({ role: "assistant", interrupted: true });
    const frames = await gateway.stream("DIE", { session_id: id });
    expect(textOf(frames)).toBe(kept.content);
    expect(frames.at(-2)!.data).toMatchObject({ type: "error", code: "AGENT_FAILED" });
    expect(frames.at(-1)!.data.type).toBe("[DONE]");
    expect((await gateway.send("hello", { session_id: id })).status).toBe(200);
  });

  it("by an error result is AGENT_FAILED whatever its subtype [TURN-19, ERR-3]", async () => {
    const { status, body } = await gateway.send("ERR the model is overloaded");
    expect([status, body.code]).toEqual([500, "AGENT_FAILED"]);
    expect(body.error).toContain("overloaded");
  });
});

describe("reading a turn again", () => {
  it.skipIf(inTerminal)(
    "replays, follows live, and gives every reader the same frames [TURN-11, TURN-9]",
    async () => {
      const id = await session();
      const abort = new AbortController();
      const first = await gateway.request("POST", MESSAGES, {
        body: { message: "SLOW 12 50", chat_id: "me", session_id: id, stream: true },
        signal: abort.signal,
      });
      const requestId = first.headers.get("x-request-id")!;
      const reader = readFrames(first);
      await firstText(reader);
      abort.abort();
      const two = await Promise.all([
        gateway.request("GET", streamPath(id)).then(allFrames),
        gateway.request("GET", streamPath(id, `&request_id=${requestId}`)).then(allFrames),
      ]);
      expect(two[0]).toEqual(two[1]);
      expect(textOf(two[0]!)).toContain("w11");
      const again = await allFrames(
        await gateway.request("GET", streamPath(id, `&request_id=${requestId}&after_seq=3`)),
      );
      expect(again).toEqual(two[0]!.filter(({ data }) => data.type === "[DONE]" || (data.seq as number) > 3));
      const byHeader = await gateway.request("GET", streamPath(id, `&request_id=${requestId}`), {
        headers: { "last-event-id": "3" },
      });
      expect(await allFrames(byHeader)).toEqual(again);
    },
  );

  it("refuses cursors that do not fit [TURN-12, TURN-13, TURN-14, TURN-15]", async () => {
    const id = await session();
    const code = async (query: string, chat = "me", key: string = KEYS.admin) => {
      const { status, body } = await gateway.json("GET", streamPath(id, query, chat), { key });
      return `${status} ${body.code}`;
    };
    expect(await code("")).toBe("410 TURN_GONE");
    const first = await gateway.stream("SAY a b c", { session_id: id });
    const second = await gateway.stream("SAY d", { session_id: id });
    const requestId = first[0]!.data.request_id;
    const last = first.at(-2)!.data.seq as number;
    expect(await code("&after_seq=1")).toBe("400 INVALID_REQUEST");
    expect(await code(`&request_id=${requestId}&after_seq=x`)).toBe("400 INVALID_REQUEST");
    expect(await code("&request_id=other")).toBe("410 TURN_MISMATCH");
    expect(await code(`&request_id=${requestId}&after_seq=${last + 1}`)).toBe("410 CURSOR_AHEAD");
    expect(await code(`&request_id=${requestId}`, "somebody")).toBe("404 SESSION_NOT_FOUND");
    expect(await code(`&request_id=${requestId}`, "me", KEYS.other)).toBe("403 FORBIDDEN");
    const atEnd = await gateway.request("GET", streamPath(id, `&request_id=${requestId}&after_seq=${last}`));
    expect((await allFrames(atEnd)).map(({ data }) => data.type)).toEqual(["[DONE]"]);
    const earlier = await allFrames(await gateway.request("GET", streamPath(id, `&request_id=${requestId}`)));
    expect(textOf(earlier)).toBe("a b c");
    expect(textOf(await allFrames(await gateway.request("GET", streamPath(id))))).toBe(textOf(second));
  });

  it.skipIf(inTerminal)("keeps at most 2,000 events, the last always [TURN-4, TURN-13]", async () => {
    const id = await session();
    const frames = await gateway.stream("DELTAS 5000", { session_id: id });
    const final = frames.at(-2)!.data;
    expect(final.type).toBe("result");
    expect(textOf(frames)).toBe(final.text);
    const truncated = await gateway.json(
      "GET",
      streamPath(id, `&request_id=${final.request_id}&after_seq=1`),
    );
    expect([truncated.status, truncated.body.code]).toEqual([410, "TURN_TRUNCATED"]);
    const kept = await allFrames(await gateway.request("GET", streamPath(id)));
    expect(kept.length).toBeLessThanOrEqual(2001);
    expect(kept.at(-2)!.data).toEqual(final);
  });
});

describe("large and awkward output", () => {
  it("a reply of 32 MB in one line passes unharmed [TURN-20]", async () => {
    const size = 32 * 1024 * 1024 - 4096;
    const { status, body } = await gateway.send(`BIG ${size}`);
    expect(status).toBe(200);
    expect((body.response as string).length).toBe(size);
  }, 60_000);

  it("output split anywhere, also inside characters, and an agent without control requests [TURN-20, RUN-3]", async () => {
    await using odd = await startGateway({ agentArgs: ["--split", "--dumb"] });
    const text = "héllo สวัสดี 你好 👩‍👩‍👧 end";
    const started = Date.now();
    const { body } = await odd.send(`SAY ${text}`);
    expect(body.response).toBe(text);
    expect(Date.now() - started).toBeLessThan(1900);
  });

  it("a reader that does not read delays no one and gets the whole text later [TURN-23]", async () => {
    const id = await session();
    const stalled = await open("DELTAS 20000", { session_id: id });
    const quick = await until(async () => {
      const response = await gateway.request("GET", streamPath(id));
      return response.status === 200 ? response : undefined;
    }, "the turn");
    const frames = await allFrames(quick);
    expect(frames.at(-2)!.data.type).toBe("result");
    const late = await allFrames(stalled);
    expect(textOf(late)).toBe(frames.at(-2)!.data.text);
  }, 60_000);
});

describe("ending the gateway", () => {
  it("SIGTERM keeps the text so far and ends the children within 5 s [START-5, SES-15]", async () => {
    const own = await startGateway();
    try {
      const { body } = await own.json("POST", "/api/v1/agents/assistant/sessions", {
        body: { chat_id: "me" },
      });
      const pid = Number((await own.send("PID", { session_id: body.sessionId })).body.response);
      const response = await own.request("POST", MESSAGES, {
        body: { message: "SLOW 200 50", chat_id: "me", session_id: body.sessionId, stream: true },
      });
      const reader = readFrames(response);
      await firstText(reader);
      const started = Date.now();
      expect(await own.stop()).toBe(0);
      expect(Date.now() - started).toBeLessThan(5000);
      await until(() => !alive(pid), "the child to be gone", 2000);
      await using next = await startGateway({ home: own.home });
      const path = `/api/v1/agents/assistant/chats/api-me/messages?session_id=${body.sessionId}`;
      const [last] = (await next.json("GET", path)).body.messages as Array<Record<string, unknown>>;
      expect(last).toMatchObject({ role: "assistant", interrupted: true });
      expect(last!.content).toContain("w0");
    } finally {
      await own[Symbol.asyncDispose]();
    }
  });
});

describe("an agent that ignores every signal", () => {
  it.skipIf(inTerminal)(
    "keeps no caller from the text so far, nor the gateway from ending in time [START-5, TURN-16]",
    async () => {
      const script = `for (const name of ["SIGTERM", "SIGINT"]) process.on(name, () => {});
      setInterval(() => {}, 1000);
      process.stdin.on("data", () => console.log(JSON.stringify({ type: "stream_event", parent_tool_use_id: null,
        event: { type: "content_block_delta", delta: { type: "text_delta", text: "so far" } } })));`;
      const agent = { runtime: { type: "agent-cli", command: [process.execPath, "-e", script, "--"] } };
      await using own = await startGateway({ agent });
      const sync = own.send("hi", { chat_id: "sync" });
      const response = await own.request("POST", MESSAGES, {
        body: { message: "hi", chat_id: "stream", stream: true },
      });
      const reader = readFrames(response);
      await firstText(reader);
      const started = Date.now();
      const stopped = own.stop();
      const frames = [];
      for await (const frame of reader) frames.push(frame.data);
      expect(frames.at(-2)).toMatchObject({ type: "result", interrupted: true });
      expect(frames.at(-1)).toEqual({ type: "[DONE]" });
      expect((await sync).body).toMatchObject({ interrupted: true });
      expect(await stopped).toBe(0);
      expect(Date.now() - started).toBeLessThan(5000);
    },
  );
});

describe("injection", () => {
  it("streams into any stored chat and shows the sender [INJ-1, INJ-3]", async () => {
    const id = await session("inj");
    const path = `/api/v1/agents/assistant/chats/api-inj/sessions/${id}/messages`;
    const response = await gateway.request("POST", path, {
      body: { content: "ECHO-ALL hi", senderName: "Ann <x>" },
    });
    const frames = await allFrames(response);
    expect(textOf(frames)).toContain("Ann &lt;x&gt;");
    expect(frames.at(-2)!.data.type).toBe("result");
    expect((await history(id, "inj"))[0]).toMatchObject({ content: "ECHO-ALL hi", senderName: "Ann <x>" });
    for (const body of [{}, { content: "" }, { content: "x".repeat(10_001) }]) {
      expect((await gateway.json("POST", path, { body })).status).toBe(400);
    }
    const own = await gateway.request("POST", path.replace("api-inj", "inj"), {
      body: { content: "SAY own" },
    });
    expect(textOf(await allFrames(own))).toBe("own");
    expect((await gateway.json("POST", path.replace(id, "no"), { body: { content: "x" } })).status).toBe(404);
  });

  it("ends after its budget with TIMEOUT_SOFT while the reply still lands in history [INJ-2]", async () => {
    const id = await session("slow-inj");
    const path = `/api/v1/agents/assistant/chats/api-slow-inj/sessions/${id}/messages`;
    const frames = await allFrames(await gateway.request("POST", path, { body: { content: "SLOW 10 200" } }));
    expect(frames.at(-2)!.data).toMatchObject({ type: "error", code: "TIMEOUT_SOFT" });
    expect(frames.at(-1)!.data.type).toBe("[DONE]");
    await until(async () => (await history(id, "slow-inj")).length === 2, "the reply");
    expect((await history(id, "slow-inj"))[1]!.content).toContain("w9");
  });
});
