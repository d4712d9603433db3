import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAcpRuntime } from "../../../../packages/gateway/src/runtimes/acp/index.ts";
import type { OpenOptions, RuntimeEvent } from "../../../../packages/gateway/src/runtimes/types.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { openOptions, runTurn } from "../open-options.ts";
import { openFake as open } from "./open-fake.ts";

const texts = (events: readonly RuntimeEvent[]) =>
  events.flatMap((event) => (event.type === "text" ? [event.text] : []));

async function until(probe: () => boolean): Promise<void> {
  while (!probe()) await new Promise((done) => setTimeout(done, 5));
}

const running = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("turn", () => {
  test("passes chunks on as they come; the outcome's text is their sum", async () => {
    const session = await open();
    const { outcome, events } = await runTurn(session, "CHUNKS Hel|lo| there");
    expect(texts(events)).toEqual(["Hel", "lo", " there"]);
    expect(outcome).toEqual({ status: "done", text: "Hello there" });
    expect(session.pid).toBeGreaterThan(0);
  });

  test("tells thinking and tools; text after them is a new paragraph", async () => {
    const session = await open();
    const script = "THINK hm\nSAY one\nTOOL Read\nFAILTOOL Bash\nSAY two\nMESSAGES three|four";
    const { outcome, events } = await runTurn(session, script);
    expect(events).toEqual([
      { type: "thinking", text: "hm" },
      { type: "text", text: "one" },
      { type: "tool_use", name: "Read", id: "call-0", title: "Runs Read" },
      { type: "tool_result", id: "call-0", isError: false },
      { type: "tool_use", name: "Bash", id: "call-1", title: "Runs Bash" },
      { type: "tool_result", id: "call-1", isError: true },
      { type: "text", text: "\n\ntwo" },
      { type: "text", text: "\n\nthree" },
      { type: "text", text: "\n\nfour" },
    ]);
    expect(outcome.text).toBe(texts(events).join(""));
  });

  test("tells a tool once, with its input and result, under a name that is no command [STEP-4]", async () => {
    const { events } = await runTurn(await open(), "CALLTOOL first two words\nSAY done");
    expect(events).toEqual([
      {
        type: "tool_use",
        name: "execute",
        id: "call-0",
        title: "ls -la /tmp && echo done",
        input: '{"command":"first"}',
      },
      { type: "tool_result", id: "call-0", isError: false, result: "two words" },
      { type: "text", text: "done" },
    ]);
  });

  test("tells a tool when the agent asks for permission, before it has run [STEP-4]", async () => {
    const { events } = await runTurn(await open(), "ASK Bash execute allow_once,reject_once");
    expect(events).toEqual([
      { type: "tool_use", name: "Bash", id: "call-0" },
      { type: "text", text: "id-allow_once" },
    ]);
  });

  test("tells a tool that begins without another word while it runs [STEP-4]", async () => {
    const session = await open();
    const { events } = await runTurn(session, "QUIETTOOL wait\nWAIT", (event) => {
      if (event.type === "tool_use") void session.interrupt();
    });
    expect(events).toEqual([{ type: "tool_use", name: "wait", id: "call-0" }]);
  });

  test("tells what the agent's log says of its model [RETRY-5]", async () => {
    const session = await open();
    const { events } = await runTurn(
      session,
      "STDERR Attempt 2 failed with status 429, retrying\nWAIT",
      (event) => {
        if (event.type === "retry") void session.interrupt();
      },
    );
    const message = "The model provider limits the rate of requests (429).";
    expect(events).toEqual([{ type: "retry", attempt: 2, of: 2, status: 429, message }]);
  });

  test("hands on an image of a tool's result once, and nothing of a subagent's text", async () => {
    const { outcome, events } = await runTurn(await open(), "PICTURE Draw\nSUBAGENT inner\nSAY done");
    const images = events.filter((event) => event.type === "image");
    expect(images).toHaveLength(1);
    expect(images[0]!.mime).toBe("image/png");
    expect(Buffer.from(images[0]!.data.subarray(1, 4)).toString()).toBe("PNG");
    expect(outcome.text).toBe("done");
  });

  test("passes a reply of 32 MiB in one line, and characters that are split between reads", async () => {
    const session = await open();
    const big = await runTurn(session, `BIG ${32 * 1024 * 1024}`);
    expect(big.outcome.status).toBe("done");
    expect(big.outcome.text.length).toBe(32 * 1024 * 1024);
    expect((await runTurn(session, "BYTES")).outcome.text).toBe("สวัสดี 日本語 🎉");
  });

  test("skips what it does not know: other output, notifications, updates and sessions", async () => {
    expect((await runTurn(await open(), "NOISE\nSAY fine")).outcome).toEqual({
      status: "done",
      text: "fine",
    });
  });

  test("tells that the agent wrote something, even noise", async () => {
    let heard = 0;
    const session = await open({}, { onOutput: () => void heard++ });
    const before = heard;
    await runTurn(session, "NOISE");
    expect(heard).toBeGreaterThan(before);
  });

  test("refuses to serve files and terminals", async () => {
    expect((await runTurn(await open(), "FS")).outcome.text).toBe("error -32601");
  });

  test("reports the share of the context in use", async () => {
    const session = await open();
    expect(await session.contextPercent()).toBeUndefined();
    expect((await runTurn(session, "USAGE 250 1000\nSAY x")).outcome.contextPercent).toBe(25);
    expect(await session.contextPercent()).toBe(25);
  });

  test.each([
    ["end_turn", "done"],
    ["max_tokens", "done"],
    ["max_turn_requests", "done"],
    ["refusal", "done"],
    ["something_new", "done"],
    ["cancelled", "interrupted"],
  ])("stop reason %s ends it %s, with the text", async (reason, status) => {
    expect((await runTurn(await open(), `SAY so far\nSTOP ${reason}`)).outcome).toEqual({
      status,
      text: "so far",
    });
  });

  test("a refusal without a word fails with a sentence", async () => {
    expect((await runTurn(await open(), "STOP refusal")).outcome).toEqual({
      status: "failed",
      text: "",
      error: "The agent declined to answer.",
    });
  });

  test("an error of the agent fails it with a sentence and the text so far; the next turn works", async () => {
    const session = await open();
    expect((await runTurn(session, "SAY so far\nERROR -32603 Internal error: overloaded")).outcome).toEqual({
      status: "failed",
      text: "so far",
      error: "overloaded",
    });
    expect((await runTurn(session, "SAY back")).outcome.text).toBe("back");
  });

  test("a process that dies in mid-turn fails it with the text so far, and closes the session", async () => {
    const session = await open();
    const { outcome } = await runTurn(session, "SAY so far\nDIE");
    expect(outcome).toEqual({
      status: "failed",
      gone: true,
      text: "so far",
      error: "The agent process ended unexpectedly.",
    });
    await session.closed;
    expect((await runTurn(session, "SAY x")).outcome.status).toBe("failed");
  });

  test("a file that cannot be read fails it before the agent hears of it", async () => {
    const session = await open({ image: true });
    const files = [{ path: "/nowhere/a.png", mime: "image/png" }];
    expect((await runTurn(session, { text: "look", files })).outcome).toEqual({
      status: "failed",
      text: "",
      error: "A file of the message could not be read.",
    });
  });
});

