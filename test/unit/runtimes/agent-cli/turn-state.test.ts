import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AgentLine, parseLine } from "../../../../packages/gateway/src/runtimes/agent-cli/protocol.ts";
import {
  continueText,
  newTurn,
  outcomeOf,
  reduceTurn,
  type TurnState,
} from "../../../../packages/gateway/src/runtimes/agent-cli/turn-state.ts";
import type { RuntimeEvent } from "../../../../packages/gateway/src/runtimes/types.ts";

type Line = Record<string, unknown>;

interface Ending {
  interrupted?: boolean;
  window?: number | undefined;
}

/** Plays lines into a turn; stops at the line that ends it. The short way of text must not make a difference. */
function play(lines: readonly Line[], how: Ending = {}) {
  const played = playBy(reduceTurn, lines, how);
  const short: typeof reduceTurn = (state, line) =>
    line.kind === "delta" && line.of === "text" && continueText(state, line.text)
      ? { state, events: [{ type: "text", text: line.text }] }
      : reduceTurn(state, line);
  expect(playBy(short, lines, how)).toEqual(played);
  return played;
}

function playBy(
  reduce: typeof reduceTurn,
  lines: readonly Line[],
  { interrupted = false, window = undefined }: Ending,
) {
  let state: TurnState = newTurn();
  const events: RuntimeEvent[] = [];
  for (const line of lines) {
    const parsed = parseLine(JSON.stringify(line)) as AgentLine;
    const step = reduce(state, parsed);
    state = step.state;
    events.push(...step.events.filter(({ type }) => type !== "activity"));
    if (step.result)
      return { events, text: said(events), outcome: outcomeOf(state, step.result, { interrupted, window }) };
  }
  return { events, text: said(events), outcome: outcomeOf(state, null, { interrupted, window }) };
}

const said = (events: readonly RuntimeEvent[]) =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");
const delta = (text: string, parent: unknown = null): Line => ({
  type: "stream_event",
  parent_tool_use_id: parent,
  event: { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
});
const start = (input = 10): Line => ({
  type: "stream_event",
  event: {
    type: "message_start",
    message: { model: "m-1", usage: { input_tokens: input, cache_read_input_tokens: 5 } },
  },
});
const assistant = (...content: Line[]): Line => ({
  type: "assistant",
  message: { role: "assistant", content },
});
const text = (value: string): Line => ({ type: "text", text: value });
const tool = (id: string): Line => ({ type: "tool_use", id, name: "Bash", input: {} });
const toolResult = (id: string, more: Line = {}): Line => ({
  type: "user",
  message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "ok", ...more }] },
});
const result = (value: string, more: Line = {}): Line => ({
  type: "result",
  subtype: "success",
  is_error: false,
  result: value,
  ...more,
});

