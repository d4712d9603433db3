import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, put, readFrames, root, startGateway, textOf, until } from "./harness.ts";

const fakeAcpAgent = join(root, "test/fixtures/fake-acp-agent.mjs");
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe("an agent that speaks the Agent Client Protocol", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway({
      agent: {
        runtime: { type: "acp", command: [process.execPath, fakeAcpAgent] },
        env: { FAKE_ACP: JSON.stringify({ image: true, models: "option", commands: ["compact"] }) },
      },
    });
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  it("answers and streams", async () => {
    const { status, body } = await gateway.send("SAY hello");
    expect([status, body.response]).toEqual([200, "hello"]);
    const frames = await gateway.stream("THINK hm\nCHUNKS one| two\nTOOL Read");
    expect(textOf(frames)).toBe("one two");
    expect(frames.map(({ data }) => data.type)).toEqual(
      expect.arrayContaining(["thinking", "text_delta", "tool_use", "tool_result", "result", "[DONE]"]),
    );
  });

  it.each([
    {
      what: "limits the rate",
      log: (n: number) => `Attempt ${n} failed with status 429. Retrying with backoff...`,
      retry: { status: 429, message: "The model provider limits the rate of requests (429)." },
      error: "-32603 API Error: 429 Too Many Requests",
      final: "The model provider limits the rate of requests (429); try again in a while.",
    },
    {
      what: "cannot be reached",
      log: (n: number) => `Attempt ${n} failed: connect ECONNREFUSED 127.0.0.1:9. Retrying with backoff...`,
      retry: { message: "The model provider could not be reached." },
      error: "-32603 fetch failed: connect ECONNREFUSED 127.0.0.1:9",
      final: "The model provider could not be reached; check its address and the network.",
    },
    {
      what: "refuses the key",
      log: (n: number) => `Attempt ${n} failed with status 401. Retrying with backoff...`,
      retry: { status: 401, message: "The model provider refused the key (401)." },
      error: "-32603 API Error: 401 Unauthorized",
      final: "The model provider refused the key (401); check the agent's key or log in again.",
    },
  ])(
    "whose model $what says so on the stream, in a 504, and at the end [RETRY-6]",
    async ({ log, retry, error, final }) => {
      const { body: made } = await gateway.send("SAY ready");
      const { session_id } = made;
      const frames = await gateway.stream(`STDERR ${log(1)}\nLATER 300\nERROR ${error}`, { session_id });
      const shown = frames.filter(({ data }) => data.type === "retry").map(({ data }) => data);
      expect(shown).toMatchObject([{ attempt: 1, ...retry }]);
      expect(frames.at(-2)!.data).toMatchObject({ type: "error", code: "AGENT_FAILED", message: final });
      const began = performance.now();
      const late = await gateway.send(`STDERR ${log(2)}\nWAIT`, { session_id, timeout_ms: 1_500 });
      expect(performance.now() - began).toBeLessThan(10_000);
      expect([late.status, late.body.code]).toEqual([504, "TIMEOUT"]);
      expect(late.body.error).toContain(retry.message);
      expect(JSON.stringify([frames, late.body])).not.toContain("127.0.0.1");
      await gateway.send("/stop", { session_id });
    },
  );

  it("shares a file through the gateway's tool", async () => {
    const path = await put(join(gateway.home, "agents/assistant/workspace"), "dot.png", PNG);
    const { body } = await gateway.send(`CALL share_file ${JSON.stringify({ path })}`);
    expect(body.attachments).toEqual([{ type: "image", url: expect.stringContaining("/media/") }]);
  });

  it("keeps the text so far when it is stopped or its process dies, and continues", async () => {
    const { body: created } = await gateway.json("POST", "/api/v1/agents/assistant/sessions", {
      body: { chat_id: "me" },
    });
    const session_id = created.sessionId;
    const streaming = await gateway.request("POST", "/api/v1/agents/assistant/messages", {
      body: { message: "SAY so far\nWAIT", chat_id: "me", session_id, stream: true },
    });
    for await (const { data } of readFrames(streaming)) {
      if (data.type === "text_delta") {
        const path = `/api/v1/agents/assistant/sessions/${session_id}/stop`;
        await gateway.json("POST", path, { body: { chat_id: "me" } });
      }
      if (data.type === "result") expect(data).toMatchObject({ text: "so far", interrupted: true });
    }
    const died = await gateway.send("SAY half\nDIE", { session_id });
    expect([died.status, died.body.code]).toEqual([500, "AGENT_FAILED"]);
    const next = await gateway.send("PROMPT", { session_id });
    expect(next.status).toBe(200);
    expect(next.body.response).toMatch(/conversation_history.*half/);
  });

  it("gives each session a temp folder of its own, which is gone with the process [TMP-1]", async () => {
    const { body } = await gateway.send("ENV TMPDIR");
    const session_id = body.session_id as string;
    const folder = (body.response as string).replace("TMPDIR=", "");
    expect(folder).toMatch(new RegExp(`^${gateway.home}/.*${session_id}/tmp$`));
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    await put(folder, "copy-of-an-upload.png", PNG);
    await gateway.json("DELETE", `/api/v1/agents/assistant/sessions/${session_id}?chat_id=me`);
    await until(() => !existsSync(folder), "the folder to be gone");
  });

  it("lists the agent's own models, switches the session's, and shows what runs [MODEL-7]", async () => {
    const { session_id } = (await gateway.send("SAY x")).body;
    const shown = async () => (await gateway.send("/model", { session_id })).body.result;
    expect(await shown()).toMatchObject({ model: "small", models: [{ id: "small" }, { id: "large" }] });
    expect((await gateway.send("/model LARGE", { session_id })).body.result).toEqual({ model: "large" });
    expect((await gateway.send("/model claude-sonnet-5", { session_id })).status).toBe(400);
    await gateway.send("SAY y", { session_id });
    expect(await shown()).toMatchObject({ model: "large" });
    expect(JSON.stringify((await gateway.json("GET", "/status")).body)).toMatch(
      new RegExp(`"${session_id}"[^}]*"model":"large"`),
    );
    const { body } = await gateway.json("GET", "/api/v1/agents/sessions");
    expect(JSON.stringify(body)).toMatch(new RegExp(`"${session_id}"[^}]*"model":"large"`));
  });

  it("keeps what an agent did in a turn that says nothing, and tells it to no agent [STEPS-QUIET-1]", async () => {
    const create = { body: { chat_id: "quiet" } };
    const { body: created } = await gateway.json("POST", "/api/v1/agents/assistant/sessions", create);
    const session_id = created.sessionId as string;
    const post = (message: string) =>
      gateway.request("POST", "/api/v1/agents/assistant/messages", {
        body: { message, chat_id: "quiet", session_id, stream: true },
      });
    for await (const { data } of readFrames(await post("TOOL Read\nWAIT"))) {
      if (data.type !== "tool_result") continue;
      const path = `/api/v1/agents/assistant/sessions/${session_id}/stop`;
      await gateway.json("POST", path, { body: { chat_id: "quiet" } });
    }
    for await (const _ of readFrames(await post("TOOL Write")));
    const { body } = await gateway.json(
      "GET",
      `/api/v1/agents/assistant/chats/api-quiet/messages?order=asc&session_id=${session_id}&include=steps`,
    );
    const records = body.messages as Array<Record<string, unknown>>;
    expect(records.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(records[1]).toMatchObject({
      content: "",
      interrupted: true,
      steps: [{ type: "tool", name: "Read" }],
    });
    expect(records[3]).toMatchObject({ content: "", steps: [{ type: "tool", name: "Write" }] });
    expect(records[3]).not.toHaveProperty("interrupted");
    await gateway.json("POST", `/api/v1/agents/assistant/sessions/${session_id}/restart`, create);
    const told = await gateway.json("POST", "/api/v1/agents/assistant/messages", {
      body: { message: "PROMPT", chat_id: "quiet", session_id },
    });
    expect(told.body.response).toMatch(/TOOL Read/);
    expect(told.body.response).not.toMatch(/assistant/i);
  });

  it("judges the agent's model by the agent's own list, before its first session too [MODEL-7]", async () => {
    await using fresh = await startGateway({
      agent: {
        model: "not-offered",
        runtime: { type: "acp", command: [process.execPath, fakeAcpAgent] },
        env: { FAKE_ACP: JSON.stringify({ models: "request" }) },
      },
    });
    const put = (model: string) => fresh.json("PUT", "/api/v1/agents/assistant/model", { body: { model } });
    expect((await put("claude-sonnet-5")).status).toBe(400);
    const { session_id } = (await fresh.send("SAY x")).body;
    expect((await fresh.send("/model", { session_id })).body.result).toMatchObject({ model: "small" });
    const { body } = await fresh.json("GET", "/api/v1/agents/assistant");
    expect(JSON.stringify(body)).toContain("The agent does not offer the model not-offered");
    const patch = (model: string) => fresh.json("PATCH", "/api/v1/agents/assistant", { body: { model } });
    expect(await patch("claude-sonnet-5")).toMatchObject({ status: 400, body: { code: "INVALID_REQUEST" } });
    expect(await patch("LARGE")).toMatchObject({ status: 200, body: { agent: { model: "large" } } });
    expect((await patch("small")).status).toBe(200);
    expect(await put("large")).toMatchObject({ status: 200, body: { model: "large" } });
    const next = (await fresh.send("SAY y")).body;
    expect((await fresh.send("/model", { session_id: next.session_id })).body.result).toMatchObject({
      model: "large",
    });
  });
});
