import { GatewayError } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import { createGate } from "../../../../packages/gateway/src/channels/intake/gate.ts";
import type { Decision } from "../../../../packages/gateway/src/channels/types.ts";
import { settled } from "../delivery/harness.ts";
import { PLACE, startIntake } from "./harness.ts";

type Rig = ReturnType<typeof startIntake>;

const pass = async (rig: Rig, seconds: number) => {
  for (let n = 0; n < seconds; n++) {
    rig.clock.advance(1_000);
    await settled();
  }
};

describe("a chat that cannot be worked on", () => {
  it.each(["agent of another gateway", "channel that is off", "adapter on its way"])(
    "waits with its messages and commands, and goes on when it can: %s [CH-FLOW-9]",
    async (why) => {
      let off = true;
      const rig: Rig = startIntake({
        deps: {
          ...(why === "agent of another gateway" && { serves: () => !off }),
          ...(why === "channel that is off" && {
            agent: () => ({ ...rig.agent, sigchat: { ...rig.agent.sigchat, enabled: !off } }) as never,
          }),
          ...(why === "adapter on its way" && { adapter: () => (off ? undefined : rig.out.adapter) }),
        },
      });
      await rig.say("one");
      await rig.say("/help");
      rig.intake.wakeAll();
      await pass(rig, 10);
      expect(rig.states()).toEqual(["waiting", "command"]);
      expect(rig.turns).toEqual([]);
      off = false;
      rig.intake.wakeAll();
      await settled();
      expect(rig.turns).toHaveLength(1);
      expect(rig.notes()[1]).toBe("done help");
    },
  );

  it("because its agent is removed while it waits for a place, has no turn [CH-BETWEEN-7]", async () => {
    const rig = startIntake({ places: 1 });
    rig.busy.add("of somebody else");
    await rig.say("one");
    await settled();
    rig.state.removed = true;
    rig.busy.clear();
    rig.freed.ring("a");
    await pass(rig, 10);
    expect(rig.state).toMatchObject({ sends: 0, fetched: [], typing: 0 });
    expect(rig.states()).toEqual(["waiting"]);
  });

  it("because the gateway stops while it waits for a place, has its turn after the next start [CH-WAIT-3]", async () => {
    const rig = startIntake({ places: 1 });
    rig.busy.add("of somebody else");
    await rig.say("one");
    await settled();
    rig.intake.stop();
    await rig.intake.idle();
    rig.busy.clear();
    rig.freed.ring("a");
    await settled();
    expect(rig.state.sends).toBe(0);
    expect(rig.states()).toEqual(["waiting"]);
  });
});

describe("a sender who is revoked", () => {
  it("while a message waits for a place has no turn [CH-FLOW-8]", async () => {
    const rig = startIntake({ places: 1 });
    rig.busy.add("of somebody else");
    await rig.say("one");
    await settled();
    rig.state.decision = "ignore";
    rig.busy.clear();
    rig.freed.ring("a");
    await pass(rig, 2);
    expect(rig.state).toMatchObject({ sends: 0, fetched: [] });
    expect(rig.notes()).toEqual(["denied ignored"]);
  });
});

