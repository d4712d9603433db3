import { GatewayError } from "@agent-gateway/contract";
import { describe, expect, it, vi } from "vitest";
import { replyText } from "../../../../packages/gateway/src/channels/intake/reply.ts";
import { settled } from "../delivery/harness.ts";
import { PLACE, startIntake } from "./harness.ts";

const INTERRUPTED = "(The answer was interrupted.)";
const CUT_OFF = "(The answer was interrupted by a restart.)";
const TOO_LONG = "(The answer took too long and was interrupted.)";

describe("what the end of a turn says in a chat", () => {
  const said = (
    status: "done" | "interrupted" | "timeout" | "failed",
    text: string,
    more: { error?: string; reason?: "stop" | "shutdown" } = {},
  ) =>
    replyText({
      result: {
        status,
        text,
        attachments: [],
        files: [],
        ...(more.error !== undefined && { error: more.error }),
      },
      reason: more.reason,
      produced: true,
    });

  it("is the text and, where it did not end by itself, one sentence [CH-FLOW-7, CH-CRASH-3]", () => {
    expect(said("done", "All of it.")).toBe("All of it.");
    expect(said("interrupted", "Half", { reason: "stop" })).toBe(`Half\n\n${INTERRUPTED}`);
    expect(said("interrupted", "Half", { reason: "shutdown" })).toBe(`Half\n\n${CUT_OFF}`);
    expect(said("interrupted", " \n", { reason: "shutdown" })).toBe(CUT_OFF);
    expect(said("timeout", "Half")).toBe(`Half\n\n${TOO_LONG}`);
    expect(said("timeout", "", { error: "It was silent." })).toBe("It was silent.");
    expect(said("failed", "")).toBe("The agent failed.");
    expect(said("failed", "Half", { error: "Out of credit." })).toBe("Half\n\nOut of credit.");
  });

  it("is nothing if somebody stopped it before it said anything [CH-FLOW-7]", () => {
    expect(said("interrupted", " \n", { reason: "stop" })).toBe("");
  });

  it("has images and files behind the text, each once [CH-OUT-6]", async () => {
    const path = import.meta.filename;
    const rig = startIntake({
      deps: {
        split: (_channel, text) => text.split("|"),
        attachment: (agentId, url) => ({ kind: "file", path, mime: "image/png", name: agentId + url }),
      },
    });
    await rig.say("one");
    await settled();
    await rig.turns[0]!.end("first|second", {
      result: {
        attachments: [
          { type: "image", url: "/a.png" },
          { type: "file", url: "/b.txt" },
        ],
        files: [{ path, name: "b.txt", mime: "text/plain" }],
      },
    });
    await vi.waitFor(() => expect(rig.out.states()).toEqual(["sent", "sent", "sent", "sent"]));
    expect(rig.out.sent.map(({ content }) => content)).toEqual([
      { kind: "text", text: "first" },
      { kind: "text", text: "second" },
      { kind: "file", path, mime: "image/png", name: "a/a.png" },
      { kind: "file", path, mime: "text/plain", name: "b.txt" },
    ]);
    expect(rig.notes()).toEqual(["done null"]);
  });

  it("of an agent that said nothing is a note for the operator alone [CH-FLOW-7]", async () => {
    const rig = startIntake();
    await rig.say("one");
    await settled();
    await rig.turns[0]!.end("");
    await settled();
    expect(rig.out.texts()).toEqual([]);
    expect(rig.notes()).toEqual(["done The agent said nothing."]);
  });

  it("waits while the end of its turn is kept for the store, and goes out once when it is stored [AWAY-2]", async () => {
    const rig = startIntake();
    await rig.say("one");
    await settled();
    const kept = Promise.withResolvers<void>();
    await rig.turns[0]!.end("the answer", { kept: kept.promise });
    await rig.say("two");
    for (let n = 0; n < 4; n++) {
      await settled();
      rig.clock.advance(1_000);
    }
    expect([rig.out.texts(), rig.turns.length]).toEqual([[], 1]);
    kept.resolve();
    await settled();
    expect(rig.out.texts()).toEqual(["the answer"]);
    expect(rig.turns).toHaveLength(2);
    expect(rig.notes()[0]).toBe("done null");
  });
});

