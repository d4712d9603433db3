import { describe, expect, it } from "vitest";
import { tellEnd, tellStart } from "../../../packages/gateway/src/sessions/tell.ts";
import { MAX_TEXT_BYTES } from "../../../packages/gateway/src/sessions/turn-cap.ts";
import { endChanges, settleOutcome } from "../../../packages/gateway/src/sessions/turn-end.ts";
import {
  failureOf,
  lastEvent,
  mediaPathOf,
  sentenceOf,
  type TurnResult,
} from "../../../packages/gateway/src/sessions/turn-result.ts";
import { change } from "../../../packages/gateway/src/store/change.ts";

const NOT_IN_TIME = "The agent did not finish in time and was interrupted.";
const resultOf = (fields: Partial<TurnResult>): TurnResult => ({
  status: "done",
  text: "text",
  attachments: [],
  files: [],
  durationMs: 7,
  stored: true,
  ...fields,
});

describe("how a turn ended", () => {
  it.each([
    ["done", undefined, "done", undefined],
    ["failed", undefined, "failed", "no"],
    // It had finished before it was stopped.
    ["done", "stop", "done", undefined],
    ["done", "silent", "done", undefined],
    ["done", "shutdown", "done", undefined],
    ["interrupted", "stop", "interrupted", undefined],
    ["failed", "stop", "interrupted", "no"],
    ["interrupted", "shutdown", "interrupted", undefined],
    ["done", "timeout", "timeout", undefined],
    ["interrupted", "timeout", "timeout", undefined],
    ["interrupted", "silent", "timeout", "The model did not answer."],
  ] as const)("%s, stopped because of %s: %s [TURN-7]", (status, reason, ended, error) => {
    const outcome = { status, text: "text", ...(status === "failed" && { error: "no" }) };
    expect(settleOutcome(outcome as never, reason, undefined)).toEqual({
      status: ended,
      text: "text",
      error,
      reason,
    });
  });

  it("in time that ran out names what kept the model from answering", () => {
    const error = (reason: "timeout" | "silent") =>
      settleOutcome({ status: "interrupted", text: "" } as never, reason, "It was busy.").error;
    expect(error("timeout")).toBe(`${NOT_IN_TIME} It was busy.`);
    expect(error("silent")).toBe("The model did not answer. It was busy.");
  });

  it("with more text than is kept is a failure with as much as is kept", () => {
    const long = "x".repeat(MAX_TEXT_BYTES + 1);
    const { status, text, error } = settleOutcome(
      { status: "done", text: long } as never,
      undefined,
      undefined,
    );
    expect([status, text.length]).toEqual(["failed", MAX_TEXT_BYTES]);
    expect(error).toMatch(/more than 32 MiB/);
    const whole = settleOutcome({ status: "done", text: long.slice(1) } as never, undefined, undefined);
    expect([whole.status, whole.text.length]).toEqual(["done", MAX_TEXT_BYTES]);
  });

  it("is a failure with a code of the contract if it failed, ran out of time or lost its agent", () => {
    expect(failureOf({ status: "done" })).toBeUndefined();
    expect(failureOf({ status: "interrupted", error: "stopped" })).toBeUndefined();
    expect(failureOf({ status: "failed" })).toEqual({ code: "AGENT_FAILED", message: "The agent failed." });
    expect(failureOf({ status: "failed", error: "no" })).toEqual({ code: "AGENT_FAILED", message: "no" });
    expect(failureOf({ status: "failed", error: "taken", lost: true })).toEqual({
      code: "UNAVAILABLE",
      message: "taken",
    });
    expect(failureOf({ status: "timeout" })).toEqual({ code: "TIMEOUT", message: NOT_IN_TIME });
  });

  it("closes the log with an error, or with the result and what belongs to it", () => {
    expect(lastEvent(resultOf({ status: "timeout", error: "late" }), "s")).toEqual({
      type: "error",
      code: "TIMEOUT",
      message: "late",
    });
    expect(lastEvent(resultOf({}), "s")).toEqual({
      type: "result",
      text: "text",
      session_id: "s",
      duration_ms: 7,
    });
    const usage = { inputTokens: 1 } as never;
    const attachments = [{ type: "image" as const, url: "/x" }];
    expect(lastEvent(resultOf({ status: "interrupted", usage, attachments }), "s")).toEqual({
      type: "result",
      text: "text",
      session_id: "s",
      duration_ms: 7,
      usage,
      attachments,
      interrupted: true,
    });
  });

  it("never shows an error that was not written for people", () => {
    expect(sentenceOf(new Error("The agent is not installed."))).toBe("The agent is not installed.");
    const hidden = "Could not run the agent; see the gateway's log for the reason.";
    expect(sentenceOf(Object.assign(new Error("ENOENT: /home/x"), { code: "ENOENT" }))).toBe(hidden);
    expect(sentenceOf(new TypeError("x is not a function"))).toBe(hidden);
    expect(sentenceOf("text")).toBe(hidden);
  });

  it("knows the file of an attachment by its address", () => {
    expect(mediaPathOf("a", "/api/v1/agents/a/media/out/my%20plan.png")).toBe("out/my plan.png");
    expect(mediaPathOf("a", "/api/v1/agents/b/media/x.png")).toBe("/api/v1/agents/b/media/x.png");
  });
});

