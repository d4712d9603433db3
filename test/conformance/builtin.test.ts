import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../packages/gateway/src/lib/clock.ts";
import { createBuiltinRuntime } from "../../packages/gateway/src/runtimes/builtin/index.ts";
import type { GatewayTool, OpenOptions, RuntimeEvent } from "../../packages/gateway/src/runtimes/types.ts";
import { type FakeModel, hasFakeModel, startFakeModel } from "../fixtures/fake-model.ts";
import { tempFolder } from "../fixtures/temp-home.ts";
import { openOptions, runTurn } from "../unit/runtimes/open-options.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const mcpServers = {
  fixture: {
    command: process.execPath,
    args: [resolve(import.meta.dirname, "../fixtures/mcp-server.mjs")],
    env: { FIXTURE_MARK: "marked" },
  },
};

/** Whether a process runs; one that ended and that nobody has collected yet does not. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  return stat !== undefined && !/\) [ZX] /.test(stat);
}

const providers = [
  { provider: "anthropic", path: "/v1/messages", imageMark: '"type":"image"' },
  { provider: "openai", path: "/v1/responses", imageMark: '"type":"input_image"' },
  { provider: "openai-compatible", path: "/v1/chat/completions", imageMark: '"type":"image_url"' },
] as const;

describe.skipIf(!hasFakeModel).each(providers)(
  "builtin on $provider [RUN-6]",
  ({ provider, path, imageMark }) => {
    let dir: string;
    let fake: FakeModel;
    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), "gateway-builtin-"));
      fake = await startFakeModel(join(dir, "requests"));
    });
    afterAll(async () => {
      await fake.stop();
      await rm(dir, { recursive: true, force: true });
    });

    const open = async (over: Partial<OpenOptions> = {}, runtime: Record<string, unknown> = {}) => {
      const session = await createBuiltinRuntime(
        { provider, baseUrl: fake.url, apiKey: "test-key", model: "fake-model", maxRetries: 0, ...runtime },
        {},
        { clock: systemClock, env: process.env },
      ).open(openOptions({ cwd: dir, ...over }));
      onTestFinished(() => session.close());
      return session;
    };
    const lastRequest = async () => (await fake.requests(path)).at(-1)!;

    test("reports what a turn used [USE-3]", async () => {
      const { outcome } = await runTurn(await open(), "BIG 321");
      expect(outcome.usage?.models).toEqual([
        {
          model: expect.any(String),
          inputTokens: 321,
          outputTokens: expect.any(Number),
          cacheReadTokens: 0,
          cacheWriteTokens: 0,
        },
      ]);
      expect(outcome.usage?.models[0]?.outputTokens).toBeGreaterThan(0);
    });

    test("streams its reply in several events from a process of its own, and keeps the conversation", async () => {
      const session = await open();
      expect(session.pid).toBeGreaterThan(0);
      expect(session.resumeToken).toBeNull();
      const first = await runTurn(session, "hello there");
      expect(first.outcome).toMatchObject({
        status: "done",
        text: "Echo[1]: hello there",
        model: "fake-model",
      });
      expect(first.text).toBe(first.outcome.text);
      expect(first.events.length).toBeGreaterThan(1);
      expect((await runTurn(session, "again")).outcome.text).toBe("Echo[2]: again");
    });

    test.runIf(process.platform === "linux")("the key is not among the process' arguments", async () => {
      const session = await open();
      const argv = await readFile(`/proc/${session.pid}/cmdline`, "utf8");
      expect(argv).toContain("builtin-agent");
      expect(argv).not.toContain("test-key");
    });

    test("calls a tool of the gateway, and tells the model when it refuses", async () => {
      const asked: unknown[] = [];
      const greet: GatewayTool = {
        name: "greet",
        description: "Greets.",
        inputSchema: { type: "object", properties: { name: { type: "string" } } },
        async call(args) {
          asked.push(args);
          if (args.name === "nobody") throw new Error("nobody is there");
          return `good day ${args.name}`;
        },
      };
      const session = await open({ tools: [greet], allowTools: false });
      const { outcome, events } = await runTurn(session, 'TOOL greet {"name":"Ann"}');
      expect(outcome).toMatchObject({ status: "done", text: "Calling a tool.\n\nTool said: good day Ann" });
      expect(asked).toEqual([{ name: "Ann" }]);
      const use = events.find((event) => event.type === "tool_use");
      expect(use).toMatchObject({ name: "greet" });
      expect(events).toContainEqual({
        type: "tool_result",
        id: use?.id,
        isError: false,
        result: "good day Ann",
      });
      const refused = await runTurn(session, 'TOOL greet {"name":"nobody"}');
      expect(refused.outcome.text).toContain("nobody is there");
      expect(refused.events).toContainEqual(expect.objectContaining({ type: "tool_result", isError: true }));
    });

    test("calls the tools of a stdio MCP server, whose images reach the user", async () => {
      const session = await open({}, { mcpServers });
      expect((await runTurn(session, 'TOOL mcp__fixture__echo {"text":"hi"}')).outcome.text).toContain(
        "Tool said: echo hi marked",
      );
      const picture = await runTurn(session, "TOOL mcp__fixture__picture {}");
      const image = picture.events.find((event) => event.type === "image");
      expect(image?.mime).toBe("image/png");
      expect(Buffer.from(image!.data).equals(PNG)).toBe(true);
      expect(picture.outcome.text).toContain("here it is");
      expect(picture.outcome.text).not.toContain("iVBOR");
      const failed = await runTurn(session, "TOOL mcp__fixture__fail {}");
      expect(failed.outcome.text).toContain("it broke");
      expect(failed.events).toContainEqual(expect.objectContaining({ type: "tool_result", isError: true }));
    });

    test("a tool of a server waits until the gateway lets the agent act, and is refused otherwise [ACT-2]", async () => {
      const gate = Promise.withResolvers<void>();
      let asked = 0;
      const acting = () => {
        asked++;
        return asked === 1 ? gate.promise : Promise.reject(new Error("its disk may be full"));
      };
      const session = await open({ acting }, { mcpServers });
      let over = false;
      const turn = runTurn(session, 'TOOL mcp__fixture__echo {"text":"hi"}').then((ended) => {
        over = true;
        return ended;
      });
      await expect.poll(() => asked).toBe(1);
      expect(over).toBe(false);
      gate.resolve();
      expect((await turn).outcome.text).toContain("Tool said: echo hi marked");
      const refused = await runTurn(session, 'TOOL mcp__fixture__echo {"text":"hi"}');
      expect(refused.outcome.text).toContain("its disk may be full");
    });

    test("interrupt ends a turn whose tool hangs, and the next turn works", async () => {
      const called = Promise.withResolvers<void>();
      const hang: GatewayTool = {
        name: "hang",
        description: "Never answers.",
        inputSchema: { type: "object", properties: {} },
        call() {
          called.resolve();
          return new Promise(() => {});
        },
      };
      const session = await open({ tools: [hang] });
      const turn = runTurn(session, "TOOL hang {}");
      await called.promise;
      await session.interrupt();
      expect((await turn).outcome).toMatchObject({ status: "interrupted", text: "Calling a tool." });
      expect((await runTurn(session, "next")).outcome).toMatchObject({
        status: "done",
        text: "Echo[2]: next",
      });
    });

    test.runIf(process.platform === "linux")("MCP servers end with the session", async () => {
      const session = await open({}, { mcpServers });
      const { outcome } = await runTurn(session, "TOOL mcp__fixture__pid {}");
      const pid = Number(/pid=(\d+)/.exec(outcome.text)?.[1]);
      expect(await isAlive(pid)).toBe(true);
      await session.close();
      await expect.poll(() => isAlive(pid)).toBe(false);
    });

    test("a list of allowed tools leaves the others out, and a broken MCP server does not stop the agent, which is told of it [CONN-7]", async () => {
      const servers = { ...mcpServers, broken: { command: "/nowhere/server" } };
      const session = await open({ allowTools: ["echo"] }, { mcpServers: servers });
      await runTurn(session, "hello");
      expect(JSON.stringify((await lastRequest()).tools)).toContain("mcp__fixture__echo");
      expect(JSON.stringify((await lastRequest()).tools)).not.toContain("picture");
      expect(JSON.stringify(await lastRequest())).toContain("their tools are missing: broken.");
    });

    test("takes images with a message", async () => {
      const file = join(dir, "dot.png");
      await writeFile(file, PNG);
      const session = await open();
      const { outcome } = await runTurn(session, {
        text: "what is it?",
        files: [{ path: file, mime: "image/png" }],
      });
      expect(outcome.text).toBe("Echo[1 img=1]: what is it?");
      expect(JSON.stringify(await lastRequest())).toContain(imageMark);
      const gone = await runTurn(session, { text: "and?", files: [{ path: "/nowhere", mime: "image/png" }] });
      expect(gone.outcome).toMatchObject({
        status: "failed",
        error: "A file of the message could not be read.",
      });
    });

    test("stop in mid-stream keeps the text so far, also for the model, and the next turn works", async () => {
      const session = await open();
      const { outcome, text } = await runTurn(session, "SLOW 1000 5", (event) => {
        if (event.type === "text" && event.text.includes("w3")) void session.interrupt();
      });
      expect(outcome.status).toBe("interrupted");
      expect(outcome.text).toBe(text);
      expect(text).toContain("w0 w1 w2 w3");
      expect((await runTurn(session, "next")).outcome.text).toBe("Echo[2]: next");
      expect(JSON.stringify(await lastRequest())).toContain("w0 w1 w2 w3");
    });

    test("interrupt ends a turn whose provider hangs, before its first word", async () => {
      const session = await open();
      const turn = session.turn({ text: "HANG", files: [] }, () => {});
      await expect.poll(async () => JSON.stringify(await fake.requests(path))).toContain("HANG");
      await session.interrupt();
      expect(await turn).toMatchObject({ status: "interrupted", text: "" });
      expect((await runTurn(session, "next")).outcome).toMatchObject({
        status: "done",
        text: "Echo[2]: next",
      });
    });

    test("a model switch changes the model of the next turn", async () => {
      const session = await open({ model: "claude-sonnet-4-6" });
      expect((await runTurn(session, "one")).outcome.model).toBe("claude-sonnet-4-6");
      expect(await session.setModel("claude-haiku-4-5")).toBe(true);
      expect((await runTurn(session, "two")).outcome.model).toBe("claude-haiku-4-5");
      expect((await lastRequest()).model).toBe("claude-haiku-4-5");
    });

    test("history is given to a new process, roles alternating from a user message on", async () => {
      const session = await open({
        history: [
          { role: "assistant", text: "welcome" },
          { role: "user", text: "question one" },
          { role: "user", text: "question two" },
          { role: "assistant", text: "answer" },
        ],
      });
      expect(session.primed).toBe(true);
      expect((await runTurn(session, "third")).outcome.text).toBe("Echo[3]: third");
      const request = JSON.stringify(await lastRequest());
      for (const text of ["welcome", "question one\\n\\nquestion two", "answer"])
        expect(request).toContain(text);
    });

    test("the instructions stand before the conversation, once", async () => {
      const session = await open({ instructions: "Speak like a sailor." });
      await runTurn(session, "hello");
      expect(JSON.stringify(await lastRequest()).split("Speak like a sailor.")).toHaveLength(2);
    });

    test("compact replaces the older part by the model's summary", async () => {
      const session = await open();
      expect(await session.compact()).toBeNull();
      for (const text of ["first words", "second", "third", "fourth"]) await runTurn(session, text);
      expect(await session.compact()).toMatchObject({ summary: "FAKE SUMMARY of 1 turns." });
      await runTurn(session, "fifth");
      const request = JSON.stringify(await lastRequest());
      expect(request).toContain("FAKE SUMMARY");
      expect(request).not.toContain("first words");
      expect(request).toContain("fourth");
    });

    test("reports the share of the context in use, and compacts by itself from 80 percent on", async () => {
      const session = await open({ contextWindow: 100_000 });
      for (const text of ["first words", "second"]) await runTurn(session, text);
      expect((await runTurn(session, "BIG 25000")).outcome.contextPercent).toBe(25);
      expect(await session.contextPercent()).toBe(25);
      expect((await runTurn(session, "BIG 85000")).outcome.contextPercent).toBe(85);
      const { outcome } = await runTurn(session, "sixth");
      expect(outcome).toMatchObject({ status: "done", contextPercent: 0 });
      expect(JSON.stringify(await lastRequest())).toContain("FAKE SUMMARY");
      expect(JSON.stringify(await lastRequest())).not.toContain("first words");
    });

    test.each([
      ["ERR 401", "The model provider refused the key (401); check the agent's key or log in again."],
      ["ERR 404", "The model provider does not have the model fake-model (404)."],
      ["ERR 413", "The conversation is too long for the model; use /compact or /clear to make room."],
      ["ERR 429", "The model provider limits the rate of requests (429); try again in a while."],
      ["ERR 500", "The model provider failed (500); try again in a moment."],
      ["ERR 529", "The model provider is overloaded (529); try again in a moment."],
    ])("%s is a failed turn with one clear sentence, and is forgotten", async (text, error) => {
      const session = await open();
      expect((await runTurn(session, text)).outcome).toMatchObject({ status: "failed", text: "", error });
      expect((await runTurn(session, "next")).outcome.text).toBe("Echo[1]: next");
    });

    test("a failed request is tried again as often as configured, and a provider that is away is a failed turn", async () => {
      const session = await open({}, { maxRetries: 1 });
      const { outcome, events } = await runTurn(session, "ERR 503 retried");
      expect(outcome.status).toBe("failed");
      const message = "The model provider is overloaded (503).";
      expect(events).toEqual([{ type: "retry", attempt: 1, of: 1, status: 503, message }]);
      const tries = (await fake.requests(path)).filter((body) =>
        JSON.stringify(body).includes("503 retried"),
      );
      expect(tries).toHaveLength(2);
      const away = await open({}, { baseUrl: "http://127.0.0.1:9/v1" });
      expect((await runTurn(away, "hello")).outcome).toMatchObject({
        status: "failed",
        error: "The model provider could not be reached.",
      });
    });

    test("a process that is killed in mid-turn fails the turn with the text so far", async () => {
      const session = await open();
      const { outcome, text } = await runTurn(session, "SLOW 1000 5", (event) => {
        if (event.type === "text" && event.text.includes("w3")) process.kill(session.pid!, "SIGKILL");
      });
      expect(outcome).toMatchObject({ status: "failed", error: expect.stringContaining("process ended") });
      expect(outcome.text).toBe(text);
      expect(text).toContain("w3");
      await session.closed;
      expect((await runTurn(session, "next")).outcome.status).toBe("failed");
      expect(await session.compact()).toBeNull();
    });

    test("closing ends the process, also in mid-turn", async () => {
      const session = await open();
      const started = Promise.withResolvers<void>();
      const turn = runTurn(session, "SLOW 1000 5", (event: RuntimeEvent) => {
        if (event.type === "text") started.resolve();
      });
      await started.promise;
      await session.close();
      await session.close();
      await session.closed;
      expect((await turn).outcome.status).toBe("interrupted");
      expect(await isAlive(session.pid!)).toBe(false);
    });

    test("a session that nobody wants any more fails to open and leaves no process", async () => {
      await expect(open({ signal: AbortSignal.abort() })).rejects.toThrow("cancelled");
      const control = new AbortController();
      const opening = open({ signal: control.signal });
      control.abort();
      await expect(opening).rejects.toThrow("cancelled");
    });
  },
);

test.skipIf(!hasFakeModel)("builtin passes thinking on, where the provider shows it", async () => {
  const dir = await tempFolder();
  const fake = await startFakeModel(join(dir, "requests"));
  onTestFinished(() => fake.stop());
  const runtime = createBuiltinRuntime(
    { provider: "anthropic" },
    { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: fake.url },
    { clock: systemClock, env: process.env },
  );
  const session = await runtime.open(openOptions({ cwd: dir }));
  onTestFinished(() => session.close());
  const { outcome, events } = await runTurn(session, "THINK and SAY yes");
  expect(events[0]).toEqual({ type: "thinking", text: "Let me think about it." });
  expect(outcome).toMatchObject({ text: "yes", model: "claude-sonnet-5" });
});