describe("the text of a turn", () => {
  test("comes from text deltas whose parent_tool_use_id is null; the assistant line that repeats them adds nothing", () => {
    const lines = [
      start(),
      delta("Hel"),
      delta("lo"),
      delta("inner", "toolu_1"),
      assistant(text("Hello")),
      result("Hello"),
    ];
    expect(play(lines)).toMatchObject({
      text: "Hello",
      outcome: { status: "done", text: "Hello", model: "m-1" },
    });
    const missing = { ...delta("Hi") };
    delete missing.parent_tool_use_id;
    expect(play([missing, result("Hi")]).text).toBe("Hi");
  });

  test("without deltas it is the text of the assistant lines, without those the result", () => {
    expect(play([assistant(text("A"), text("B")), result("B")])).toMatchObject({
      text: "AB",
      outcome: { text: "AB" },
    });
    expect(play([result("Only")])).toMatchObject({ text: "Only", outcome: { status: "done", text: "Only" } });
  });

  test("text after a tool is a new paragraph", () => {
    const streamed = [
      start(),
      delta("Before."),
      assistant(text("Before.")),
      assistant(tool("t1")),
      toolResult("t1"),
      start(),
      delta("After."),
      assistant(text("After.")),
      result("After."),
    ];
    expect(play(streamed)).toMatchObject({
      text: "Before.\n\nAfter.",
      outcome: { text: "Before.\n\nAfter." },
    });
    const whole = [
      assistant(text("Before."), tool("t1")),
      toolResult("t1"),
      assistant(text("After.")),
      result("After."),
    ];
    expect(play(whole).text).toBe("Before.\n\nAfter.");
  });

  test("a result that the streamed text does not end with is the whole reply", () => {
    expect(play([delta("draft"), result("The real answer")]).outcome.text).toBe("The real answer");
    expect(play([delta("Done.\n"), result("Done.")]).outcome.text).toBe("Done.\n");
    expect(play([delta("kept"), result("")]).outcome.text).toBe("kept");
  });

  test("an assistant line that says more than the deltas adds the rest", () => {
    expect(play([start(), delta("Hel"), assistant(text("Hello")), result("Hello")]).text).toBe("Hello");
  });

  test("an API error's text is no reply", () => {
    const line = { ...assistant(text("API Error: 529")), is_api_error_message: true };
    expect(play([line, result("API Error: 529", { is_error: true })])).toMatchObject({
      text: "",
      outcome: {
        status: "failed",
        text: "",
        error: "The model provider is overloaded (529); try again in a moment.",
      },
    });
  });

  test("however a reply is cut into deltas, the text events add up to it, and the outcome agrees", () => {
    const piece = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
    const block = fc.array(piece, { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(
        fc.array(block, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        fc.boolean(),
        (blocks, repeats, deltas) => {
          const lines: Line[] = [];
          for (const [at, pieces] of blocks.entries()) {
            if (deltas) lines.push(start(), ...pieces.map((one) => delta(one)));
            if (repeats || !deltas) lines.push(assistant(text(pieces.join(""))));
            if (at < blocks.length - 1) lines.push(assistant(tool(`t${at}`)), toolResult(`t${at}`));
          }
          const expected = blocks.map((pieces) => pieces.join("")).join("\n\n");
          lines.push(result(blocks.at(-1)!.join("")));
          const played = play(lines);
          expect(played.text).toBe(expected);
          expect(played.outcome).toMatchObject({ status: "done", text: expected });
        },
      ),
    );
  });
});

describe("the other events", () => {
  test("a tool use is told once, its result with is_error, images in it as images", () => {
    const started = {
      type: "stream_event",
      event: { type: "content_block_start", index: 1, content_block: tool("t1") },
    };
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAEC" } };
    const { events } = play([
      started,
      assistant(tool("t1")),
      toolResult("t1", { is_error: true, content: [image] }),
      result("x"),
    ]);
    expect(events.slice(0, 3)).toEqual([
      { type: "tool_use", name: "Bash", id: "t1", input: "{}" },
      { type: "tool_result", id: "t1", isError: true },
      { type: "image", mime: "image/png", data: Buffer.from([0, 1, 2]) },
    ]);
  });

  test("a tool use whose line with the input never came is told before what follows it [STEP-4]", () => {
    const started = {
      type: "stream_event",
      event: { type: "content_block_start", index: 1, content_block: tool("t1") },
    };
    const input = {
      type: "stream_event",
      event: { type: "content_block_delta", delta: { type: "input_json_delta", partial_json: "{" } },
    };
    const { events } = play([started, input, toolResult("t1"), result("x")]);
    expect(events.slice(0, 2)).toEqual([
      { type: "tool_use", name: "Bash", id: "t1" },
      { type: "tool_result", id: "t1", isError: false, result: "ok" },
    ]);
  });

  test("a tool's result is the text of its blocks, cut after 4 KiB between characters [STEP-2, STEP-4]", () => {
    const blocks = [text("a"), { type: "image" }, text("ก".repeat(3000))];
    const { events } = play([assistant(tool("t1")), toolResult("t1", { content: blocks }), result("x")]);
    const [, told] = events as [unknown, { result: string }];
    expect(Buffer.byteLength(told.result)).toBeGreaterThan(4090);
    expect(Buffer.byteLength(told.result)).toBeLessThanOrEqual(4096);
    expect(told.result).toMatch(/^a\nก+$/);
  });

  test("thinking is told once, streamed or not", () => {
    const thought = {
      type: "stream_event",
      event: { type: "content_block_delta", delta: { type: "thinking_delta", thinking: "hm" } },
    };
    const whole = assistant({ type: "thinking", thinking: "hm" });
    for (const lines of [[thought, whole], [thought], [whole]]) {
      expect(play([...lines, result("x")]).events[0]).toEqual({ type: "thinking", text: "hm" });
      expect(play([...lines, result("x")]).events).toHaveLength(2);
    }
  });
});

describe("the end of a turn", () => {
  test("is_error on a result is a failed turn whatever its subtype", () => {
    expect(play([delta("half"), result("It broke", { is_error: true })]).outcome).toEqual({
      status: "failed",
      text: "half",
      error: "It broke",
    });
    const errors = { type: "result", subtype: "error_max_turns", is_error: true, errors: ["Too many turns"] };
    expect(play([errors]).outcome).toMatchObject({ status: "failed", error: "Too many turns" });
  });

  test("an error shows no path and no secret, and at most 500 characters", () => {
    const { outcome } = play([
      result(
        `cannot read /root/.claude/key with sk-ant-abcdef123456 token: hunter2hunter2 ${"x".repeat(900)}`,
        { is_error: true },
      ),
    ]);
    expect(outcome.error).not.toMatch(/\/root|sk-ant|hunter2/);
    expect(outcome.error!.length).toBeLessThanOrEqual(500);
  });

  test("after an interrupt any end is an interruption with the text so far", () => {
    expect(
      play([delta("so far"), result("all", { is_error: true })], { interrupted: true }).outcome,
    ).toMatchObject({ status: "interrupted", text: "so far" });
    expect(play([delta("so far")], { interrupted: true }).outcome).toMatchObject({
      status: "interrupted",
      text: "so far",
    });
    const aborted = result("", {
      is_error: true,
      subtype: "error_during_execution",
      terminal_reason: "aborted_tools",
    });
    expect(play([delta("so far"), aborted]).outcome).toMatchObject({ status: "interrupted", text: "so far" });
  });

  test("a process that dies in mid-turn fails the turn with the text so far", () => {
    expect(play([delta("so far")]).outcome).toEqual({
      status: "failed",
      text: "so far",
      error: "The agent process ended unexpectedly.",
    });
  });

  test("a result while a user line still waits is not the end", () => {
    const { outcome } = play([
      delta("other"),
      result("other", { queued_turn_count: 1 }),
      delta("mine"),
      result("mine", { queued_turn_count: 0 }),
    ]);
    expect(outcome).toMatchObject({ status: "done", text: "other\n\nmine" });
  });

  test("the context in use is that of the last call, against the model's window", () => {
    const out = { type: "stream_event", event: { type: "message_delta", usage: { output_tokens: 35 } } };
    const use = { modelUsage: { "m-1": { contextWindow: 1000 } }, usage: { input_tokens: 999 } };
    const lines = [start(500), delta("a"), out, start(60), delta("b"), out, result("b", use)];
    expect(play(lines).outcome.contextPercent).toBe(10);
    expect(play(lines, { window: 200 }).outcome.contextPercent).toBe(50);
    expect(
      play([result("x", { usage: { input_tokens: 100 }, modelUsage: { m: { contextWindow: 200 } } })])
        .outcome,
    ).toMatchObject({ model: "m", contextPercent: 50 });
    expect(play([result("x")]).outcome).not.toHaveProperty("contextPercent");
  });
});

test("any JSON, and anything that is none, is taken without harm", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.jsonValue().map((value) => JSON.stringify({ type: "assistant", message: value })),
          fc.jsonValue().map((value) => JSON.stringify({ type: "stream_event", event: value })),
          fc.jsonValue().map((value) => JSON.stringify({ type: "user", message: { content: [value] } })),
        ),
      ),
      (lines) => {
        let state = newTurn();
        for (const one of lines) {
          const line = parseLine(one);
          if (line) state = reduceTurn(state, line).state;
        }
        expect(typeof state.text.toString()).toBe("string");
      },
    ),
  );
});
