import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createAcpRuntime } from "../../packages/gateway/src/runtimes/acp/index.ts";
import type { OpenOptions } from "../../packages/gateway/src/runtimes/types.ts";
import { type FakeModel, hasFakeModel, startFakeModel } from "../fixtures/fake-model.ts";
import { npmProgram } from "../fixtures/npm-program.ts";
import { openOptions, runTurn } from "../unit/runtimes/open-options.ts";

const PACKAGE = "@agentclientprotocol/claude-agent-acp@0.100.0";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const command = hasFakeModel ? await npmProgram(PACKAGE) : null;

describe.skipIf(command === null)(`a real ACP agent from npm, ${PACKAGE}`, () => {
  let dir: string;
  let cwd: string;
  let fake: FakeModel;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "gateway-acp-"));
    cwd = join(dir, "workspace");
    await mkdir(cwd);
    fake = await startFakeModel(join(dir, "requests"));
  });
  afterAll(async () => {
    await fake.stop();
    await rm(dir, { recursive: true, force: true });
  });

  const open = async (over: Partial<OpenOptions> = {}) => {
    const env = {
      HOME: dir,
      CLAUDE_CONFIG_DIR: join(dir, "config"),
      ANTHROPIC_BASE_URL: fake.url,
      ANTHROPIC_API_KEY: "fake-key",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: "0",
      DISABLE_AUTOUPDATER: "1",
      IS_SANDBOX: "1",
    };
    const runtime = createAcpRuntime({ command: command!, args: [], hostEnv: process.env });
    const session = await runtime.open(openOptions({ cwd, sessionDir: dir, ...over, env }));
    onTestFinished(() => session.close());
    return session;
  };
  const kinds = (events: readonly { type: string }[]) => new Set(events.map(({ type }) => type));
  /** What the agent last sent to the model, apart from its own side requests. */
  const lastRequest = async () => {
    const requests = await fake.requests("/v1/messages");
    return requests.filter((one) => Array.isArray(one.tools) && one.tools.length > 0).at(-1)!;
  };

  test("streams its reply, reports the share of the context and the model [RUN-5]", async () => {
    const session = await open();
    const { outcome, events, text } = await runTurn(
      session,
      "BIG 250000\nSAY one two three four five six seven",
    );
    expect(outcome).toMatchObject({ status: "done", text: "one two three four five six seven" });
    expect(text).toBe(outcome.text);
    expect(events.length).toBeGreaterThan(2);
    expect(outcome.contextPercent).toBeGreaterThan(20);
    expect(await session.contextPercent()).toBe(outcome.contextPercent);
    expect(outcome.model).toMatch(/^claude-/);
  });

  test("asks for a tool, which runs when it is allowed and not when it is not", async () => {
    for (const [allowTools, file, runs] of [
      [true, "all", true],
      [["Bash"], "listed", true],
      [["Read"], "unlisted", false],
      [false, "none", false],
    ] as const) {
      const session = await open({ allowTools });
      const { events } = await runTurn(session, `TOOL Bash {"command":"touch ${file}","description":"x"}`);
      expect(existsSync(join(cwd, file)), file).toBe(runs);
      const used = events.find((event) => event.type === "tool_use");
      // A model that is offered no tool at all calls none.
      if (allowTools === false) expect(used).toBeUndefined();
      else expect(used).toMatchObject({ name: "Bash" });
      if (used === undefined) continue;
      expect(events).toContainEqual(
        expect.objectContaining({ type: "tool_result", id: used.id, isError: !runs }),
      );
      await session.close();
    }
  });

  test("tells what the model thinks, and passes on an image to it and from a tool", async () => {
    const session = await open();
    const path = join(cwd, "dot.png");
    await writeFile(path, PNG);
    expect(kinds((await runTurn(session, "THINK\nSAY x")).events)).toContain("thinking");
    const { outcome } = await runTurn(session, { text: "what is it", files: [{ path, mime: "image/png" }] });
    expect(outcome.text).toContain("img=1");
    const read = await runTurn(session, `TOOL Read ${JSON.stringify({ file_path: path })}`);
    expect(kinds(read.events)).toContain("image");
  });

  test("stops in mid-stream within moments, keeps the text so far, and takes the next message", async () => {
    const session = await open();
    const pid = session.pid;
    let asked = 0;
    const { outcome, text } = await runTurn(session, "SLOW 500 50", (event) => {
      if (event.type !== "text" || asked > 0) return;
      asked = Date.now();
      void session.interrupt();
    });
    expect(outcome.status).toBe("interrupted");
    expect(Date.now() - asked).toBeLessThan(3000);
    expect(outcome.text).toMatch(/^w0 /);
    expect(text).toBe(outcome.text);
    expect((await runTurn(session, "SAY back")).outcome).toMatchObject({ status: "done", text: "back" });
    expect(session.pid).toBe(pid);
  });

  test("takes up its conversation after kill -9 in mid-turn; an unknown one begins with the history", async () => {
    const before = await open();
    await runTurn(before, "SAY the first reply");
    const resume = before.resumeToken!;
    const killed = await runTurn(before, "SLOW 500 50", (event) => {
      if (event.type === "text" && before.pid) process.kill(before.pid, "SIGKILL");
    });
    expect(killed.outcome).toMatchObject({
      status: "failed",
      error: "The agent process ended unexpectedly.",
    });
    await before.closed;

    const history = [
      { role: "user", text: "from the store" },
      { role: "assistant", text: "stored reply" },
    ] as const;
    const again = await open({ resume, history });
    expect(again).toMatchObject({ primed: true, resumeToken: resume });
    expect((await runTurn(again, "SAY resumed")).outcome.text).toBe("resumed");
    const resumed = JSON.stringify((await lastRequest()).messages);
    expect(resumed).toContain("the first reply");
    expect(resumed).not.toContain("stored reply");

    const unknown = await open({ resume: "00000000-0000-4000-8000-000000000000", history });
    expect((await runTurn(unknown, "SAY anew")).outcome.text).toBe("anew");
    expect(JSON.stringify((await lastRequest()).messages)).toContain("stored reply");
  });

  test("switches the model, and says of one that it does not offer that it cannot", async () => {
    const session = await open();
    expect(await session.setModel("haiku")).toBe(true);
    expect((await runTurn(session, "SAY x")).outcome.model).toContain("haiku");
    expect(await session.setModel("no-such-model")).toBe(false);
  });

  test("shortens its conversation by its own command", async () => {
    const session = await open();
    await runTurn(session, "SAY something to forget");
    expect(await session.compact()).toMatchObject({ summary: null });
    expect((await runTurn(session, "SAY after")).outcome.text).toBe("after");
    expect(JSON.stringify((await lastRequest()).messages)).toContain("FAKE SUMMARY");
  });

  test("reports an error of the model's server as a failed turn", async () => {
    const session = await open();
    const { outcome } = await runTurn(session, "ERR 400");
    expect(outcome).toMatchObject({ status: "failed", error: expect.stringContaining("400") });
  });

  test("a message that begins like a command is a message", async () => {
    const { outcome } = await runTurn(await open(), "/help SAY read as text");
    expect(outcome).toMatchObject({ status: "done", text: "read as text" });
  });

  test("calls the gateway's share_file, whatever other tools are allowed", async () => {
    const calls: unknown[] = [];
    const share = {
      name: "share_file",
      description: "Shares a file of the workspace.",
      inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      call: async (args: Record<string, unknown>) => {
        calls.push(args);
        return "shared as number 7";
      },
    };
    const session = await open({ tools: [share], allowTools: false });
    const { outcome, events } = await runTurn(session, 'TOOL mcp__gateway__share_file {"path":"a.png"}');
    expect(calls).toEqual([{ path: "a.png" }]);
    expect(outcome.text).toContain("shared as number 7");
    expect(events).toContainEqual(
      expect.objectContaining({ type: "tool_use", name: "mcp__gateway__share_file" }),
    );
  });
});
