import { chmod } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  allFrames,
  type Frame,
  fakeAgent,
  type Gateway,
  KEYS,
  put,
  readFrames,
  startGateway,
  testConfig,
  textOf,
} from "./harness.ts";
import { LISTENING, ownFolder, startBin } from "./program.ts";

const AGENT = "/api/v1/agents/assistant";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe("the starter", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway({ agent: { runtime: { type: "starter" } } });
  });
  afterAll(() => gateway[Symbol.asyncDispose]());
  const session = async (chat = "me") => {
    const { body } = await gateway.json("POST", `${AGENT}/sessions`, { body: { chat_id: chat } });
    return body.sessionId as string;
  };
  const onSession = (method: string, id: string, verb: string, body: object = {}) =>
    gateway.json(method, `${AGENT}/sessions/${id}${verb}`, { body: { chat_id: "me", ...body } });
  const info = async (id: string) =>
    (await gateway.json("GET", `${AGENT}/sessions/${id}/info?chat_id=me`)).body;
  const command = async (message: string, id: string) =>
    (await gateway.send(message, { session_id: id })).body.result;

  it("streams, says that no model is connected and how to connect one, and is deterministic [RUN-2]", async () => {
    const frames = await gateway.stream("Hello ไทย 日本 👋");
    expect(frames.filter(({ data }) => data.type === "text_delta").length).toBeGreaterThan(3);
    expect(frames.at(-1)!.data.type).toBe("[DONE]");
    const text = textOf(frames);
    for (const word of [
      "No model is connected",
      "ANTHROPIC_API_KEY",
      "`claude`",
      "Ollama",
      "Hello ไทย 日本 👋",
    ]) {
      expect(text).toContain(word);
    }
    expect((await gateway.send("Hello ไทย 日本 👋")).body.response).toBe(text);
    const { body } = await gateway.json("GET", "/processes");
    expect(body.processes).toHaveLength(1);
  });

  it("works with every command [RUN-2]", async () => {
    const id = await session();
    for (const text of ["one", "two", "three"]) await gateway.send(text, { session_id: id });
    expect(await command("/session", id)).toEqual({
      name: expect.any(String),
      messageCount: 6,
      contextPercent: 0,
    });
    expect(await command("/model", id)).toMatchObject({ models: expect.any(Array) });
    expect(await command("/compact", id)).toMatchObject({ success: true });
    expect(await command("/restart", id)).toEqual({ restarting: true });
    expect((await gateway.send("four", { session_id: id })).body.response).toContain("You wrote: four");
    expect(await command("/stop", id)).toEqual({ stopped: false });
    expect(await command("/clear", id)).toEqual({ cleared: true });
    expect((await gateway.send("five", { session_id: id })).body.response).toContain("This is message 1 ");
    expect((await gateway.send("/nonsense", { session_id: id })).body.code).toBe("UNKNOWN_COMMAND");
  });

  it("works with every session feature [RUN-2]", async () => {
    const id = await session();
    const long = gateway.request("POST", `${AGENT}/messages`, {
      body: { message: "count to 1000", chat_id: "me", session_id: id, stream: true },
    });
    const frames = readFrames(await long);
    let seen = "";
    while (!seen.includes("2 ")) seen += ((await frames.next()).value as Frame).data.text ?? "";
    expect((await gateway.send("hi", { session_id: id })).status).toBe(409);
    expect((await onSession("POST", id, "/stop")).body).toEqual({ stopped: true });
    const rest: Frame[] = [];
    for await (const frame of frames) rest.push(frame);
    expect(rest.at(-2)!.data).toMatchObject({ type: "result", interrupted: true });
    const replay = await gateway.request("GET", `${AGENT}/sessions/${id}/stream?chat_id=me`);
    expect(textOf(await allFrames(replay))).toBe(rest.at(-2)!.data.text);

    expect((await onSession("PATCH", id, "", { session_name: "Mine" })).status).toBe(200);
    expect(await info(id)).toMatchObject({ sessionName: "Mine", messageCount: 2, contextPercent: 0 });
    expect((await onSession("POST", id, "/compact")).body).toMatchObject({ success: true });
    expect((await onSession("POST", id, "/restart")).body).toEqual({ restarting: true });
    const inject = await gateway.request("POST", `${AGENT}/chats/api-me/sessions/${id}/messages`, {
      body: { content: "from elsewhere", senderName: "Ann" },
    });
    expect(textOf(await allFrames(inject))).toContain("from elsewhere");
    await put(gateway.home, "agents/assistant/workspace/GREETING.md", "Say hello.");
    const greeting = await gateway.request("POST", `${AGENT}/greeting`, {
      body: { chat_id: "me", session_id: id },
    });
    expect(textOf(await allFrames(greeting))).toContain("Say hello.");
    const found = await gateway.json("GET", `${AGENT}/chats/api-me/messages/search?q=elsewhere`);
    expect(found.body.total).toBeGreaterThanOrEqual(1);
    expect((await onSession("POST", id, "/clear")).body).toEqual({ cleared: true, sessionId: id });
    expect((await info(id)).messageCount).toBe(0);
    expect((await gateway.request("DELETE", `${AGENT}/sessions/${id}?chat_id=me`)).status).toBe(204);
  });

  it("works with media: it describes what arrived and shares it back [RUN-2]", async () => {
    const { body } = await gateway.json("POST", `${AGENT}/media`, {
      headers: { "content-type": "image/png", "x-filename": "dot.png" },
      raw: PNG as unknown as BodyInit,
    });
    const media_files = [body.mediaPath];
    const told = await gateway.send("look", { media_files });
    expect(told.body.response).toContain("You attached 1 file: image/png.");
    const shared = await gateway.send("share", { media_files });
    const [attachment] = shared.body.attachments as Array<{ type: string; url: string }>;
    expect(attachment).toMatchObject({ type: "image" });
    const fetched = await gateway.request("GET", new URL(attachment!.url, gateway.url).pathname, {
      key: KEYS.plain,
    });
    expect(Buffer.from(await fetched.arrayBuffer()).equals(PNG)).toBe(true);
    const refused = await gateway.send("share /etc/passwd");
    expect(refused.body.response).toMatch(/share_file refused: /);
    expect(JSON.stringify(refused.body)).not.toContain("root:");
  });
});