describe("a message that meets rules that break off meanwhile", () => {
  it("waits until they can be read, without counting as a failure [CH-WAIT-5]", async () => {
    const rules = { decision: "knock" as Decision, readable: true, knocks: 0, looks: 0 };
    const rig = startIntake({
      deps: {
        access: {
          decide: async () => rules.decision,
          async readable() {
            rules.looks++;
            return rules.readable;
          },
          async knock() {
            rules.knocks++;
            if (!rules.readable) throw new GatewayError("CONFLICT", "The access file cannot be read.");
            return undefined;
          },
          admit: async () => {},
        },
      },
    });
    rules.readable = false;
    await rig.say("one");
    await pass(rig, 30);
    expect(rules.knocks).toBe(1);
    // One for the failure, and then one a second.
    expect(rules.looks).toBeGreaterThan(25);
    expect(rig.log.lines).toEqual([]);
    rules.readable = true;
    await pass(rig, 2);
    expect(rules.knocks).toBe(2);
    expect(rig.out.texts()).toEqual([]);
    expect(rig.notes()).toEqual(["denied null"]);
  });

  it("is judged within a second after they can be, with all that wait for them [CH-WAIT-5]", async () => {
    let looks = 0;
    const rig: Rig = startIntake({
      places: 5,
      deps: {
        access: {
          decide: async () => rig.state.decision,
          async readable() {
            looks++;
            return rig.state.decision !== "later";
          },
          knock: async () => undefined,
          admit: async () => {},
        },
      },
    });
    rig.state.decision = "later";
    for (const chatId of ["c1", "c2", "c3"]) await rig.say(chatId, { chatId });
    await settled();
    await pass(rig, 10);
    expect(looks).toBe(10);
    rig.state.decision = "allow";
    await pass(rig, 1);
    expect(rig.turns).toHaveLength(3);
  });
});

describe("what is done with a message", () => {
  it("is shown as read once, although it has to be tried again, and answers that message [CH-WAIT-2]", async () => {
    let reads = 0;
    let tries = 0;
    const rig = startIntake({
      adapter: { markRead: () => void reads++ },
      deps: {
        fetchMedia: () =>
          tries++ < 2
            ? Promise.reject(new Error("broken"))
            : Promise.resolve({ meta: {}, text: "", mediaFiles: [] }),
      },
    });
    const reply = { thread: "t" };
    const message = {
      eventId: "e",
      chatId: "c",
      kind: "dm",
      senderId: "u",
      text: "hi",
      mentioned: true,
    } as const;
    await rig.intake.receive(PLACE, [{ ...message, messageId: "m", reply }]);
    await pass(rig, 10);
    expect([tries, reads]).toEqual([3, 1]);
    await rig.turns[0]!.end();
    await settled();
    expect(rig.out.sent[0]!.target).toMatchObject({ chatId: "c", messageId: "m", reply });
  });

  it("is done once, however often its turn is tried: it is shown as read, and its files are fetched [CH-WAIT-2]", async () => {
    let reads = 0;
    const rig: Rig = startIntake({ places: 1, adapter: { markRead: () => void reads++ } });
    await rig.say("one");
    await settled();
    expect(reads).toBe(1);
    await rig.turns[0]!.end();
    rig.held.add(rig.turns[0]!.sessionId);
    await rig.say("two");
    await pass(rig, 3);
    expect(reads).toBe(2);
    rig.held.clear();
    rig.freed.ring("a");
    await pass(rig, 1);
    expect(reads).toBe(2);
    expect(rig.turns).toHaveLength(2);
    expect(rig.state.fetched).toEqual(["one", "two"]);
  });

  it("tells the agent of its files, by name if there is nothing else [CH-FLOW-5]", async () => {
    const sent: unknown[] = [];
    const rig: Rig = startIntake({
      coalesceMs: 100,
      deps: {
        fetchMedia: async (_adapter, _place, _agent, { eventId }) =>
          eventId === "e1"
            ? { meta: { image_path: "/m/1" }, text: "", mediaFiles: ["/m/1"] }
            : { meta: {}, text: "(b.pdf is too large.)", mediaFiles: ["/m/2"] },
      },
    });
    const { send } = rig.sessions;
    rig.sessions.send = (incoming) => {
      sent.push({
        text: incoming.text,
        mediaFiles: incoming.mediaFiles,
        kind: incoming.kind,
        again: incoming.again,
      });
      return send(incoming);
    };
    const from = { chatId: "c", kind: "dm", senderId: "u", senderName: "Ann", mentioned: true } as const;
    await rig.intake.receive(PLACE, [
      {
        ...from,
        eventId: "e1",
        text: "",
        media: [
          { kind: "image", ref: {} },
          { kind: "document", ref: {}, name: "a.pdf" },
        ],
      },
      { ...from, eventId: "e2", text: "See this" },
    ]);
    await settled();
    rig.clock.advance(100);
    await settled();
    expect(sent).toEqual([
      {
        text: "[image] [a.pdf]\nSee this\n(b.pdf is too large.)",
        mediaFiles: ["/m/1", "/m/2"],
        kind: "channel",
        again: undefined,
      },
    ]);
    const [first, ...others] = rig.turns[0]!.told.split("</channel_message>\n");
    expect(first).toContain('image_path="/m/1"');
    expect(first).toContain(">[image] [a.pdf]");
    expect(others.join()).toMatch(
      /^<channel_message .*>See this\n\(b.pdf is too large\.\)<\/channel_message>$/,
    );
  });

  it("is not reported with files missing when the gateway stops while they are fetched [CH-CRASH-5]", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const rig = startIntake({ between: (what) => (what === "media" ? promise : Promise.resolve()) });
    await rig.say("one");
    await settled();
    rig.intake.stop();
    resolve();
    await settled();
    expect(rig.state).toMatchObject({ sends: 0, typing: 0 });
    expect(rig.states()).toEqual(["waiting"]);
  });

  it("is done again after a stop if its agent had given nothing, and else goes out as far as it got [CH-CRASH-5]", async () => {
    for (const produced of [false, true]) {
      const rig = startIntake();
      await rig.say("one");
      await settled();
      rig.intake.stop();
      await rig.turns[0]!.end("", { reason: "shutdown", produced });
      await settled();
      expect(rig.states()).toEqual([produced ? "done" : "waiting"]);
      expect(rig.out.texts()).toEqual(produced ? ["(The answer was interrupted by a restart.)"] : []);
    }
  });
});

