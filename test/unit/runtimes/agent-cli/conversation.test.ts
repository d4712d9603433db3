import { describe, expect, test } from "vitest";
import type { HistoryEntry } from "../../../../packages/gateway/src/runtimes/types.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { openOptions, runTurn } from "../open-options.ts";

import { asClaudeCode, ask, fakeAgentSuite } from "./fake-agent-suite.ts";

const history: HistoryEntry[] = [
  { role: "user", text: "My name is <Ada> & I like tea" },
  { role: "assistant", text: "Noted." },
];
const { start } = fakeAgentSuite();

describe("the conversation", () => {
  test("a program that is not Claude Code gets the history in front of the first message, safe from forgery", async () => {
    const session = await start(["--dumb"], { history });
    expect(session.primed).toBe(true);
    const [first] = JSON.parse(await ask(session, "HISTORY")) as HistoryEntry[];
    expect(first?.text).toBe(
      '<conversation_history>\n<message role="user">My name is &lt;Ada&gt; &amp; I like tea</message>\n<message role="assistant">Noted.</message>\n</conversation_history>\n\nHISTORY',
    );
    const second = JSON.parse(await ask(session, "HISTORY")) as HistoryEntry[];
    expect(second.at(-1)?.text).toBe("HISTORY");
  });

  test("Claude Code gets it message by message, in order", async () => {
    const session = await start([], { history }, asClaudeCode);
    expect(JSON.parse(await ask(session, "HISTORY"))).toEqual([
      ...history,
      { role: "user", text: "HISTORY" },
    ]);
    const greeted = await start([], { history: [{ role: "assistant", text: "Hello!" }] }, asClaudeCode);
    expect((JSON.parse(await ask(greeted, "HISTORY")) as HistoryEntry[]).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
    ]);
  });

  test("an answer to a replayed message that comes too late does not end the turn", async () => {
    const clock = manualClock();
    const session = await start(["--slow-start", "500"], { history, clock }, asClaudeCode);
    // The program has not read anything yet.
    clock.advance(16_000);
    const { outcome } = await runTurn(session, "SAY in time");
    expect(outcome).toMatchObject({ status: "done", text: "in time" });
    expect(await ask(session, "SAY again")).toBe("again");
  });

  test("is resumed by the program's own session where it keeps one", async () => {
    const session = await start();
    expect(session.resumeToken).toBeNull();
    await ask(session, "hi");
    expect(session.resumeToken).toBe(openOptions().sessionId);
    const resumed = await start([], { resume: "11111111-1111-4111-8111-111111111111", history });
    const argv = JSON.parse(await ask(resumed, "ARGV")) as string[];
    expect(argv[argv.indexOf("--resume") + 1]).toBe("11111111-1111-4111-8111-111111111111");
    expect(JSON.parse(await ask(resumed, "HISTORY"))).toHaveLength(3);
    expect(resumed.primed).toBe(true);
    const dumb = await start(["--dumb"]);
    await ask(dumb, "hi");
    expect(dumb.resumeToken).toBeNull();
  });

  test.each([
    ["any program", {}],
    ["Claude Code", asClaudeCode],
  ])("an unknown one to resume is replaced by a fresh start with the history (%s)", async (_who, probe) => {
    const session = await start(
      ["--no-resume"],
      { resume: "11111111-1111-4111-8111-111111111111", history },
      probe,
    );
    const { outcome, events } = await runTurn(session, "HISTORY");
    expect(outcome.status).toBe("done");
    expect(outcome.text).toContain("I like tea");
    expect(events.every((event) => event.type === "text")).toBe(true);
    const argv = JSON.parse(await ask(session, "ARGV")) as string[];
    expect(argv).toContain("--session-id");
  });

  test("an id that is already in use is replaced by a new one", async () => {
    const session = await start(["--busy-id", openOptions().sessionId]);
    expect(await ask(session, "hi")).toBe("Echo[1]: hi");
    expect(session.resumeToken).toMatch(/^[0-9a-f-]{36}$/);
    expect(session.resumeToken).not.toBe(openOptions().sessionId);
  });
});

describe("models, context and compaction", () => {
  test("the model changes for the next turns", async () => {
    const session = await start();
    expect(await session.setModel("m-2")).toBe(true);
    expect((await runTurn(session, "MODEL")).outcome).toMatchObject({ text: "m-2", model: "m-2" });
  });

  test("the context in use is asked for, else computed from the last call", async () => {
    const session = await start([], { contextWindow: 100_000 });
    const { outcome } = await runTurn(session, "hi");
    expect(outcome.contextPercent).toBe(1);
    expect(await session.contextPercent()).toBe(1);
    const dumb = await start(["--dumb"]);
    await runTurn(dumb, "hi");
    expect(await dumb.contextPercent()).toBe(0.5);
  });

  test("compacting gives the program's summary, without its notes to itself", async () => {
    const session = await start();
    await ask(session, "hi");
    expect(await session.compact()).toMatchObject({ summary: "FAKE SUMMARY of 1 turns." });
    expect(await ask(session, "hi")).toContain("hi");
  });

  test("a program without compaction says so, and within 2 s nothing of control requests", async () => {
    expect(await (await start(["--no-compact"])).compact()).toBeNull();
    const dumb = await start(["--dumb"]);
    expect(await dumb.compact()).toBeNull();
    expect(await dumb.setModel("m-2")).toBe(false);
    expect(await ask(dumb, "hi")).toBe("Echo[1]: hi");
  });
});