describe("the runtime auto", () => {
  const config = { ...testConfig(), agents: [{ id: "assistant", runtime: { type: "auto" } }] };

  /** Starts on a machine with only these programs and variables; tells what the agent runs on. */
  async function start(env: Record<string, string> = {}) {
    const home = await ownFolder();
    await put(home, "config.json", JSON.stringify(config));
    const nothing = join(home, "no-programs");
    const gateway = startBin(home, { env: { HOME: home, PATH: nothing, ...env } });
    const url = (await gateway.says(LISTENING))[1]!;
    const [, runsOn] = await gateway.says(/info runs on (.*) agent=assistant$/m);
    const send = async (message: string) => {
      const response = await fetch(`${url}${AGENT}/messages`, {
        method: "POST",
        headers: { "x-api-key": KEYS.plain, "content-type": "application/json" },
        body: JSON.stringify({ message, chat_id: "me" }),
      });
      return ((await response.json()) as { response?: string }).response;
    };
    return { runsOn: runsOn!, send };
  }

  /** A folder with an agent CLI of this name. */
  async function programFolder(name: string): Promise<string> {
    const folder = await ownFolder();
    const script = `#!/bin/sh\nexec '${process.execPath}' '${fakeAgent}' "$@"\n`;
    await chmod(await put(folder, name, script), 0o755);
    return folder;
  }
  const keys = { ANTHROPIC_API_KEY: "no-real-key", OPENAI_API_KEY: "no-real-key" };

  it("takes an agent CLI first: AGENT_CLI_BIN, then `claude` on PATH [RUN-1]", async () => {
    const PATH = ["/nowhere", await programFolder("claude")].join(delimiter);
    const onPath = await start({ ...keys, PATH });
    expect(onPath.runsOn).toBe("agent-cli: the agent CLI `claude` is on PATH");
    expect(await onPath.send("hi")).toBe("Echo[1]: hi");
    const AGENT_CLI_BIN = join(await programFolder("my-cli"), "my-cli");
    const named = await start({ ...keys, PATH, AGENT_CLI_BIN });
    expect(named.runsOn).toBe("agent-cli: AGENT_CLI_BIN is set");
    expect(await named.send("hi")).toBe("Echo[1]: hi");
  });

  it("then a provider key in the environment, Anthropic's before OpenAI's [RUN-1]", async () => {
    expect((await start(keys)).runsOn).toBe("builtin: ANTHROPIC_API_KEY is set");
    expect((await start({ ...keys, ANTHROPIC_API_KEY: "" })).runsOn).toBe("builtin: OPENAI_API_KEY is set");
  });

  it("then a model server on loopback, which answers then [RUN-1]", async ({ skip }) => {
    const server = await onModelPort((request, response) => {
      response.setHeader("content-type", "application/json");
      if (request.url === "/v1/models")
        return response.end(JSON.stringify({ object: "list", data: [{ id: "tiny", object: "model" }] }));
      const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "tiny" };
      const part = (delta: object, finish_reason: string | null = null) =>
        `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
      response.setHeader("content-type", "text/event-stream");
      const said = part({ role: "assistant", content: "Tiny says hi." });
      return response.end(`${said}${part({}, "stop")}data: [DONE]\n\n`);
    });
    if (!server) return skip("every port of a local model server is taken on this machine");
    const { port } = server.address() as { port: number };
    const local = await start();
    expect(local.runsOn).toBe(`builtin: a model server answers on 127.0.0.1:${port} (model tiny)`);
    expect(await local.send("hi")).toBe("Tiny says hi.");
  });

  it("and else the starter [RUN-1]", async ({ skip }) => {
    if (await modelServerRuns()) skip("a local model server runs on this machine");
    const { runsOn, send } = await start();
    expect(runsOn).toBe("starter: no agent CLI, key or local model was found");
    expect(await send("hi")).toContain("No model is connected");
  });
});

const MODEL_PORTS = [11_434, 1234, 8080, 8000];
const modelServerRuns = async () => {
  const asked = MODEL_PORTS.map((port) => fetch(`http://127.0.0.1:${port}/v1/models`).catch(() => undefined));
  return (await Promise.all(asked)).some((response) => response?.ok);
};

/** A server on the first free port of those that local model servers use. */
async function onModelPort(handler: RequestListener): Promise<Server | undefined> {
  for (const port of MODEL_PORTS) {
    const server = createServer(handler);
    const free = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!free) continue;
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return server;
  }
  return undefined;
}
