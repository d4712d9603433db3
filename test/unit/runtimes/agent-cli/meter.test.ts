import { describe, expect, test } from "vitest";
import { createMeter, type Readings } from "../../../../packages/gateway/src/runtimes/agent-cli/meter.ts";
import { parseLine, type ResultLine } from "../../../../packages/gateway/src/runtimes/agent-cli/protocol.ts";
import {
  newTurn,
  reduceTurn,
  streamedUse,
} from "../../../../packages/gateway/src/runtimes/agent-cli/turn-state.ts";
import { runTurn } from "../open-options.ts";
import { asClaudeCode, fakeAgentSuite } from "./fake-agent-suite.ts";

/** A result line as Claude Code 2.1.330 writes it. */
function result(
  sums: Record<string, [input: number, output: number, cost?: number]>,
  { turn = [0, 0], total }: { turn?: [number, number] | null; total?: number } = {},
): ResultLine {
  const modelUsage = Object.fromEntries(
    Object.entries(sums).map(([model, [inputTokens, outputTokens, costUSD]]) => [
      model,
      {
        inputTokens,
        outputTokens,
        cacheReadInputTokens: 0,
        cacheCreationInputTokens: 0,
        webSearchRequests: 0,
        ...(costUSD !== undefined && { costUSD }),
        contextWindow: 1_000_000,
      },
    ]),
  );
  const line = {
    type: "result",
    subtype: "success",
    is_error: false,
    result: "x",
    ...(total !== undefined && { total_cost_usd: total }),
    ...(turn && { usage: { input_tokens: turn[0], output_tokens: turn[1] } }),
    modelUsage,
  };
  return parseLine(JSON.stringify(line)) as ResultLine;
}
const counts = (inputTokens: number, outputTokens: number) => ({
  inputTokens,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
});
const ID = "d5c3";
const OPUS = "claude-opus-5-5";
/** Reads a turn whose stream told as much as its result line. */
const read = (meter: ReturnType<typeof createMeter>, end: ResultLine) =>
  meter.read({
    end,
    streamed: end.usage?.input ? { ...counts(0, 0), ...end.usage.billed } : undefined,
    model: OPUS,
    sessionId: ID,
  });
const opus = (input: number, output: number, cost?: number) => ({
  model: OPUS,
  ...counts(input, output),
  ...(cost !== undefined && { cost: expect.closeTo(cost) }),
});