describe("a turn that a crash cut off", () => {
  const crashed = async () => {
    const rig = startIntake();
    await rig.say("one");
    await settled();
    rig.intake.stop();
    const [row] = rig.db.all<{ request_id: string }>("SELECT request_id FROM channel_inbox");
    return { rig, requestId: row!.request_id };
  };

  it("runs again if its agent had given nothing [CH-CRASH-2]", async () => {
    const { rig, requestId } = await crashed();
    await rig.out.store.commit(...(await rig.intake.cutOff({ requestId, text: "", produced: false })));
    expect(rig.states()).toEqual(["waiting"]);
  });

  it("is else answered with what there was and one sentence [CH-CRASH-3]", async () => {
    for (const [text, said] of [
      ["So far ", "So far\n\n(The answer was interrupted by a restart.)"],
      [" ", "(The answer was interrupted by a restart.)"],
    ] as const) {
      const { rig, requestId } = await crashed();
      await rig.out.store.commit(...(await rig.intake.cutOff({ requestId, text, produced: true })));
      rig.out.delivery.wakeAll();
      await settled();
      expect(rig.out.texts()).toEqual([said]);
      expect(rig.notes()).toEqual(["done A crash interrupted the turn."]);
      expect(await rig.intake.cutOff({ requestId: "another", text, produced: true })).toEqual([]);
    }
  });
});

describe("a gate", () => {
  it("lets so many of an agent's tasks run, the others in order, and each agent's apart [CH-PLACE-1]", async () => {
    let limit = 2;
    const gate = createGate(() => limit);
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const start = (agentId: string, name: string) =>
      void gate(agentId, () => {
        begun.push(name);
        return new Promise((resolve) => ends.set(name, resolve));
      });
    const end = async (name: string) => {
      ends.get(name)!();
      await settled();
    };
    for (const name of ["1", "2", "3", "4", "5"]) start("a", name);
    start("b", "other");
    await settled();
    expect(begun).toEqual(["1", "2", "other"]);
    await end("2");
    expect(begun).toEqual(["1", "2", "other", "3"]);
    // A lower limit holds as soon as enough of those that run have ended.
    limit = 1;
    await end("1");
    expect(begun).toHaveLength(4);
    await end("3");
    expect(begun.slice(4)).toEqual(["4"]);
    await end("4");
    await end("5");
    start("a", "6");
    start("a", "7");
    await settled();
    expect(begun.slice(4)).toEqual(["4", "5", "6"]);
  });
});
