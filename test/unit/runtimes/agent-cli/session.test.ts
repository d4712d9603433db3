import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { GatewayTool } from "../../../../packages/gateway/src/runtimes/types.ts";
import { isRunning } from "../../../fixtures/processes.ts";
import { openOptions, runTurn } from "../open-options.ts";

import { asClaudeCode, ask, fakeAgentSuite } from "./fake-agent-suite.ts";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const { suite, start } = fakeAgentSuite();

describe("a turn", () => {
  test.each([
    [[]],
    [["--dumb"]],
    [["--split"]],
    [["--no-deltas"]],
    [["--only-result"]],
    [["--dumb", "--only-result"]],
  ])("works with a program started with %j", async (flags) => {
    const session = await start(flags);
    const { outcome, text } = await runTurn(session, "grüße 👋 日本語");
    expect(outcome).toMatchObject({ status: "done", text: "Echo[1]: grüße 👋 日本語", model: "fake-model" });
    expect(text).toBe(outcome.text);
    expect(await ask(session, "again")).toBe("Echo[2]: again");
  });

  test("what the program writes is told at once, before it is understood", async () => {
    let heard = 0;
    const session = await start(["--split"], { onOutput: () => void heard++ });
    await ask(session, "hello");
    expect(heard).toBeGreaterThan(1);
  });

  test("the first one with a program that ignores control requests is not delayed by them", async () => {
    const started = performance.now();
    expect(await ask(await start(["--dumb"]), "hello")).toBe("Echo[1]: hello");
    expect(performance.now() - started).toBeLessThan(1500);
  });

  test("tools, thinking and images are told as events", async () => {
    const session = await start();
    const tool = await runTurn(session, "TOOL Bash");
    expect(tool.outcome.text).toBe("Before.\n\nAfter.");
    expect(tool.events.map((event) => event.type)).toEqual(["text", "tool_use", "tool_result", "text"]);
    expect((await runTurn(session, "THINK")).events[0]).toEqual({ type: "thinking", text: "Let me think." });
    const image = (await runTurn(session, "IMAGE")).events.find((event) => event.type === "image");
    expect(image).toEqual({ type: "image", mime: "image/png", data: Buffer.from(PNG, "base64") });
  });

  test("files go along as base64 blocks", async () => {
    const path = join(suite.dir, "dot.png");
    await writeFile(path, Buffer.from(PNG, "base64"));
    const session = await start();
    const input = {
      text: "look",
      files: [
        { path, mime: "image/png" },
        { path, mime: "application/pdf" },
      ],
    };
    expect((await runTurn(session, input)).outcome.text).toBe("Echo[1 img=2]: look");
    const { outcome } = await runTurn(session, { ...input, text: "CONTENT" });
    expect(JSON.parse(outcome.text)).toEqual([
      { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: PNG } },
      { type: "text", text: "CONTENT" },
    ]);
    const missing = { text: "look", files: [{ path: join(suite.dir, "none.png"), mime: "image/png" }] };
    expect((await runTurn(session, missing)).outcome).toMatchObject({
      status: "failed",
      error: "A file of the message could not be read.",
    });
    expect(await ask(session, "still here")).toContain("still here");
  });

  test("a word with a slash in front is text, not a command of the agent program", async () => {
    const session = await start([], {}, asClaudeCode);
    expect(JSON.parse(await ask(session, "CONTENT /etc/hosts"))).toBe("CONTENT /etc/hosts");
    expect(await ask(session, "/cost")).toBe("Echo[2]:  /cost");
  });

  test.each([[[]], [["--only-result"]]])(
    "a reply of 32 MiB in one line passes unharmed (%j)",
    async (flags) => {
      const { outcome } = await runTurn(await start(flags), `BIG ${32 * 1024 * 1024}`);
      expect(outcome).toMatchObject({ status: "done" });
      expect(outcome.text.length).toBe(32 * 1024 * 1024);
    },
  );

  test("20,000 deltas add up", async () => {
    const { outcome, events } = await runTurn(await start(), "DELTAS 20000");
    expect(events).toHaveLength(20_000);
    expect(outcome.text.endsWith("d19999 ")).toBe(true);
  });

  test("an error that the program reports fails the turn, and the next one works", async () => {
    const session = await start();
    expect((await runTurn(session, "ERR the model is overloaded")).outcome).toMatchObject({
      status: "failed",
      error: "the model is overloaded",
    });
    expect(await ask(session, "hi")).toBe("Echo[2]: hi");
  });

  test("a process that dies in mid-turn fails it with the text so far, and the session is closed", async () => {
    const session = await start();
    const { outcome } = await runTurn(session, "DIE");
    expect(outcome).toMatchObject({
      status: "failed",
      text: "Half an ans",
      error: "The agent process ended unexpectedly.",
    });
    await session.closed;
    expect((await runTurn(session, "hi")).outcome.status).toBe("failed");
    await session.close();
  });
});

