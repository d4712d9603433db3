import type { TurnEvent, TurnFrame } from "@agent-gateway/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "../../../packages/dashboard/src/api/types.ts";
import { suggestions } from "../../../packages/dashboard/src/pages/chat/suggest.ts";
import { excerptOf } from "../../../packages/dashboard/src/pages/history/excerpt.ts";
import { hashOf, parseHash, type Route } from "../../../packages/dashboard/src/state/address.ts";
import { describeResult, isCommand } from "../../../packages/dashboard/src/state/command.ts";
import { applyFrame, newTurn } from "../../../packages/dashboard/src/state/live-turn.ts";
import { itemsOf, withNewest } from "../../../packages/dashboard/src/state/message-list.ts";
import { stepsOf } from "../../../packages/dashboard/src/state/steps.ts";
import { parseCommand } from "../../../packages/gateway/src/sessions/commands.ts";

const message = (id: number, ts = id): Message => ({
  id,
  ts,
  role: "user",
  content: `m${id}`,
  sessionId: "s",
});

describe("addresses", () => {
  it("come back from what they were written as", () => {
    const text = fc.string({ minLength: 1, unit: "grapheme" });
    const route: fc.Arbitrary<Route> = fc.oneof(
      fc.record({
        view: fc.constant("chat" as const),
        agentId: text,
        chatId: text,
        sessionId: fc.option(text, { nil: undefined }),
      }),
      fc.record({ view: fc.constant("history" as const), agentId: text, chatId: text, query: fc.string() }),
      fc.record({ view: fc.constant("channels" as const), agentId: fc.option(text, { nil: undefined }) }),
      fc.record({
        view: fc.constant("page" as const),
        page: fc.constantFrom("usage", "terminal", "constructor"),
        path: fc.array(text, { maxLength: 3 }),
      }),
    );
    fc.assert(
      fc.property(route, (value) => {
        expect(parseHash(hashOf(value))).toEqual(value);
      }),
    );
  });

  it("lead to the first page when they are unknown, and no further than they can be read", () => {
    const page = (id: string, ...path: string[]) => ({ view: "page", page: id, path });
    expect(parseHash("")).toEqual(page(""));
    expect(parseHash("#")).toEqual(page(""));
    expect(parseHash("#/nowhere")).toEqual(page("nowhere"));
    expect(parseHash("#/%E0%A4%A/more")).toEqual(page("", "more"));
    expect(parseHash("#/terminal/a%2Fb/%E0%A4%A/c")).toEqual(page("terminal", "a/b"));
    expect(parseHash("#/chat/%E0%A4%A")).toEqual({
      view: "chat",
      agentId: undefined,
      chatId: undefined,
      sessionId: undefined,
    });
  });

  it("go on working after a page has been renamed [DASH-NAV-2]", () => {
    expect(parseHash("#/status")).toEqual({ view: "page", page: "system", path: [] });
  });
});

describe("a live turn", () => {
  const frames = (events: TurnEvent[]): TurnFrame[] =>
    events.map((event, index) => ({ ...event, seq: index + 1, request_id: "r" }));
  const all = frames([
    { type: "thinking", text: "…" },
    { type: "text_delta", text: "Hel" },
    { type: "tool_use", id: "t", name: "Bash" },
    { type: "tool_result", id: "t", is_error: true },
    { type: "timeout", message: "slow", resumable: true },
    { type: "attachment", attachment: { type: "image", url: "/a.png" } },
    { type: "text_delta", text: "lo" },
    { type: "result", text: "Hello", session_id: "s", interrupted: true },
  ]);

  it("is the same, whatever frames come twice", () => {
    const once = all.reduce(applyFrame, newTurn("s"));
    expect(once).toMatchObject({
      seq: 8,
      slow: true,
      steps: [
        { type: "thinking", text: "…" },
        { type: "text", text: "Hel" },
        { type: "tool", id: "t", name: "Bash", state: "failed" },
        { type: "text", text: "lo" },
      ],
      attachments: [{ url: "/a.png" }],
      end: { interrupted: true },
    });
    fc.assert(
      fc.property(fc.nat({ max: 8 }), fc.nat({ max: 8 }), (from, to) => {
        const again = [...all.slice(0, to), ...all.slice(Math.min(from, to))];
        expect(again.reduce(applyFrame, newTurn("s"))).toEqual(once);
      }),
    );
  });

  it("ignores types that it does not know", () => {
    const strange = { type: "later", seq: 1, request_id: "r" } as unknown as TurnFrame;
    expect(applyFrame(newTurn("s"), strange)).toMatchObject({ seq: 1, steps: [], end: undefined });
  });
});

