import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createAgentCliRuntime } from "../../packages/gateway/src/runtimes/agent-cli/index.ts";
import type { OpenOptions, Runtime, RuntimeSession } from "../../packages/gateway/src/runtimes/types.ts";
import { npmProgram } from "../fixtures/npm-program.ts";
import { isRunning } from "../fixtures/processes.ts";
import { openOptions, runTurn } from "../unit/runtimes/open-options.ts";
import { installClaudeCode, startFakeModel } from "./claude-code.ts";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

interface ModelCall {
  model: string;
  tools?: { name: string }[];
  messages: { role: string; content: string | { type: string; text?: string }[] }[];
}

const installed = await installClaudeCode();
const reason = "missing" in installed ? ` (left out: ${installed.missing})` : "";

describe.skipIf("missing" in installed)(`the real agent CLI${reason} [RUN-4]`, () => {
  let dir: string;
  let dump: string;
  let model: Awaited<ReturnType<typeof startFakeModel>>;
  const open: RuntimeSession[] = [];

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "agw-conformance-"));
    dump = join(dir, "calls");
    model = await startFakeModel(dump);
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((session) => session.close()));
  });
  afterAll(async () => {
    await model.stop();
    await rm(dir, { recursive: true, force: true });
  });

  const runtimeWith = (args: string[] = [], maxRetries = 0) =>
    createAgentCliRuntime({
      command: ["program" in installed ? installed.program : "claude"],
      args,
      hostEnv: {
        PATH: process.env.PATH,
        HOME: dir,
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: "sk-fake",
      },
      maxRetries,
      configDir: join(dir, "state"),
    });

  async function start(over: Partial<OpenOptions> = {}, args: string[] = [], maxRetries = 0) {
    return openIn(runtimeWith(args, maxRetries), over);
  }

  async function openIn(runtime: Runtime, over: Partial<OpenOptions> = {}) {
    const session = await runtime.open(
      openOptions({ cwd: dir, sessionDir: dir, sessionId: randomUUID(), ...over }),
    );
    open.push(session);
    return session;
  }

  async function ask(session: RuntimeSession, text: string) {
    const { outcome } = await runTurn(session, text);
    expect(outcome).toMatchObject({ status: "done" });
    return outcome.text;
  }

  async function lastCall(): Promise<ModelCall> {
    const names = (await readdir(dump)).filter((name) => /_v1_messages\.json$/.test(name)).sort();
    return JSON.parse(await readFile(join(dump, names.at(-1) ?? ""), "utf8")) as ModelCall;
  }

  const flat = ({ content }: ModelCall["messages"][number]) =>
    typeof content === "string" ? content : content.map((block) => block.text ?? "").join("\n");

  test("reports what each turn used, also after it was resumed, whether it ended in peace or not [USE-1]", async () => {
    const model = "claude-haiku-4-5";
    const runtime = runtimeWith();
    const session = await openIn(runtime, { model });
    const used = async (of: RuntimeSession) => {
      const { usage } = (await runTurn(of, "hello")).outcome;
      const [use, ...others] = usage?.models ?? [];
      expect(others).toEqual([]);
      expect(use).toMatchObject({ model, cacheReadTokens: 0 });
      return use!;
    };
    const first = await used(session);
    // Each turn sends the conversation again and little else, so they cost about the same.
    const alike = (use: typeof first) => {
      for (const [got, expected] of [
        [use.inputTokens, first.inputTokens],
        [use.cost!, first.cost!],
      ] as const) {
        expect(got / expected).toBeGreaterThan(0.9);
        expect(got / expected).toBeLessThan(1.5);
      }
    };
    alike(await used(session));
    const resume = session.resumeToken!;
    await session.close();
    const resumed = await openIn(runtime, { model, resume });
    alike(await used(resumed));
    process.kill(resumed.pid!, "SIGKILL");
    await resumed.closed;
    alike(await used(await openIn(runtime, { model, resume })));
  });

  test("streams a reply, and keeps the conversation", async () => {
    const session = await start({ model: "claude-haiku-4-5" });
    const { outcome, text, events } = await runTurn(session, "hello grüße 👋");
    expect(outcome).toMatchObject({
      status: "done",
      text: "Echo[1]: hello grüße 👋",
      model: "claude-haiku-4-5",
    });
    expect(text).toBe(outcome.text);
    expect(events.length).toBeGreaterThan(1);
    expect(await ask(session, "again")).toBe("Echo[2]: again");
    expect(session.resumeToken).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("tells thinking and tools; allowed tools run", async () => {
    const session = await start();
    const { outcome, events, text } = await runTurn(
      session,
      'THINK\nTOOL Bash {"command":"echo made-it > made.txt; echo done-it"}',
    );
    expect(outcome.text).toBe("Calling a tool.\n\nTool said: done-it");
    expect(text).toBe(outcome.text);
    expect(events).toContainEqual({ type: "thinking", text: "Let me think about it." });
    expect(events.filter(({ type }) => type === "tool_use")).toEqual([
      {
        type: "tool_use",
        name: "Bash",
        id: expect.any(String),
        input: '{"command":"echo made-it > made.txt; echo done-it"}',
      },
    ]);
    expect(events).toContainEqual({
      type: "tool_result",
      id: expect.any(String),
      isError: false,
      result: "done-it",
    });
    expect(await readFile(join(dir, "made.txt"), "utf8")).toBe("made-it\n");
  });

  test("tools that reach beyond the session are not there; with allow_tools false none is", async () => {
    await ask(await start(), "hello");
    const names = (await lastCall()).tools?.map(({ name }) => name) ?? [];
    expect(names).toContain("Bash");
    for (const name of ["ListAgents", "SendMessage", "ScheduleWakeup", "AskUserQuestion"])
      expect(names).not.toContain(name);
    await ask(await start({ allowTools: false }), "hello");
    expect((await lastCall()).tools?.map(({ name }) => name) ?? []).toEqual([]);
  });

  test("a tool that is not in the list is refused", async () => {
    const session = await start({ allowTools: ["Read"] }, ["--tools", "Read,Bash"]);
    const { outcome, events } = await runTurn(session, 'TOOL Bash {"command":"touch forbidden.txt"}');
    expect(outcome.text).toContain("not allowed for this agent");
    expect(events).toContainEqual(
      expect.objectContaining({ type: "tool_result", id: expect.any(String), isError: true }),
    );
    expect(await readdir(dir)).not.toContain("forbidden.txt");
  });

  test("takes images, and tells images in tool results", async () => {
    const path = join(dir, "dot.png");
    await writeFile(path, Buffer.from(PNG, "base64"));
    const session = await start();
    const sent = await runTurn(session, { text: "look at this", files: [{ path, mime: "image/png" }] });
    expect(sent.outcome.text).toContain("Echo[1 img=1]: ");
    const read = await runTurn(session, `TOOL Read {"file_path":"${path}"}`);
    expect(read.events).toContainEqual({ type: "image", mime: "image/png", data: expect.any(Uint8Array) });
  });

  test("stops in mid-stream and in a tool, and takes the next message in the same process", async () => {
    const session = await start();
    const streaming = await runTurn(
      session,
      "SLOW 300 30",
      ({ type }) => type === "text" && void session.interrupt(),
    );
    expect(streaming.outcome).toMatchObject({ status: "interrupted", text: expect.stringMatching(/^w0 /) });
    const inTool = await runTurn(
      session,
      'TOOL Bash {"command":"sleep 60"}',
      ({ type }) => type === "tool_use" && void session.interrupt(),
    );
    expect(inTool.outcome.status).toBe("interrupted");
    await ask(session, "and now");
    expect((await lastCall()).messages.map(flat).join("\n")).toContain("and now");
    expect(isRunning(session.pid!)).toBe(true);
  });

  test("stops a message that has just been sent", async () => {
    const session = await start();
    const turn = runTurn(session, "SLOW 300 30");
    await session.contextPercent();
    await session.interrupt();
    expect((await turn).outcome.status).toBe("interrupted");
    expect(isRunning(session.pid!)).toBe(true);
  });

  test("reports errors of the model as a failed turn", async () => {
    const session = await start();
    expect((await runTurn(session, "ERR 400")).outcome).toMatchObject({
      status: "failed",
      text: "",
      error: expect.stringContaining("fake error 400"),
    });
    expect(isRunning(session.pid!)).toBe(true);
  });

  test("tells each attempt while the model is down, and gives up within 15 s [RETRY-1, RETRY-3]", async () => {
    const session = await start({}, [], 3);
    const began = Date.now();
    const { outcome, events } = await runTurn(session, "ERR 500");
    expect(Date.now() - began).toBeLessThan(15_000);
    const attempts = events.flatMap((event) => (event.type === "retry" ? [event] : []));
    expect(attempts).toMatchObject([1, 2, 3].map((attempt) => ({ attempt, of: 3, status: 500 })));
    expect(outcome).toMatchObject({
      status: "failed",
      error: "The model provider failed (500); try again in a moment.",
    });
  });

  test("switches the model, and reports the context in use", async () => {
    const session = await start({ model: "claude-opus-4-8", contextWindow: 100_000 });
    const before = await runTurn(session, "BIG 25000");
    expect(before.outcome.contextPercent).toBeCloseTo(25, 0);
    expect(await session.setModel("claude-haiku-4-5")).toBe(true);
    expect((await runTurn(session, "hello")).outcome.model).toBe("claude-haiku-4-5");
    expect((await lastCall()).model).toBe("claude-haiku-4-5");
    expect(await session.contextPercent()).toBeGreaterThan(0);
  });

  test("compacts, giving its summary", async () => {
    const session = await start();
    await ask(session, "SAY the secret word is plum");
    await ask(session, "hello");
    expect(await session.compact()).toMatchObject({
      summary: expect.stringMatching(/^FAKE SUMMARY of \d+ turns\.$/),
    });
    expect(await ask(session, "go on")).toContain("go on");
  });

  test("resumes its own session after kill -9 in mid-turn", async () => {
    const session = await start();
    await ask(session, "SAY the secret word is plum");
    const killed = await runTurn(
      session,
      "SLOW 300 30",
      ({ type }) => type === "text" && process.kill(session.pid!, "SIGKILL"),
    );
    expect(killed.outcome).toMatchObject({ status: "failed", text: expect.stringMatching(/^w0 /) });
    await session.closed;
    const resumed = await start({ resume: session.resumeToken! });
    expect(await ask(resumed, "still there?")).toContain("still there?");
    expect((await lastCall()).messages.map(flat).join("\n")).toContain("the secret word is plum");
    expect(resumed.resumeToken).toBe(session.resumeToken);
  });

  test("gets the history as messages of their own, also when the session to resume is unknown, and keeps them", async () => {
    const history = [
      { role: "assistant", text: "Welcome!" },
      { role: "user", text: "/compact my name is Ada" },
      { role: "assistant", text: "Noted, Ada." },
      { role: "user", text: "I like tea" },
      { role: "assistant", text: "Tea it is." },
    ] as const;
    for (const resume of [undefined, randomUUID()]) {
      const session = await start({ history, resume });
      expect(await ask(session, "what do I like?")).toContain("what do I like?");
      const told = (await lastCall()).messages
        .filter(({ role }) => role !== "system")
        .map((message) => [message.role, flat(message)] as const);
      expect(told.map(([role]) => role)).toEqual([
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
      ]);
      for (const [at, { role, text }] of history.entries()) {
        expect(told[at + 1]?.[0]).toBe(role);
        expect(told[at + 1]?.[1]).toContain(text);
      }
      process.kill(session.pid!, "SIGKILL");
      await session.closed;
      const resumed = await start({ resume: session.resumeToken! });
      await ask(resumed, "hello");
      expect((await lastCall()).messages.map(flat).join("\n")).toContain("Noted, Ada.");
    }
  });

  test("starts over under a new id when its own is in use", async () => {
    const sessionId = randomUUID();
    const first = await start({ sessionId });
    await ask(first, "hello");
    await first.close();
    const second = await start({ sessionId });
    expect(await ask(second, "hello")).toBe("Echo[1]: hello");
    expect(second.resumeToken).not.toBe(sessionId);
  });

  test("calls the gateway's share_file, also in its first turn and with no other tool allowed", async () => {
    const calls: unknown[] = [];
    const share = {
      name: "share_file",
      description: "Shares a file.",
      inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      async call(args: Record<string, unknown>) {
        calls.push(args);
        if (args.path === "/nope") throw new Error("ARTIFACT_PATH_DENIED");
        return "shared it";
      },
    };
    const session = await start({ tools: [share], allowTools: false });
    expect(await ask(session, 'TOOL mcp__gateway__share_file {"path":"/a.png"}')).toBe(
      "Calling a tool.\n\nTool said: shared it",
    );
    expect(await ask(session, 'TOOL mcp__gateway__share_file {"path":"/nope"}')).toContain(
      "ARTIFACT_PATH_DENIED",
    );
    expect(calls).toEqual([{ path: "/a.png" }, { path: "/nope" }]);
  });

  test("calls the tools of connectors beside the gateway's, also of a published server [CONN-1, CONN-4, CONN-5]", async () => {
    const share = {
      name: "share_file",
      description: "Shares a file.",
      inputSchema: { type: "object" },
      call: async () => "shared it",
    };
    const fixture = join(import.meta.dirname, "../fixtures/mcp-server.mjs");
    const everything = await npmProgram("@modelcontextprotocol/server-everything@2026.8.31");
    const mcpServers = {
      crm: { command: process.execPath, args: [fixture], env: { FIXTURE_MARK: "with a secret" } },
      ...(everything && { everything: { command: everything[0]!, args: [...everything.slice(1), "stdio"] } }),
    };
    for (const allowTools of [true, ["mcp__crm__echo", "mcp__everything"]]) {
      const session = await start({ tools: [share], mcpServers, allowTools });
      const used = (tool: string, args: object) => ask(session, `TOOL ${tool} ${JSON.stringify(args)}`);
      expect(await used("mcp__crm__echo", { text: "hi" })).toContain("Tool said: echo hi with a secret");
      expect(await used("mcp__gateway__share_file", {})).toContain("shared it");
      if (everything) expect(await used("mcp__everything__echo", { message: "ho" })).toMatch(/Echo: ho/i);
      const fail = await used("mcp__crm__fail", {});
      expect(fail).toContain(allowTools === true ? "it broke" : "not allowed");
      expect(existsSync(join(dir, "mcp.json"))).toBe(true);
      await session.close();
      expect(existsSync(join(dir, "mcp.json"))).toBe(false);
    }
  }, 120_000);

  test("follows the instructions of this start, also when it resumes", async () => {
    const session = await start({ instructions: "Speak like a pirate." });
    await ask(session, "hello");
    expect(JSON.stringify(await lastCall())).toContain("Speak like a pirate.");
    await session.close();
    const resumed = await start({ instructions: "Speak like a queen.", resume: session.resumeToken! });
    await ask(resumed, "hello");
    const call = JSON.stringify(await lastCall());
    expect(call).toContain("Speak like a queen.");
    expect(call).not.toContain("Speak like a pirate.");
  });
});
