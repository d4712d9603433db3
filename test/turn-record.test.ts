import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTeamchatRig } from "./fixtures/teamchat-rig.ts";
import { type Frame, fakeAgent, type Gateway, KEYS, put, startGateway, until } from "./harness.ts";

type Message = Record<string, unknown> & { steps?: Array<Record<string, unknown>> };

const BASE = "/api/v1/agents/assistant";
let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const session = async (chat = "me") =>
  (await gateway.json("POST", `${BASE}/sessions`, { body: { chat_id: chat } })).body.sessionId as string;
const history = async (id: string, query = "", chat = "me") =>
  (await gateway.json("GET", `${BASE}/chats/api-${chat}/messages?order=asc&session_id=${id}${query}`)).body
    .messages as Message[];
const eventsOf = (frames: Frame[], type: string) =>
  frames.flatMap(({ data }) => (data.type === type ? [data] : []));
const linesAbout = (requestId: string) =>
  gateway
    .output()
    .split("\n")
    .filter((line) => line.includes(requestId));

describe("a failed turn", () => {
  it("is a message record with its code and sentence, empty where nothing was said [FAIL-1]", async () => {
    const id = await session();
    const { status, body } = await gateway.send("ERR It broke.", { session_id: id });
    expect([status, body.code, body.error]).toEqual([500, "AGENT_FAILED", "It broke."]);
    const [, record] = await history(id);
    expect(record).toMatchObject({
      role: "assistant",
      content: "",
      error: { code: "AGENT_FAILED", message: "It broke." },
    });
    expect(record).not.toHaveProperty("interrupted");
    const info = await gateway.json("GET", `${BASE}/sessions/${id}/info?chat_id=me`);
    expect(info.body).toMatchObject({ messageCount: 2 });
  });

  it("keeps the text so far beside the error [FAIL-1]", async () => {
    const id = await session();
    const frames = await gateway.stream("DIE", { session_id: id });
    const { code, message } = frames.at(-2)!.data;
    expect(code).toBe("AGENT_FAILED");
    const records = await history(id);
    expect(records).toHaveLength(2);
    expect(records[1]).toMatchObject({ content: "Half an ans", interrupted: true, error: { code, message } });
  });

  it("is one warn line with who, what and why, and no secret [FAIL-2]", async () => {
    const id = await session();
    const { headers } = await gateway.send("ERR key sk-verysecret123456 in /home/me/file", {
      session_id: id,
    });
    const requestId = headers.get("x-request-id")!;
    const lines = linesAbout(requestId).filter((line) => line.includes("turn failed"));
    expect(lines).toHaveLength(1);
    for (const part of ["assistant", id, "AGENT_FAILED", "[hidden]", "[path]"])
      expect(lines[0]).toContain(part);
    expect(lines[0]).toMatch(/warn/i);
    expect(gateway.output()).not.toContain("sk-verysecret123456");
  });

  it("is not given to an agent as history [FAIL-3]", async () => {
    const id = await session();
    await gateway.send("SAY fine", { session_id: id });
    await gateway.send("DIE", { session_id: id });
    const { body } = await gateway.send("HISTORY", { session_id: id });
    expect(body.response).toContain("fine");
    expect(body.response).not.toContain("Half an ans");
    expect(body.response).not.toContain("ended unexpectedly");
  });

  it("is one reply of one sentence in a channel, and one record [FAIL-1]", async () => {
    await using rig = await startTeamchatRig();
    await rig.say("ERR It broke.");
    await rig.say("SAY after");
    await until(() => rig.slack.posted.length >= 2, "both replies");
    expect(rig.slack.texts()).toEqual(["It broke.", "after"]);
    expect(await rig.history("teamchat-D0001")).toEqual([
      ["user", "ERR It broke."],
      ["assistant", ""],
      ["user", "SAY after"],
      ["assistant", "after"],
    ]);
  });

  it("counts for nothing in a compaction [FAIL-3]", async () => {
    const id = await session();
    for (let n = 0; n < 6; n++) await gateway.send(n === 5 ? "SAY last" : "ERR no", { session_id: id });
    const { body } = await gateway.json("POST", `${BASE}/sessions/${id}/compact`, {
      body: { chat_id: "me" },
    });
    expect(body).toMatchObject({ success: true, keptMessages: 7, archivedMessages: 0 });
  });
});