describe("interrupting", () => {
  test("keeps the text so far and the process", async () => {
    const session = await start();
    const { outcome } = await runTurn(
      session,
      "SLOW 200 20",
      (event) => event.type === "text" && void session.interrupt(),
    );
    expect(outcome.status).toBe("interrupted");
    expect(outcome.text).toMatch(/^w0 /);
    expect(await ask(session, "PID")).toBe(String(session.pid));
  });

  test.each([
    ["does not answer", ["--ignore-interrupt"]],
    ["ignores control requests", ["--dumb"]],
    ["ignores SIGINT too", ["--dumb", "--ignore-sigint"]],
  ])("a program that %s gets signals within 5 s", async (_what, flags) => {
    const session = await start(flags);
    const started = performance.now();
    const { outcome } = await runTurn(
      session,
      "SLOW 2000 20",
      (event) => event.type === "text" && void session.interrupt(),
    );
    expect(outcome.status).toBe("interrupted");
    expect(outcome.text).toMatch(/^w0 /);
    expect(performance.now() - started).toBeLessThan(5000);
    await session.closed;
    expect(isRunning(session.pid!)).toBe(false);
  });

  test("before the message is sent sends nothing", async () => {
    const session = await start();
    const turn = runTurn(session, "hello");
    await session.interrupt();
    expect((await turn).outcome).toMatchObject({ status: "interrupted", text: "" });
    expect(await ask(session, "hi")).toBe("Echo[1]: hi");
  });

  test("with nothing running does nothing", async () => {
    const session = await start();
    await session.interrupt();
    expect(await ask(session, "hi")).toBe("Echo[1]: hi");
  });
});