describe("permission", () => {
  test.each([
    [true, "Bash execute allow_always,allow_once,reject_once", "id-allow_once"],
    [false, "Bash execute allow_once,reject_always,reject_once", "id-reject_once"],
    [false, "Bash execute allow_once", "cancelled"],
    [["Read"], "Read read allow_once,reject_once", "id-allow_once"],
    [["Read"], "Bash execute allow_once,reject_once", "id-reject_once"],
    [["Bash"], "- execute allow_once,reject_once", "id-reject_once"],
    [["execute"], "- execute allow_once,reject_once", "id-allow_once"],
  ] as const)("allowTools %j answers `%s` with %s", async (allowTools, question, answer) => {
    const session = await open({}, { allowTools });
    expect((await runTurn(session, `ASK ${question}`)).outcome.text).toBe(answer);
  });
});

describe("interrupt", () => {
  test("cancels the turn, which keeps its text; the same process takes the next one", async () => {
    const session = await open();
    const pid = session.pid;
    const { outcome } = await runTurn(session, "SAY so far\nWAIT", (event) => {
      if (event.type === "text") void session.interrupt();
    });
    expect(outcome).toEqual({ status: "interrupted", text: "so far" });
    expect((await runTurn(session, "SAY back")).outcome).toEqual({ status: "done", text: "back" });
    expect(session.pid).toBe(pid);
  });

  test("before the prompt is sent it is never sent", async () => {
    const session = await open();
    const turn = runTurn(session, "SAY x");
    await session.interrupt();
    expect((await turn).outcome).toEqual({ status: "interrupted", text: "" });
    expect((await runTurn(session, "SAY next")).outcome.text).toBe("next");
  });

  test("an agent that ignores it is ended within 5 s, one that ignores SIGTERM too", async () => {
    const clock = manualClock();
    const session = await open({ deaf: true, immortal: true }, { clock });
    let asked: Promise<void> | undefined;
    const turn = runTurn(session, "SAY so far\nWAIT", (event) => {
      if (event.type === "text") asked = session.interrupt();
    });
    await until(() => asked !== undefined);
    for (const step of [3000, 1200]) {
      expect(running(session.pid!)).toBe(true);
      clock.advance(step);
      await new Promise((done) => setImmediate(done));
    }
    expect((await turn).outcome).toEqual({ status: "interrupted", text: "so far" });
    await asked;
    await session.closed;
  });

  test("without a running turn does nothing", async () => {
    const session = await open();
    await session.interrupt();
    expect((await runTurn(session, "SAY x")).outcome.text).toBe("x");
  });
});

