import { expect, test } from "vitest";
import { type Clock, systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { createStarterRuntime } from "../../../packages/gateway/src/runtimes/starter/index.ts";
import type { GatewayTool } from "../../../packages/gateway/src/runtimes/types.ts";
import { openOptions, runTurn } from "./open-options.ts";

const runtime = createStarterRuntime({ clock: systemClock });
const instantClock: Clock = {
  ...systemClock,
  after(_ms, task) {
    const handle = setImmediate(task);
    return () => clearImmediate(handle);
  },
};

test("starter streams in several events, says that no model is connected and how to connect one", async () => {
  const session = await runtime.open(openOptions());
  const { outcome, events, text } = await runTurn(session, "hello there");
  const none = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const usage = { models: [{ model: undefined, ...none }] };
  expect(outcome).toEqual({ status: "done", text, contextPercent: 0, usage });
  expect(events.length).toBeGreaterThan(3);
  expect(text).toContain("No model is connected");
  for (const way of ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "`claude`", "Ollama", "restart"]) {
    expect(text).toContain(way);
  }
  expect(text).toContain("You wrote: hello there");
  expect(session.pid).toBeNull();
  expect(session.resumeToken).toBeNull();
});

test("starter never splits a character between two events", async () => {
  const session = await runtime.open(openOptions());
  const { events, text } = await runTurn(session, "😀".repeat(100));
  expect(text).toContain("😀".repeat(100));
  for (const event of events) expect(event.type === "text" && event.text.isWellFormed()).toBe(true);
});

test("starter is deterministic and counts the messages of history and turns", async () => {
  const history = [
    { role: "user", text: "one" },
    { role: "assistant", text: "reply" },
    { role: "user", text: "two" },
  ] as const;
  const texts: string[] = [];
  for (const _ of [1, 2]) {
    const session = await runtime.open(openOptions({ history }));
    expect(session.primed).toBe(true);
    texts.push((await runTurn(session, "three")).text);
    expect((await runTurn(session, "four")).text).toContain("This is message 4 of this conversation.");
    expect(await session.compact()).toMatchObject({ summary: expect.stringContaining("4 messages so far") });
  }
  expect(texts[0]).toContain("This is message 3 of this conversation.");
  expect(texts[0]).toBe(texts[1]);
});

test("starter names number and type of attached files", async () => {
  const session = await runtime.open(openOptions());
  const files = [
    { path: "/tmp/a.png", mime: "image/png" },
    { path: "/tmp/b.pdf", mime: "application/pdf" },
  ];
  const { text } = await runTurn(session, { text: "look", files });
  expect(text).toContain("You attached 2 files: image/png, application/pdf.");
  expect(text).not.toContain("/tmp/");
});

test("starter shares a file through the gateway's tool when asked", async () => {
  const asked: unknown[] = [];
  const share: GatewayTool = {
    name: "share_file",
    description: "",
    inputSchema: { type: "object" },
    async call(args) {
      asked.push(args.path);
      if (args.path === "secret") throw new Error("That file is outside the workspace.");
      return "Shared.";
    },
  };
  const session = await runtime.open(openOptions({ tools: [share] }));
  const files = [{ path: "/media/a.png", mime: "image/png" }];
  const attached = await runTurn(session, { text: "Share", files });
  expect(attached.text).toContain("share_file said: Shared.");
  expect(attached.events.slice(0, 2)).toEqual([
    { type: "tool_use", name: "share_file", id: "share-1-1", input: '{"path":"/media/a.png"}' },
    { type: "tool_result", id: "share-1-1", isError: false, result: "Shared." },
  ]);
  const refused = await runTurn(session, "share secret");
  expect(refused.text).toContain("share_file refused: That file is outside the workspace.");
  expect(refused.events).toContainEqual({
    type: "tool_result",
    id: "share-2-1",
    isError: true,
    result: "That file is outside the workspace.",
  });
  expect(asked).toEqual(["/media/a.png", "secret"]);
});

test("interrupt ends a starter turn with the text so far, and the next turn works", async () => {
  const session = await createStarterRuntime({ clock: instantClock }).open(openOptions());
  let seen = "";
  const { outcome, text } = await runTurn(session, "count to 500", (event) => {
    if (event.type === "text") seen += event.text;
    if (seen.endsWith(" 3 ")) void session.interrupt();
  });
  expect(outcome.status).toBe("interrupted");
  expect(outcome.text).toBe(text);
  expect(text).toMatch(/ 1 2 3 $/);
  expect((await runTurn(session, "count to 3")).outcome).toMatchObject({ status: "done" });
});

test("starter accepts any model, reports no context use, and ends when closed", async () => {
  const session = await runtime.open(openOptions());
  expect(await session.setModel("whatever")).toBe(true);
  expect(await session.contextPercent()).toBe(0);
  await session.close();
  await session.close();
  await session.closed;
  expect((await runTurn(session, "hello")).outcome.status).toBe("failed");
});

test("an aborted signal keeps starter from opening", async () => {
  await expect(runtime.open(openOptions({ signal: AbortSignal.abort() }))).rejects.toThrow("cancelled");
});