describe("the process", () => {
  test("runs in the workspace with the documented arguments", async () => {
    const session = await start([], { model: "m-1", instructions: "Be kind." }, { args: ["--extra", "1"] });
    expect(await ask(session, "CWD")).toBe(suite.dir);
    const argv = JSON.parse(await ask(session, "ARGV")) as string[];
    expect(argv.join(" ")).toContain(
      "-p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --model m-1 --session-id",
    );
    expect(argv[argv.indexOf("--session-id") + 1]).toBe(openOptions().sessionId);
    expect(argv[argv.indexOf("--append-system-prompt") + 1]).toBe("Be kind.");
    expect(argv.slice(-2)).toEqual(["--extra", "1"]);
  });

  test("gets an allow-list of the environment and the agent's env", async () => {
    const session = await start([], { env: { MY_VAR: "mine" }, contextWindow: 100_000 });
    expect(await ask(session, "ENV GATEWAY_ADMIN_KEY")).toBe("GATEWAY_ADMIN_KEY=");
    expect(await ask(session, "ENV MY_VAR")).toBe("MY_VAR=mine");
    expect(await ask(session, "ENV ANTHROPIC_API_KEY")).toBe("ANTHROPIC_API_KEY=provider");
    expect(await ask(session, "ENV DISABLE_AUTOUPDATER")).toBe("DISABLE_AUTOUPDATER=1");
    expect(await ask(session, "ENV CLAUDE_CODE_MAX_CONTEXT_TOKENS")).toBe(
      "CLAUDE_CODE_MAX_CONTEXT_TOKENS=100000",
    );
  });

  test("has a state folder of its own only where no login gets lost by it", async () => {
    const configDir = join(suite.dir, "state");
    const over = { env: { HOME: suite.dir } };
    expect(await ask(await start([], over, { configDir }), "ENV CLAUDE_CONFIG_DIR")).toBe(
      `CLAUDE_CONFIG_DIR=${configDir}`,
    );
    const noLogin = { configDir, hostEnv: { PATH: process.env.PATH } };
    expect(await ask(await start([], over, noLogin), "ENV CLAUDE_CONFIG_DIR")).toBe("CLAUDE_CONFIG_DIR=");
  });

  test("ends with its grandchildren when the session is closed", async () => {
    const session = await start();
    const grandchild = Number(await ask(session, "FORK"));
    expect(isRunning(grandchild)).toBe(true);
    await Promise.all([session.close(), session.close()]);
    await session.closed;
    expect(isRunning(session.pid!)).toBe(false);
    await vi.waitFor(() => expect(isRunning(grandchild)).toBe(false));
  });

  test("closing in mid-turn interrupts the turn", async () => {
    const session = await start(["--dumb"]);
    const turn = runTurn(session, "SLOW 500 20", (event) => event.type === "text" && void session.close());
    expect((await turn).outcome).toMatchObject({
      status: "interrupted",
      text: expect.stringMatching(/^w0 /),
    });
  });

  test("opening fails in one sentence, and leaves no process when nobody wants the session any more", async () => {
    await expect(start([], {}, { command: ["no-such-program"] })).rejects.toThrow(
      "The agent program was not found.",
    );
    const log = join(suite.dir, "aborted.log");
    const env = { FAKE_AGENT_LOG: log };
    await expect(start([], { signal: AbortSignal.abort(), env })).rejects.toThrow(
      "Opening the session was cancelled.",
    );
    await expect(readFile(log)).rejects.toThrow();
  });
});

describe("tools and permissions", () => {
  test.each([
    [true, "Bash", "After."],
    [false, "Bash", "Denied"],
    [["Read", "Bash"], "Bash", "After."],
    [["Read"], "Bash", "Denied"],
  ] as const)("allow_tools %j answers the request for %s", async (allowTools, name, expected) => {
    const { outcome, events } = await runTurn(await start([], { allowTools }), `TOOL ${name}`);
    expect(outcome.text).toContain(expected);
    expect(events.find((event) => event.type === "tool_result")).toMatchObject({
      isError: expected === "Denied",
    });
  });

  const tool = (call: GatewayTool["call"]): GatewayTool => ({
    name: "share_file",
    description: "Shares.",
    inputSchema: { type: "object" },
    call,
  });

  test("the agent calls the gateway's tools, also when other tools are not allowed", async () => {
    const calls: unknown[] = [];
    const share = tool(async (args) => {
      calls.push(args);
      return "shared as 7";
    });
    const session = await start([], { tools: [share], allowTools: false });
    expect(await ask(session, "SHARE /tmp/a.png")).toBe("Shared: shared as 7");
    expect(calls).toEqual([{ path: "/tmp/a.png" }]);
    const argv = JSON.parse(await ask(session, "ARGV")) as string[];
    expect(argv[argv.indexOf("--mcp-config") + 1]).toBe(
      '{"mcpServers":{"gateway":{"type":"sdk","name":"gateway"}}}',
    );
  });

  test("a tool that fails tells the agent why", async () => {
    const failing = tool(() => Promise.reject(new Error("ARTIFACT_PATH_DENIED: not in the workspace")));
    const { outcome, events } = await runTurn(await start([], { tools: [failing] }), "SHARE /etc/passwd");
    expect(outcome.text).toBe("Shared: ARTIFACT_PATH_DENIED: not in the workspace");
    expect(events).toContainEqual({
      type: "tool_result",
      id: expect.any(String),
      isError: true,
      result: "ARTIFACT_PATH_DENIED: not in the workspace",
    });
    expect(await ask(await start(), "SHARE /x")).toBe("Shared: Unknown tool.");
  });
});