describe("what a turn of the agent CLI used [USE-1]", () => {
  const first = result({ [OPUS]: [12190, 12, 0.049] }, { turn: [12190, 12] });
  const second = result({ [OPUS]: [24409, 23, 0.098096] }, { turn: [12219, 11] });
  const third = result({ [OPUS]: [36656, 40, 0.147424] }, { turn: [12247, 17] });

  test("is the growth of the process's sums", () => {
    const meter = createMeter(new Map(), undefined);
    expect(read(meter, first)).toEqual({ models: [opus(12190, 12, 0.049)] });
    expect(read(meter, second)).toEqual({ models: [opus(12219, 11, 0.049096)] });
  });

  test("also of a compaction, which tells of no call of its own", () => {
    const meter = createMeter(new Map(), undefined);
    read(meter, second);
    expect(read(meter, result({ [OPUS]: [38404, 51, 0.154636] }))).toEqual({
      models: [opus(13995, 28, 0.05654)],
    });
  });

  test("is kept apart by model; a model that did nothing is left out", () => {
    const meter = createMeter(new Map(), undefined);
    read(meter, result({ [OPUS]: [100, 10], haiku: [50, 5] }, { turn: [100, 10] }));
    const both = result({ [OPUS]: [300, 30], haiku: [50, 5], sonnet: [7, 1] }, { turn: [200, 20] });
    expect(read(meter, both)?.models).toEqual([opus(200, 20), { model: "sonnet", ...counts(7, 1) }]);
  });

  test.each([
    ["ended in peace: its sums go on", third, [opus(12247, 17, 0.049328)]],
    [
      "was killed: its sums begin anew",
      result({ [OPUS]: [12247, 30, 0.0492] }, { turn: [12247, 30] }),
      [opus(12247, 30, 0.0492)],
    ],
  ])("after a resumption of a process that %s", (_, end, models) => {
    const readings: Readings = new Map();
    const before = createMeter(readings, undefined);
    read(before, first);
    read(before, second);
    expect(read(createMeter(readings, ID), end)).toEqual({ models });
  });

  test("after a killed process that had itself resumed the session goes on from where that one began", () => {
    const readings: Readings = new Map();
    read(createMeter(readings, undefined), second);
    read(createMeter(readings, ID), third);
    const again = result({ [OPUS]: [36700, 35, 0.1476] }, { turn: [12291, 12] });
    expect(read(createMeter(readings, ID), again)).toEqual({ models: [opus(12291, 12, 0.049504)] });
  });

  test("after a resumption in a gateway that does not know the sums so far is what the turn itself says", () => {
    const meter = createMeter(new Map(), ID);
    expect(read(meter, third)).toEqual({ models: [opus(12247, 17)] });
    const next = result({ [OPUS]: [36756, 45, 0.1484] }, { turn: [100, 5] });
    expect(read(meter, next)).toEqual({ models: [opus(100, 5, 0.000976)] });
    expect(read(createMeter(new Map(), ID), first)).toEqual({ models: [opus(12190, 12, 0.049)] });
    // A compaction says nothing of itself.
    expect(read(createMeter(new Map(), ID), result({ [OPUS]: [38404, 51, 0.15] }))).toBeUndefined();
  });

  test("is the whole of sums that have shrunk", () => {
    const meter = createMeter(new Map(), undefined);
    read(meter, second);
    expect(read(meter, result({ [OPUS]: [500, 5, 0.01] }))).toEqual({ models: [opus(500, 5, 0.01)] });
  });

  test("is what was streamed where the sums stand still or are missing, and where the process is gone", () => {
    const meter = createMeter(new Map(), undefined);
    read(meter, first);
    const still = result({ [OPUS]: [12190, 12, 0.049] }, { turn: [80, 8] });
    expect(read(meter, still)).toEqual({ models: [opus(80, 8)] });
    expect(read(createMeter(new Map(), undefined), result({}, { turn: [80, 8], total: 0.2 }))).toEqual({
      models: [opus(80, 8)],
      cost: 0.2,
    });
    const gone = { end: null, streamed: counts(70, 7), model: OPUS, sessionId: ID };
    expect(meter.read(gone)).toEqual({ models: [opus(70, 7)] });
    expect(meter.read({ ...gone, streamed: undefined })).toBeUndefined();
    expect(read(createMeter(new Map(), undefined), result({}, { turn: null }))).toBeUndefined();
  });

  test("is nothing impossible, whatever the program claims", () => {
    const line = parseLine(
      JSON.stringify({
        type: "result",
        result: "",
        total_cost_usd: -1,
        modelUsage: {
          a: { inputTokens: -5, outputTokens: "9" },
          b: { inputTokens: 1e300, outputTokens: 1.4, costUSD: 1e99 },
          ["x".repeat(5000)]: { inputTokens: 1 },
        },
      }),
    ) as ResultLine;
    expect(read(createMeter(new Map(), undefined), line)?.models).toEqual([
      { model: "b", ...counts(1e12, 1), cost: 10_000 },
    ]);
  });

  test("adds up the calls of a turn as they are streamed", () => {
    const event = (type: string, usage: object) => ({
      type: "stream_event",
      event: type === "message_start" ? { type, message: { model: OPUS, usage } } : { type, usage },
    });
    const lines = [
      event("message_start", { input_tokens: 100, cache_read_input_tokens: 7, output_tokens: 1 }),
      event("message_delta", { output_tokens: 20 }),
      event("message_start", { input_tokens: 130, cache_creation_input_tokens: 3, output_tokens: 1 }),
      event("message_delta", { input_tokens: 131, output_tokens: 9 }),
    ];
    const state = lines.reduce(
      (turn, line) => reduceTurn(turn, parseLine(JSON.stringify(line))!).state,
      newTurn(),
    );
    expect(streamedUse(state)).toEqual({
      inputTokens: 231,
      outputTokens: 29,
      cacheReadTokens: 7,
      cacheWriteTokens: 3,
    });
  });
});

const { start } = fakeAgentSuite();

test("a session's turns report what each of them used [USE-1]", async () => {
  const session = await start([], {}, asClaudeCode);
  const used = async (text: string) => (await runTurn(session, text)).outcome.usage;
  expect(await used("SAY 12345678")).toEqual({
    models: [{ model: "fake-model", ...counts(1000, 2), cost: expect.closeTo(0.00101) }],
  });
  expect(await used("SAY 1234")).toEqual({
    models: [{ model: "fake-model", ...counts(2000, 1), cost: expect.closeTo(0.002005) }],
  });
  expect((await session.compact())?.usage?.models).toEqual([
    expect.objectContaining({ model: "fake-model", inputTokens: 3000 }),
  ]);
});
