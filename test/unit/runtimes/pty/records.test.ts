import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readRecord } from "../../../../packages/gateway/src/runtimes/pty/records.ts";
import { createRun } from "../../../../packages/gateway/src/runtimes/pty/run.ts";
import type { RuntimeEvent } from "../../../../packages/gateway/src/runtimes/types.ts";

const FOLDER = join(import.meta.dirname, "../../../fixtures/terminal");
/** Records of Claude Code 2.1.330, cut and without what names a machine. */
const recorded = (name: string) =>
  readFileSync(join(FOLDER, `${name}.jsonl`), "utf8")
    .trim()
    .split("\n");

/** What the gateway makes of recorded turns, one after another. */
async function turnsOf(lines: readonly string[]) {
  const turns: { events: RuntimeEvent[]; outcome: unknown }[] = [];
  let open: { run: ReturnType<typeof createRun>; events: RuntimeEvent[] } | undefined;
  const close = async () => {
    if (!open) return;
    if (!open.run.over) open.run.finish();
    turns.push({ events: open.events, outcome: await open.run.end });
    open = undefined;
  };
  for (const line of lines) {
    const record = readRecord(line);
    if (record === null) continue;
    if (record.kind === "prompt" && open?.run.over !== false) {
      await close();
      const events: RuntimeEvent[] = [];
      open = {
        events,
        run: createRun(
          () => record.text,
          (event) => events.push(event),
          200_000,
        ),
      };
    }
    open?.run.take(record);
    if (open?.run.ending === "now") await close();
  }
  await close();
  return turns;
}

it("reads replies, tools and usage from records, also of an answer in several [PTY-2]", async () => {
  const turns = await turnsOf(recorded("turns"));
  expect(turns.map(({ outcome }) => outcome)).toMatchObject([
    {
      status: "done",
      text: "Echo[1]: hello there",
      model: "claude-sonnet-4-6",
      contextPercent: 11.4,
      usage: { models: [{ model: "claude-sonnet-4-6", inputTokens: 22_817, outputTokens: 12 }] },
    },
    { status: "done", text: expect.stringMatching(/^Calling a tool\.\n\nTool said: hi/) },
    { status: "done", text: "ok" },
    { status: "done", text: "multi" },
  ]);
  expect(turns[1]!.events.map(({ type }) => type)).toEqual(["text", "tool_use", "tool_result", "text"]);
  expect(turns[2]!.events.map(({ type }) => type)).toEqual(["thinking", "text"]);
  // The parts of one model call say its use together, not each.
  expect(turns[1]!.outcome).toMatchObject({ usage: { models: [{ outputTokens: expect.any(Number) }] } });
});

it("ends a turn by its interruption, with the text so far, and by an API error as failed [PTY-2]", async () => {
  const [cut] = await turnsOf(recorded("interrupted"));
  expect(cut!.outcome).toMatchObject({ status: "interrupted", text: "w0 w1 w2 " });
  const [failed] = await turnsOf(recorded("api-error"));
  expect(failed!.outcome).toMatchObject({
    status: "failed",
    text: "",
    error: "The model provider is overloaded (529); try again in a moment.",
  });
});

it("finds the summary of a compaction [PTY-2]", () => {
  const run = createRun(
    () => "/compact",
    () => {},
    undefined,
  );
  const lines = recorded("compacted");
  const from = lines.findIndex((line) => line.includes("compact_boundary"));
  for (const line of lines.slice(from)) {
    const record = readRecord(line);
    if (record && run.ending !== "now") run.take(record);
  }
  expect([run.state.compacted, run.ending]).toEqual([true, "now"]);
  expect(run.state.summary).toContain("FAKE SUMMARY");
});

it("leaves out subagents, and takes a message for one whatever it says [PTY-2]", async () => {
  const said = {
    type: "assistant",
    message: { id: "m", content: [{ type: "text", text: "x" }], stop_reason: "end_turn" },
  };
  expect(readRecord(JSON.stringify({ ...said, isSidechain: true }))).toBeNull();
  for (const line of [
    "",
    "{",
    "[]",
    "null",
    '{"type":"assistant"}',
    '{"type":"user","message":7}',
    '{"type":"system"}',
  ])
    expect(() => readRecord(line)).not.toThrow();
  const text = "[Request interrupted by user] was what I saw";
  const run = createRun(
    () => text,
    () => {},
    undefined,
  );
  run.take(readRecord(JSON.stringify({ type: "user", message: { content: text } }))!);
  expect([run.over, run.taken]).toEqual([false, true]);
  run.take(readRecord(JSON.stringify(said))!);
  expect(run.ending).toBe("soon");
  run.finish();
  expect(await run.end).toMatchObject({ status: "done", text: "x" });
});