describe("while a turn runs", () => {
  it("the chat sees that, and sees it no longer at its end", async () => {
    const rig = startIntake();
    await rig.say("one");
    await settled();
    expect(rig.state.typing).toBe(1);
    await rig.turns[0]!.end();
    await settled();
    expect(rig.state.typing).toBe(0);
  });

  it("its text so far is shown, changed as it grows, and gives way to the reply [CH-OUT-7, CH-BETWEEN-4]", async () => {
    const edits: string[] = [];
    const rig = startIntake({
      progressMs: 2_000,
      adapter: { edit: async (_target, _id, text) => void edits.push(text) },
    });
    await rig.say("one");
    await settled();
    const turn = rig.turns[0]!;
    const pass = async (ms: number) => {
      rig.clock.advance(ms);
      await settled();
    };
    await pass(2_000);
    expect(rig.out.texts()).toEqual([]);
    turn.log.text = " Well, ";
    await pass(2_000);
    expect(rig.out.texts()).toEqual(["Well, …"]);
    expect(rig.out.rows("purpose")).toEqual([{ purpose: "progress" }]);
    await pass(4_000);
    expect(edits).toEqual([]);
    turn.log.text = `Well, yes${"s".repeat(3_000)}`;
    await pass(2_000);
    expect(edits).toHaveLength(1);
    expect(edits[0]).toMatch(/^Well, yes+ …$/);
    expect(edits[0]).toHaveLength(1_502);
    await turn.end("Well, yes.");
    await settled();
    await pass(60_000);
    expect(edits).toHaveLength(1);
    expect(rig.out.sent.at(-1)).toMatchObject({ content: { text: "Well, yes." }, replaces: "p" });
    expect(rig.out.rows("purpose").at(-1)).toEqual({ purpose: "reply" });
    // Nothing of the turn looks any more.
    expect(rig.clock.timers()).toBe(0);
  });

  it("nothing of it is shown where that is off, or the provider changes no messages [CH-OUT-7]", async () => {
    const edit = async () => {};
    for (const options of [{ progressMs: 0, adapter: { edit } }, { progressMs: 2_000 }]) {
      const rig = startIntake(options);
      await rig.say("one");
      await settled();
      rig.turns[0]!.log.text = "Well,";
      rig.clock.advance(60_000);
      await settled();
      expect(rig.out.texts()).toEqual([]);
    }
  });

  it("a model that does not answer is reported: as progress, or else as a message [RETRY-4]", async () => {
    const edits: string[] = [];
    const edit = async (_target: unknown, _id: string, text: string) => void edits.push(text);
    for (const [options, shown] of [
      [{}, "It is busy. Still trying."],
      [{ progressMs: 1_000, adapter: { edit } }, "It is busy. Still trying. …"],
    ] as const) {
      const rig = startIntake(options);
      await rig.say("one");
      await settled();
      rig.turns[0]!.log.trouble = "It is busy.";
      for (let n = 0; n < 30; n++) {
        rig.clock.advance(1_000);
        await settled();
      }
      expect(rig.out.texts()).toEqual([shown]);
      await rig.turns[0]!.end("At last.");
      await settled();
      rig.clock.advance(60_000);
      await settled();
      expect(rig.out.texts()).toEqual([shown, "At last."]);
    }
    expect(edits).toEqual([]);
  });
});

describe("a sender's name", () => {
  const named = (message: Partial<{ senderName: string }>, nameOf: () => Promise<string | undefined>) => {
    const rig = startIntake({ adapter: { nameOf } });
    void rig.intake.receive(PLACE, [
      { eventId: "e", chatId: "c", kind: "dm", senderId: "u", text: "hi", mentioned: true, ...message },
    ]);
    return rig;
  };
  const nameTold = (rig: ReturnType<typeof startIntake>) =>
    /sender_name="([^"]*)"/.exec(rig.turns[0]?.told ?? "")?.[1];

  it("that did not come with the message is asked for, and what came is not", async () => {
    let asked = 0;
    const ask = async () => {
      asked++;
      return "Ann";
    };
    const without = named({}, ask);
    await settled();
    expect(nameTold(without)).toBe("Ann");
    const given = named({ senderName: "Bea" }, ask);
    await settled();
    expect(nameTold(given)).toBe("Bea");
    expect(asked).toBe(1);
  });

  it("that cannot be found keeps no message waiting", async () => {
    const failing = named({}, () => Promise.reject(new Error("no such user")));
    await settled();
    expect(nameTold(failing)).toBe("u");
    const silent = named({}, () => new Promise(() => {}));
    await settled();
    expect(silent.turns).toEqual([]);
    silent.clock.advance(1_500);
    await settled();
    expect(nameTold(silent)).toBe("u");
  });
});