describe("a stored answer", () => {
  it("is its steps in order, with the text that no step covers at the end", () => {
    const content = "Before.After.More";
    const tool = { type: "tool", id: "t", name: "Bash", startedAt: 1 } as const;
    const steps = [
      { type: "text", length: 7 },
      { ...tool, result: "ran", durationMs: 5 },
      { ...tool, id: "u", isError: true },
      { ...tool, id: "v" },
      { type: "text", length: 6, omitted: 2 },
    ] as const;
    expect(stepsOf({ content, steps: [...steps] })).toMatchObject([
      { type: "text", text: "Before." },
      { type: "tool", id: "t", state: "done", result: "ran" },
      { type: "tool", id: "u", state: "failed" },
      { type: "tool", id: "v", state: "stopped" },
      { type: "text", text: "After." },
      { type: "omitted", count: 2 },
      { type: "text", text: "More" },
    ]);
    expect(stepsOf({ content })).toEqual([{ type: "text", text: content }]);
    expect(stepsOf({ content: "" })).toEqual([]);
  });
});

describe("the list of messages", () => {
  it("keeps older messages on view when the newest are read again", () => {
    const known = [1, 2, 3, 4].map((id) => message(id));
    expect(withNewest(known, [message(3), message(4), message(5)]).map(({ id }) => id)).toEqual([
      1, 2, 3, 4, 5,
    ]);
    expect(withNewest([], [message(1)]).map(({ id }) => id)).toEqual([1]);
    expect(withNewest(known, [])).toEqual([]);
  });

  it("keeps a note behind the message that it followed", () => {
    const note = { id: 1, kind: "info" as const, text: "n", afterTs: 2 };
    const kinds = itemsOf([message(1), message(2), message(3)], [note]).map(({ type }) => type);
    expect(kinds).toEqual(["message", "message", "note", "message"]);
  });
});

describe("commands", () => {
  it("are told from messages exactly as the gateway does", () => {
    const text = fc
      .array(fc.constantFrom("/", "a", "model", " ", "\n", "1", "é", ".", "_"))
      .map((parts) => parts.join(""));
    const gatewaySays = (value: string) => {
      try {
        return parseCommand(value) !== undefined;
      } catch {
        return true;
      }
    };
    fc.assert(
      fc.property(text, (value) => {
        expect(isCommand(value)).toBe(gatewaySays(value));
      }),
      { numRuns: 1000 },
    );
  });

  it("are suggested while the first word is being written", () => {
    const known = [
      { name: "/clear", usage: "/clear", description: "" },
      { name: "/compact", usage: "/compact", description: "" },
    ];
    const offered = (text: string) => suggestions(text, known).map(({ name }) => name);
    expect(offered("/")).toEqual(["/clear", "/compact"]);
    expect(offered("/CO")).toEqual(["/compact"]);
    for (const text of ["", "/clear", "/clear x", "/x", "a /"]) expect(offered(text)).toEqual([]);
  });

  it("say in a sentence what they did", () => {
    const said = (command: string, result: Record<string, unknown>) =>
      describeResult({ command, session_id: "s", result });
    expect(said("/session", { name: "A", messageCount: 1, contextPercent: 3 })).toBe(
      "**A**: 1 message, 3 % of the context used.",
    );
    expect(said("/stop", { stopped: false })).toBe("Nothing was running.");
    expect(said("/model", { model: "m", models: [] })).toBe("This session uses **m**.");
    expect(said("/later", { x: 1 })).toContain('{"x":1}');
  });
});

describe("an excerpt", () => {
  it("shows the first match in its surroundings and marks every match", () => {
    const pieces = excerptOf(`${"x".repeat(500)} a.b A.B ${"y".repeat(500)}`, "a.b");
    expect(pieces.filter(({ hit }) => hit).map(({ text }) => text)).toEqual(["a.b", "A.B"]);
    expect([pieces[0]?.text, pieces.at(-1)?.text]).toEqual(["…", "…"]);
  });

  it("takes every character of the query as plain text", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 20, unit: "grapheme" }), (query) => {
        const pieces = excerptOf(`before ${query} after`, query);
        expect(pieces.map(({ text }) => text).join("")).toBe(`before ${query} after`);
        expect(pieces.some(({ hit }) => hit)).toBe(true);
      }),
    );
  });
});