describe("conversation", () => {
  const history = [
    { role: "user", text: "my name is <Ann>" },
    { role: "assistant", text: "hello Ann" },
  ] as const;

  test("history and instructions go in front of the first prompt, and of that alone", async () => {
    const session = await open({}, { history, instructions: "Be kind." });
    expect(session.primed).toBe(true);
    const first = (await runTurn(session, "PROMPT")).outcome.text;
    expect(JSON.parse(first).map((block: { text: string }) => block.text)).toEqual([
      "<instructions>\nBe kind.\n</instructions>",
      expect.stringContaining('<message role="user">my name is &lt;Ann&gt;</message>'),
      "PROMPT",
    ]);
    expect(JSON.parse((await runTurn(session, "PROMPT")).outcome.text)).toHaveLength(1);
  });

  test("a first prompt that failed or was refused does not use them up", async () => {
    const session = await open({}, { history });
    await runTurn(session, "ERROR -32603 no");
    await runTurn(session, "SAY no\nSTOP refusal");
    expect(JSON.parse((await runTurn(session, "PROMPT")).outcome.text)).toHaveLength(2);
  });

  test("is taken up where the agent can: what it repeats is no reply, and history stays out", async () => {
    const store = await tempFolder();
    const before = await open({ load: true, store });
    await runTurn(before, "SAY first");
    const resume = before.resumeToken!;
    process.kill(before.pid!, "SIGKILL");
    await before.closed;
    const session = await open({ load: true, store }, { resume, history, instructions: "Be kind." });
    expect([session.primed, session.resumeToken]).toEqual([true, resume]);
    const { outcome } = await runTurn(session, "PROMPT");
    expect(JSON.parse(outcome.text)).toHaveLength(2);
    expect(outcome.text).not.toMatch(/replayed|conversation_history/);
  });

  test("starts anew with the history when the agent does not know it", async () => {
    const session = await open({ load: true, store: await tempFolder() }, { resume: "gone", history });
    expect(session.resumeToken).not.toBe("gone");
    expect((await runTurn(session, "PROMPT")).outcome.text).toContain("conversation_history");
  });

  test("of an agent that takes up none has no token", async () => {
    const session = await open({}, { resume: "any", history });
    expect(session.resumeToken).toBeNull();
    expect((await runTurn(session, "PROMPT")).outcome.text).toContain("conversation_history");
  });
});