describe("steps", () => {
  it("are kept with the message, in their order with the text [STEP-1]", async () => {
    const id = await session();
    await gateway.send("TOOL", { session_id: id });
    const [user, reply] = await history(id, "&include=steps");
    expect(user).not.toHaveProperty("steps");
    expect(reply!.content).toBe("Before.\n\nAfter.");
    expect(reply!.steps).toEqual([
      { type: "text", length: 7 },
      {
        type: "tool",
        id: expect.any(String),
        name: "Bash",
        input: '{"command":"true"}',
        result: "ran",
        isError: false,
        startedAt: expect.any(Number),
        durationMs: expect.any(Number),
      },
      { type: "text", length: 8 },
    ]);
    expect((await history(id))[1]).not.toHaveProperty("steps");
    const wrong = await gateway.json("GET", `${BASE}/chats/api-me/messages?include=all`);
    expect([wrong.status, wrong.body.code]).toEqual([400, "INVALID_REQUEST"]);
  });

  it("are kept of thinking and of text alone [STEP-1]", async () => {
    const id = await session();
    await gateway.send("THINK", { session_id: id });
    await gateway.send("SAY hi", { session_id: id });
    const [, thought, , plain] = await history(id, "&include=steps");
    expect(thought!.steps).toEqual([
      { type: "thinking", text: "Let me think." },
      { type: "text", length: 8 },
    ]);
    expect(plain!.steps).toEqual([{ type: "text", length: 2 }]);
  });

  it("come live with input and result, cut after 4 KiB [STEP-2, STEP-3]", async () => {
    const id = await session();
    const frames = await gateway.stream("BIGTOOL 100000", { session_id: id });
    const [used] = eventsOf(frames, "tool_use");
    const [settled] = eventsOf(frames, "tool_result");
    expect(eventsOf(frames, "tool_use")).toHaveLength(1);
    expect(used).toMatchObject({
      name: "Write",
      id: settled!.id,
      input: expect.stringContaining('"content":"'),
    });
    for (const value of [used!.input, settled!.result] as string[]) {
      expect(Buffer.byteLength(value)).toBeGreaterThan(4090);
      expect(Buffer.byteLength(value)).toBeLessThanOrEqual(4096);
    }
    const [, reply] = await history(id, "&include=steps");
    expect(reply!.steps![0]).toMatchObject({ input: used!.input, result: settled!.result });
  });

  it("of one message are limited, and the last says how many are left out [STEP-2]", async () => {
    const id = await session();
    const frames = await gateway.stream("MANYTOOLS 80 5000", { session_id: id });
    expect(eventsOf(frames, "tool_result")).toHaveLength(80);
    const [, reply] = await history(id, "&include=steps");
    expect(reply!.steps!.at(-1)).toMatchObject({ type: "text", omitted: expect.any(Number) });
  });

  it("and errors move with an export and go with the messages [FAIL-4]", async () => {
    const id = await session("moving");
    await gateway.send("TOOL", { session_id: id, chat_id: "moving" });
    await gateway.send("ERR It broke.", { session_id: id, chat_id: "moving" });
    const before = await history(id, "&include=steps", "moving");
    const lines = await (await gateway.request("GET", `${BASE}/history/export?chat_id=api-moving`)).text();
    await gateway.json("DELETE", `${BASE}/sessions/${id}?chat_id=moving`);
    const imported = await gateway.json("POST", `${BASE}/history/import`, { raw: lines });
    expect(imported.body).toMatchObject({ imported: 4 });
    const again = (await gateway.json("POST", `${BASE}/history/import`, { raw: lines })).body;
    expect(again).toMatchObject({ imported: 0, skipped: 4 });
    const after = await history(id, "&include=steps", "moving");
    const withoutIds = (messages: Message[]) => messages.map(({ id: _, ...rest }) => rest);
    expect(withoutIds(after)).toEqual(withoutIds(before));
    const line = JSON.parse(lines.split("\n")[1]!) as object;
    const bad = JSON.stringify({ ...line, steps: [{ type: "no" }] });
    expect((await gateway.json("POST", `${BASE}/history/import`, { raw: bad })).status).toBe(400);
  });
});