describe("what the end of a turn stores", () => {
  const stored = (result: Partial<TurnResult>, more: object = {}) => {
    const made: unknown[] = [];
    const note =
      (name: string) =>
      (...args: unknown[]) => {
        made.push([name, ...args]);
        return change();
      };
    const changes = endChanges(
      {
        sessions: { settle: note("settle") },
        messages: { add: note("message") },
        turns: { end: note("end"), dropParts: note("dropParts") },
      } as never,
      {
        agentId: "a",
        uuid: "s",
        requestId: "r",
        result: resultOf(result),
        outcome: { model: "m", contextPercent: 3 } as never,
        now: 5,
        message: 9,
        steps: [],
        dropParts: true,
        program: { id: "p" } as never,
        ...more,
      },
    );
    expect(changes).toHaveLength(made.length);
    return made as Array<[string, ...unknown[]]>;
  };
  const message = (made: Array<[string, ...unknown[]]>) =>
    made.find(([name]) => name === "message")?.[1] as never;
  const settle = (made: Array<[string, ...unknown[]]>) => made.find(([name]) => name === "settle");

  it("is the reply, the end, and the program's own session for the next turn", () => {
    const made = stored({ attachments: [{ type: "image", url: "/api/v1/agents/a/media/x.png" }] });
    expect(made.map(([name]) => name)).toEqual(["message", "end", "dropParts", "settle"]);
    expect(message(made)).toMatchObject({
      id: 9,
      session: "s",
      role: "assistant",
      content: "text",
      ts: 5,
      extra: { attachments: [{ type: "image", url: "/api/v1/agents/a/media/x.png" }] },
      media: ["x.png"],
    });
    expect(made[1]).toEqual(["end", "s", "done", 5]);
    expect(made[2]).toEqual(["dropParts", "r"]);
    expect(settle(made)).toEqual([
      "settle",
      "s",
      { runtimeState: { id: "p" }, model: "m", contextPercent: 3 },
    ]);
    const { extra } = message(stored({})) as { extra: object };
    expect(extra).toEqual({});
  });

  it("is no message where there is none, and no rows are deleted that were not written", () => {
    const made = stored({}, { message: undefined, dropParts: false });
    expect(made.map(([name]) => name)).toEqual(["end", "settle"]);
  });

  it("flags a reply that was cut off, and says why a turn failed", () => {
    const extra = (result: Partial<TurnResult>) => (message(stored(result)) as { extra: object }).extra;
    expect(extra({ status: "interrupted" })).toEqual({ interrupted: true });
    expect(extra({ status: "interrupted", text: "" })).toEqual({ interrupted: true });
    const error = { code: "AGENT_FAILED", message: "no" };
    expect(extra({ status: "failed", error: "no" })).toEqual({ interrupted: true, error });
    expect(extra({ status: "failed", error: "no", text: "" })).toEqual({ error });
    const attachments = [{ type: "image" as const, url: "/x" }];
    expect(extra({ status: "failed", error: "no", text: "", attachments })).toEqual({
      interrupted: true,
      error,
      attachments,
    });
  });

  it("keeps the program's session only if the program is where history is", () => {
    for (const [status, ended, kept] of [
      ["done", "done", true],
      ["interrupted", "interrupted", true],
      ["failed", "failed", false],
      ["timeout", "interrupted", false],
    ] as const) {
      const made = stored({ status });
      expect(made[1]).toEqual(["end", "s", ended, 5]);
      expect(settle(made)![2]).toMatchObject({ runtimeState: kept ? { id: "p" } : null });
    }
  });
});

describe("what is told of a turn", () => {
  const told: unknown[] = [];
  const feed = {
    event: (event: unknown) => {
      told.push(event);
      return change();
    },
  };
  const place = { agentId: "a", chatId: "c", sessionId: "s", requestId: "r", kind: "message" };

  it("is its session if that is new, its message, and its start, as long as the session is there", () => {
    told.length = 0;
    expect(tellStart(feed as never, { ...place, isNew: true, message: 4 })).toHaveLength(3);
    const still = { while: { session: "s" } };
    const data = { chatId: "c", sessionId: "s", requestId: "r" };
    expect(told).toEqual([
      { type: "session.created", agentId: "a", data: { chatId: "c", sessionId: "s" }, ...still },
      { type: "message.received", agentId: "a", data, message: 4, ...still },
      { type: "turn.started", agentId: "a", data: { ...data, kind: "message" }, ...still },
    ]);
    told.length = 0;
    expect(tellStart(feed as never, { ...place, isNew: false, message: undefined })).toHaveLength(1);
    expect(told).toMatchObject([{ type: "turn.started" }]);
  });

  it("is how it ended, with a code if it failed", () => {
    told.length = 0;
    tellEnd(feed as never, { ...place, result: resultOf({ status: "interrupted" }), message: 4 });
    tellEnd(feed as never, { ...place, result: resultOf({ status: "timeout" }), message: undefined });
    const data = { chatId: "c", sessionId: "s", requestId: "r", kind: "message", durationMs: 7 };
    expect(told).toEqual([
      { type: "turn.finished", agentId: "a", data: { ...data, status: "interrupted" }, message: 4 },
      {
        type: "turn.failed",
        agentId: "a",
        data: { ...data, status: "timeout", code: "TIMEOUT" },
        message: undefined,
      },
    ]);
  });
});