describe("a message that cannot be processed", () => {
  const refusing = (error: () => Error) => {
    let tries = 0;
    const rig = startIntake({
      deps: {
        fetchMedia() {
          tries++;
          return Promise.reject(error());
        },
      },
    });
    return { rig, tries: () => tries };
  };
  const pass = async (rig: ReturnType<typeof startIntake>, seconds: number) => {
    for (let n = 0; n < seconds; n++) {
      rig.clock.advance(1_000);
      await settled();
    }
  };

  it("is tried eight times with longer and longer pauses, then given up with a sentence [CH-FLOW-7]", async () => {
    const { rig, tries } = refusing(() => new Error("broken"));
    await rig.say("one");
    await settled();
    expect(tries()).toBe(1);
    await pass(rig, 1);
    expect(tries()).toBe(2);
    await pass(rig, 1);
    expect(tries()).toBe(2);
    await pass(rig, 300);
    expect(tries()).toBe(8);
    expect(rig.out.texts()).toEqual(["Your message could not be processed. Please try again later."]);
    expect(rig.notes()).toEqual(["done given up"]);
    expect(rig.state.typing).toBe(0);
  });

  it("is tried for as long as nothing can be stored: that is not its fault [CH-FLOW-7]", async () => {
    const { rig, tries } = refusing(() => new Error("broken"));
    await rig.say("one");
    const { write } = rig.db;
    rig.db.write = () => Promise.reject(new Error("disk full"));
    await settled();
    await pass(rig, 900);
    expect(tries()).toBeGreaterThan(10);
    expect(rig.states()).toEqual(["waiting"]);
    rig.db.write = write;
    await pass(rig, 60);
    expect(rig.states()).toEqual(["done"]);
  });

  it("is refused at once, with the reason, if it would be refused again [CH-FLOW-7]", async () => {
    const { rig, tries } = refusing(() => new GatewayError("MESSAGE_TOO_LONG", "The text is too long."));
    await rig.say("one");
    await settled();
    expect(tries()).toBe(1);
    expect(rig.out.texts()).toEqual(["The text is too long."]);
    expect(rig.notes()).toEqual(["done given up"]);
  });
});

describe("messages of one sender that are joined", () => {
  it("are those that came within the time, and no other's [CH-FLOW-6]", async () => {
    const rig = startIntake({ coalesceMs: 1_000 });
    await rig.say("one");
    await settled();
    rig.clock.advance(600);
    await rig.say("two");
    rig.clock.advance(600);
    await settled();
    expect(rig.turns).toEqual([]);
    rig.clock.advance(400);
    await settled();
    expect(rig.turns.map(({ text }) => text)).toEqual(["one\ntwo"]);
    await rig.say("three");
    await rig.say("four", { senderId: "somebody else" });
    await rig.turns[0]!.end();
    await settled();
    expect(rig.turns.map(({ text }) => text)).toEqual(["one\ntwo", "three"]);
  });

  it("are fifty at most, which wait no longer [CH-FLOW-6]", async () => {
    const rig = startIntake({ coalesceMs: 1_000 });
    await rig.say("first");
    await settled();
    rig.clock.advance(1_000);
    await settled();
    for (let n = 0; n < 51; n++) await rig.say(`m${n}`);
    await rig.turns[0]!.end();
    await settled();
    expect(rig.turns[1]!.text.split("\n")).toHaveLength(50);
  });

  it("do not wait for a clock that was set back [CH-CLOCK-1]", async () => {
    const rig = startIntake({ coalesceMs: 1_000 });
    await rig.say("one");
    rig.clock.jump(-3_600_000);
    await settled();
    rig.clock.advance(1_000);
    await settled();
    expect(rig.turns.map(({ text }) => text)).toEqual(["one"]);
  });
});

describe("who is not allowed", () => {
  it("is answered with a handshake, or with nothing, and counted", async () => {
    const denied: unknown[] = [];
    const rig = startIntake({ deps: { onDenied: (place) => denied.push(place.channel) } });
    rig.state.decision = "knock";
    await rig.say("one");
    await settled();
    expect(rig.out.texts()).toEqual(["Your code is ABC234"]);
    expect(rig.out.rows("purpose")).toEqual([{ purpose: "knock" }]);
    expect(rig.notes()).toEqual(["denied null"]);
    rig.state.decision = "ignore";
    await rig.say("two");
    await settled();
    // It is not even stored.
    expect(rig.states()).toEqual(["denied"]);
    expect(denied).toEqual(["sigchat"]);
  });

  it("when the turn comes has none, although the message was stored [CH-FLOW-8]", async () => {
    const rig = startIntake({ places: 1 });
    await rig.say("one");
    await settled();
    await rig.say("two");
    rig.state.decision = "ignore";
    await rig.turns[0]!.end();
    await settled();
    expect(rig.turns).toHaveLength(1);
    expect(rig.notes()).toEqual(["done null", "denied ignored"]);
  });
});