describe("a model that does not answer", () => {
  const MESSAGE = "The model provider limits the rate of requests (429).";

  it("is reported with each attempt, and with the end of the turn [RETRY-1, RETRY-2, RETRY-3]", async () => {
    const id = await session();
    const frames = await gateway.stream("RETRYFAIL 2 429 20", { session_id: id });
    expect(eventsOf(frames, "retry")).toMatchObject([
      { attempt: 1, of: 3, status: 429, message: MESSAGE },
      { attempt: 2, of: 3, status: 429, message: MESSAGE },
    ]);
    const message = "The model provider limits the rate of requests (429); try again in a while.";
    expect(frames.at(-2)!.data).toMatchObject({ type: "error", code: "AGENT_FAILED", message });
    expect((await history(id)).at(-1)).toMatchObject({ error: { code: "AGENT_FAILED", message } });
  });

  it("is the cause in the 504 of a sync caller, until it answers again [RETRY-2]", async () => {
    const id = await session();
    // Its process runs already, so that the time-out falls into the retries.
    await gateway.send("SAY ready", { session_id: id });
    const stop = () => gateway.json("POST", `${BASE}/sessions/${id}/stop`, { body: { chat_id: "me" } });
    const late = await gateway.send("RETRY 60 429 50", { session_id: id, timeout_ms: 1500 });
    expect([late.status, late.body.code]).toEqual([504, "TIMEOUT"]);
    expect(late.body.error).toContain(MESSAGE);
    await stop();
    const slow = await gateway.send("SLOW 200 50", { session_id: id, timeout_ms: 1500 });
    expect(slow.status).toBe(504);
    expect(slow.body.error).not.toContain("provider");
    await stop();
  });

  it("and is silent ends the turn; the next one has a new process [SILENT-1]", async () => {
    await using quick = await startGateway({
      agent: {
        runtime: { type: "agent-cli", command: [process.execPath, fakeAgent], silentSeconds: 4 },
      },
    });
    const send = (message: string, session_id?: unknown) => quick.send(message, { session_id });
    const { body: first } = await send("PID");
    const silent = await send("HANG", first.session_id);
    expect([silent.status, silent.body.code, silent.body.error]).toEqual([
      504,
      "TIMEOUT",
      "The model did not answer.",
    ]);
    const { body: next } = await send("PID", first.session_id);
    expect(next.response).toMatch(/^\d+$/);
    expect(next.response).not.toBe(first.response);
  });
});

describe("a file that the agent shares", () => {
  const workspace = () => join(gateway.home, "agents/assistant/workspace");
  const share = async (path: string) => {
    const id = await session();
    const { body } = await gateway.send(`SHARE ${path}`, { session_id: id });
    const attachments = (body.attachments ?? []) as Array<Record<string, unknown> & { url: string }>;
    return { id, attachments, response: body.response as string };
  };

  it("is an attachment that the key fetches, a copy of what it was [SHARE-5, SHARE-6]", async () => {
    const file = await put(workspace(), "out/table.csv", "a,b\n1,2\n");
    const { id, attachments, response } = await share("out/table.csv");
    expect(response).toContain("attached");
    expect(attachments).toEqual([
      {
        type: "file",
        url: expect.stringMatching(/^\/api\/v1\/agents\/assistant\/media\/.*\.csv$/),
        name: "table.csv",
        mime: expect.stringMatching(/^text\/plain/),
        size: 8,
      },
    ]);
    expect((await history(id)).at(-1)).toMatchObject({ attachments });
    await rm(file);
    const fetched = await gateway.request("GET", attachments[0]!.url, { key: KEYS.plain });
    expect([fetched.status, await fetched.text()]).toEqual([200, "a,b\n1,2\n"]);
    expect((await gateway.request("GET", attachments[0]!.url, { key: null })).status).toBe(401);
    expect((await gateway.request("GET", attachments[0]!.url, { key: KEYS.other })).status).toBe(403);
  });

  it("and that a browser could execute is fetched as a download [SHARE-5]", async () => {
    await put(workspace(), "page.html", "<!doctype html><script>alert(1)</script>");
    const { attachments } = await share("page.html");
    expect(attachments).toMatchObject([{ type: "file", name: "page.html" }]);
    const fetched = await gateway.request("GET", attachments[0]!.url);
    expect(fetched.headers.get("content-disposition")).toMatch(/^attachment/);
    expect(fetched.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("and lies outside, in however relative a path, is refused [SHARE-6]", async () => {
    const { attachments, response } = await share("../../../config.json");
    expect(response).toContain("ARTIFACT_PATH_DENIED");
    expect(attachments).toEqual([]);
  });
});
