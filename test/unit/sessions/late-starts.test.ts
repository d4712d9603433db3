import { describe, expect, it } from "vitest";
import { UnsettledError } from "../../../packages/gateway/src/store/index.ts";
import { said, sessionsRig, until } from "../../fixtures/sessions-rig.ts";

const RUNNING = { kind: "message", state: "running" };
const CLOSED = { kind: "message", state: "interrupted" };
const DONE = { kind: "message", state: "done" };

/** Sessions whose store stops answering in a commit, after or before that was stored. */
async function rigOf(stored: boolean) {
  const rig = await sessionsRig();
  const { forAgent } = rig.store;
  const { promise: outcome, resolve } = Promise.withResolvers<boolean>();
  const state = { failures: 0, closedLate: 0 };
  rig.store.forAgent = (id) => {
    const units = forAgent(id);
    return {
      ...units,
      async commit(...changes) {
        if (state.failures === 0) return units.commit(...changes);
        state.failures--;
        if (stored) await units.commit(...changes);
        throw new UnsettledError({}, outcome);
      },
    };
  };
  rig.deps.closedLate = () => void state.closedLate++;
  return {
    ...rig,
    room: rig,
    state,
    /** A message whose turn cannot be seen to begin. */
    async refused(text: string, sessionId?: string) {
      state.failures = 1;
      await expect(rig.send(text, { sessionId })).rejects.toMatchObject({ code: "UNAVAILABLE" });
      await until(() => rig.sessions.places().every(({ busy }) => !busy));
    },
    tell: () => resolve(stored),
    /** Sends until the session takes it, as a client does that is told to try again later. */
    async sendLater(text: string, sessionId: string) {
      for (;;) {
        try {
          return await rig.send(text, { sessionId });
        } catch (error) {
          expect(error).toMatchObject({ code: "UNAVAILABLE" });
          await new Promise((done) => setImmediate(done));
        }
      }
    },
  };
}

describe("a turn that its client was refused, as the store stopped answering when it began", () => {
  it("is closed when the store says that it began, and whoever waits for it is told once [STORE-COMMIT-2]", async () => {
    const rig = await rigOf(true);
    await rig.refused("Hello");
    expect(rig.turns()).toEqual([RUNNING]);
    expect([rig.told.at(-1)?.type, rig.state.closedLate]).toEqual(["turn.started", 0]);
    rig.tell();
    await until(() => rig.state.closedLate === 1);
    expect(rig.turns()).toEqual([CLOSED]);
    expect(rig.told.at(-1)).toMatchObject({ type: "turn.finished", data: { status: "interrupted" } });
    expect(rig.messages()).toEqual([["user", "Hello", {}]]);
    // The agent was never asked.
    expect(rig.programs.flatMap(({ inputs }) => inputs)).toEqual([]);
  });

  it.each([true, false])(
    "keeps its session from any other turn until that is known (began: %s) [STORE-COMMIT-2]",
    async (stored) => {
      const rig = await rigOf(stored);
      const session = await said(rig.room, ["first", "answer"]);
      await rig.refused("lost", session);
      await expect(rig.send("too early", { sessionId: session })).rejects.toMatchObject({
        code: "UNAVAILABLE",
      });
      expect(rig.sessions.isBusy(session)).toBe(true);
      rig.tell();
      const next = await rig.sendLater("next", session);
      expect(rig.turns()).toEqual([DONE, ...(stored ? [CLOSED] : []), RUNNING]);
      (await rig.program(1, 2)).end({ text: "answer" });
      await next.done;
      expect(rig.turns().at(-1)).toEqual(DONE);
      expect(rig.messages().map(([, text]) => text)).toEqual([
        "first",
        "answer",
        ...(stored ? ["lost"] : []),
        "next",
        "answer",
      ]);
      expect(rig.state.closedLate).toBe(stored ? 1 : 0);
    },
  );

  it("is tried again to be closed while the store is still unwell [STORE-COMMIT-2]", async () => {
    const rig = await rigOf(true);
    await rig.refused("Hello");
    rig.state.failures = 2;
    rig.tell();
    await until(() => rig.state.failures < 2);
    for (let n = 0; n < 30 && rig.state.closedLate === 0; n++) {
      rig.clock.advance(1_000);
      await new Promise((done) => setImmediate(done));
    }
    expect([rig.state.closedLate, rig.turns()]).toEqual([1, [CLOSED]]);
  });

  it("keeps no stop waiting, and is left to the next start [STORE-COMMIT-2]", async () => {
    const rig = await rigOf(true);
    await rig.refused("Hello");
    await rig.sessions.stopAll();
    rig.tell();
    await new Promise((done) => setImmediate(done));
    expect(rig.turns()).toEqual([RUNNING]);
  });
});
