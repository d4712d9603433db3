import { GatewayError } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import { FencedError, UnsettledError } from "../../../packages/gateway/src/store/index.ts";
import { sessionsRig, until } from "../../fixtures/sessions-rig.ts";

const AWAY = new GatewayError("UNAVAILABLE", "away");

describe("a gateway that stops", () => {
  it("gives a program a second and a half, keeps the text, and begins nothing more", async () => {
    const rig = await sessionsRig();
    rig.state.obeys = false;
    const reasons: unknown[] = [];
    const idle = await rig.send("one");
    (await rig.program(1)).end();
    await idle.done;
    const turn = await rig.send("two", {
      closing: ({ reason }) => {
        reasons.push(reason);
        return [];
      },
    });
    const program = await rig.program(2);
    program.emit({ type: "text", text: "Half" });
    const stopping = rig.sessions.stopAll();
    await until(() => rig.programs[0]!.closed && program.interrupts === 1);
    await expect(rig.send("three")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    rig.clock.advance(1_499);
    expect(program.closed).toBe(false);
    rig.clock.advance(1);
    await stopping;
    expect(await turn.done).toMatchObject({ status: "interrupted", text: "Half" });
    expect(reasons).toEqual(["shutdown"]);
    await rig.sessions.close();
    expect([program.closed, rig.sessions.places()]).toEqual([true, []]);
  });

  it("takes an agent that dies meanwhile for stopped, and one that is done for done", async () => {
    const rig = await sessionsRig();
    const reasons: unknown[] = [];
    const closing = ({ reason }: { reason: unknown }) => {
      reasons.push(reason);
      return [];
    };
    const one = await rig.send("one", { closing });
    const two = await rig.send("two", { closing });
    await rig.program(1);
    await rig.program(2);
    rig.sessions.refuse();
    const [dies, answers] =
      rig.programs[0]!.inputs[0]!.text === "one" ? rig.programs : rig.programs.toReversed();
    dies!.die();
    expect(await one.done).toMatchObject({ status: "interrupted" });
    answers!.end({ text: "answer" });
    expect(await two.done).toMatchObject({ status: "done", text: "answer" });
    expect(reasons).toEqual(["shutdown", undefined]);
    // A place that comes back now is given up.
    await until(() => answers!.closed);
  });
});

describe("a turn whose store does not take it", () => {
  it("is refused when its beginning cannot be stored, and the session is free again", async () => {
    const rig = await sessionsRig();
    rig.state.refused = AWAY;
    await expect(rig.send("Hello")).rejects.toBe(AWAY);
    rig.state.refused = undefined;
    await until(() => rig.sessions.places().every(({ busy }) => !busy));
    expect([rig.messages(), rig.count("sessions"), rig.counted]).toEqual([[], 0, []]);
    expect(rig.programs.flatMap(({ inputs }) => inputs)).toEqual([]);
  });

  it("keeps its reply, and the session closed, until the store takes it [AWAY-1]", async () => {
    const rig = await sessionsRig();
    const turn = await rig.send("Hello");
    const program = await rig.program(1);
    rig.state.refused = AWAY;
    program.end({ text: "answer" });
    const result = await turn.done;
    expect(result).toMatchObject({ status: "done", text: "answer", stored: false });
    const frames = turn.log.framesAfter({ seq: 0, textEnd: 0 })!.toString();
    expect(frames).toMatch(/"type":"result",.*"stored":false/);
    expect(rig.sessions.isBusy(turn.sessionId)).toBe(true);
    await expect(rig.send("next", { sessionId: turn.sessionId })).rejects.toBe(AWAY);
    const ended = rig.counted.length;
    rig.state.refused = undefined;
    const next = await rig.send("next", { sessionId: turn.sessionId });
    await result.settled;
    expect(rig.messages().map(([, text]) => text)).toEqual(["Hello", "answer", "next"]);
    expect(rig.counted.length).toBe(ended + 1);
    (await rig.program(1, 2)).end();
    await next.done;
  });

  it("fails where another gateway has taken the agent, and begins no other", async () => {
    const rig = await sessionsRig();
    const turn = await rig.send("Hello");
    const program = await rig.program(1);
    rig.state.refused = new FencedError();
    program.end({ text: "answer" });
    expect(await turn.done).toMatchObject({ status: "failed", lost: true, stored: false });
    expect(rig.sessions.isBusy(turn.sessionId)).toBe(false);
    rig.state.refused = undefined;
    rig.state.holds = false;
    await expect(rig.send("next", { sessionId: turn.sessionId })).rejects.toBeInstanceOf(FencedError);
    expect(rig.sessions.isBusy(turn.sessionId)).toBe(false);
  });

  it("tells the agent nothing once the agent is another gateway's", async () => {
    const rig = await sessionsRig();
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.state.opening = promise;
    const turn = await rig.send("Hello");
    rig.state.holds = false;
    resolve();
    expect(await turn.done).toMatchObject({ status: "interrupted", text: "" });
    expect(rig.programs.map(({ inputs }) => inputs)).toEqual([[]]);
  });

  it("and may have taken it after all is closed once that is known, and its caller told [AWAY-6]", async () => {
    for (const stored of [true, false]) {
      const rig = await sessionsRig();
      let closed = 0;
      rig.deps.closedLate = () => void closed++;
      const outcome = Promise.withResolvers<boolean>();
      rig.state.refused = new UnsettledError({}, outcome.promise);
      await expect(rig.send("Hello")).rejects.toBe(rig.state.refused);
      await until(() => rig.sessions.places().every(({ busy }) => !busy));
      rig.state.refused = undefined;
      // What the store had taken, although it did not say so.
      const { store } = rig;
      if (stored)
        await store.commit(
          store.sessions.add({ uuid: "s", agentId: "a", chatId: "c", name: "n", unnamed: true, now: 1 }),
          store.turns.start("s", { requestId: "r1", kind: "message", keyId: null, told: 5, now: 1 }),
        );
      outcome.resolve(stored);
      for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve));
      rig.clock.advance(500);
      if (stored) await until(() => closed === 1);
      for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve));
      expect([closed, rig.turns().map(({ state }) => state)]).toEqual(
        stored ? [1, ["interrupted"]] : [0, []],
      );
    }
  });
});