describe("model", () => {
  test.each(["option", "request"])("is switched by %s, at the start and later", async (models) => {
    const session = await open({ models }, { model: "large" });
    expect((await runTurn(session, "SAY x")).outcome.model).toBe("large");
    expect(await session.setModel("small")).toBe(true);
    expect((await runTurn(session, "SAY x")).outcome.model).toBe("small");
    expect(await session.setModel("unheard-of")).toBe(false);
    expect((await runTurn(session, "SAY x")).outcome.model).toBe("small");
  });

  test("of an agent that does not let it be switched stays", async () => {
    expect(await (await open({}, { model: "large" })).setModel("small")).toBe(false);
  });
});

describe("compaction", () => {
  test("is the agent's own command where it has one; a notice is no summary", async () => {
    const session = await open({ commands: ["help", "compact"] });
    expect(await session.compact()).toEqual({ summary: null });
  });

  test("hands on a summary that the agent tells", async () => {
    const summary = "They spoke of the weather. ".repeat(20).trim();
    const session = await open({ commands: ["compact"], summary });
    expect(await session.compact()).toEqual({ summary });
  });

  test("is left to the caller without the command, and before the agent has heard the history", async () => {
    const clock = manualClock();
    const none = await open({}, { clock });
    const compacting = none.compact();
    clock.advance(1000);
    expect(await compacting).toBeNull();
    const history = [{ role: "user", text: "x" }] as const;
    expect(await (await open({ commands: ["compact"] }, { history })).compact()).toBeNull();
  });
});

describe("opening", () => {
  const opening = (agent: object, over: Partial<OpenOptions> = {}) =>
    open(agent, over).then(() => "opened", String);

  test("an agent that never answers is given up after 30 seconds", async () => {
    const clock = manualClock();
    const session = opening({ silent: "initialize" }, { clock });
    const ticking = setInterval(() => clock.advance(1000), 5);
    onTestFinished(() => clearInterval(ticking));
    expect(await session).toBe("Error: The agent did not answer within 30 seconds.");
  });

  test.each([
    [{ version: 2 }, "The agent does not speak version 1 of the Agent Client Protocol."],
    [{ auth: true }, "The agent is not signed in: it needs a login or a key."],
    [{ exitAt: "initialize" }, "The agent program ended before it was ready."],
    [{ exitAt: "session/new" }, "The agent program ended before it was ready."],
  ])("%j fails with a sentence", async (agent, sentence) => {
    expect(await opening(agent)).toBe(`Error: ${sentence}`);
  });

  test("a program that does not exist fails with a sentence without its path", async () => {
    const runtime = createAcpRuntime({ command: ["/nowhere/agent"], args: [], hostEnv: {} });
    await expect(runtime.open(openOptions())).rejects.toThrow("The agent program was not found.");
  });

  test("that nobody wants any more fails and leaves no process", async () => {
    const control = new AbortController();
    const pidFile = join(await tempFolder(), "pid");
    const session = opening({ silent: "session/new", immortal: true, pidFile }, { signal: control.signal });
    await until(() => existsSync(pidFile));
    control.abort();
    expect(await session).toBe("Error: Opening the session was cancelled.");
    expect(running(Number(await readFile(pidFile, "utf8")))).toBe(false);
    expect(await opening({}, { signal: AbortSignal.abort() })).toBe(
      "Error: Opening the session was cancelled.",
    );
  });

  test("the environment is the allow-list, providers' settings and the agent's own", async () => {
    const session = await open({}, { env: { MINE: "yes" } });
    const { outcome } = await runTurn(session, "ENV GATEWAY_API_KEY\nENV OPENAI_API_KEY\nENV MINE");
    expect(outcome.text).toBe("GATEWAY_API_KEY=OPENAI_API_KEY=passedMINE=yes");
  });

  test("closing ends the process, also twice and also one that ignores SIGTERM", async () => {
    const session = await open({ immortal: true });
    await Promise.all([session.close(), session.close()]);
    expect(running(session.pid!)).toBe(false);
  });
});
