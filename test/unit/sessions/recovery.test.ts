import { expect, it } from "vitest";
import { closeCutOff } from "../../../packages/gateway/src/sessions/recovery.ts";
import { sessionsRig } from "../../fixtures/sessions-rig.ts";

/** Turns as a crash leaves them: with the pieces of their text that were on disk. */
async function crashed(...turns: Array<{ id: string; agentId?: string; parts?: string[] }>) {
  const rig = await sessionsRig();
  const { store } = rig;
  for (const { id, agentId = "a", parts = [] } of turns) {
    await store.commit(
      store.sessions.add({ uuid: id, agentId, chatId: "api-c", name: "n", unnamed: false, now: 1 }),
      store.sessions.settle(id, { runtimeState: { type: "acp", token: "t", upto: 1 }, model: "m" }),
      store.turns.start(id, { requestId: `r-${id}`, kind: "message", keyId: "key", told: 5, now: 1 }),
      ...parts.map((text) => store.turns.addPart(`r-${id}`, text)),
    );
  }
  const asked: unknown[] = [];
  const deps = rig.deps;
  deps.cutOff = (turn) => {
    asked.push(turn);
    return [];
  };
  return { ...rig, asked, states: () => rig.turns().map(({ state }) => state) };
}

it("a crash leaves what was said as an interrupted message, and the session free [TURN-22]", async () => {
  const rig = await crashed({ id: "s", parts: ["Half ", "", "an answer"] });
  expect(await rig.sessions.recover()).toBe(1);
  expect(rig.messages()).toEqual([["assistant", "Half an answer", { interrupted: true }]]);
  expect([rig.states(), rig.count("turn_parts")]).toEqual([["interrupted"], 0]);
  // The program may remember more, or less.
  expect((await rig.row("s")).runtime_state).toBeNull();
  expect(rig.asked).toEqual([{ requestId: "r-s", text: "Half an answer", produced: true }]);
  expect(rig.used).toEqual([
    {
      requestId: "r-s",
      agentId: "a",
      keyId: "key",
      chatId: "api-c",
      session: "s",
      model: "m",
      used: undefined,
      chars: { told: 5, said: 14 },
    },
  ]);
  expect(rig.told).toEqual([
    {
      type: "turn.finished",
      agentId: "a",
      data: { chatId: "api-c", sessionId: "s", requestId: "r-s", status: "interrupted" },
    },
  ]);
  expect(await rig.sessions.recover()).toBe(0);
});

it("a turn that had said nothing leaves no message, and one that had not begun counts nothing as told", async () => {
  const rig = await crashed({ id: "silent", parts: [""] }, { id: "unbegun" });
  expect(await rig.sessions.recover()).toBe(2);
  expect([rig.messages(), rig.states()]).toEqual([[], ["interrupted", "interrupted"]]);
  expect(rig.asked).toEqual([
    { requestId: "r-silent", text: "", produced: true },
    { requestId: "r-unbegun", text: "", produced: false },
  ]);
  expect(rig.used).toMatchObject([{ chars: { told: 5, said: 0 } }, { chars: { told: 0, said: 0 } }]);
});

it("only the turns of an agent that was taken are closed", async () => {
  const rig = await crashed({ id: "mine" }, { id: "other", agentId: "b" });
  expect(await rig.sessions.recover("b")).toBe(1);
  expect(rig.states()).toEqual(["running", "interrupted"]);
});

it("a turn whose session is gone is closed without a message, a record or an event", async () => {
  const rig = await crashed({ id: "s", parts: ["text"] });
  const { store } = rig;
  await store.commit(store.sessions.remove("s"));
  expect(await rig.sessions.recover()).toBe(1);
  expect([rig.messages(), rig.used, rig.told, await store.turns.running()]).toEqual([[], [], [], []]);
});

it("one turn alone is closed by its id, and once", async () => {
  const rig = await crashed({ id: "s", parts: ["text"] }, { id: "t", parts: ["other"] });
  const units = rig.store.forAgent("a");
  await closeCutOff("a", "r-t", units, rig.deps);
  await closeCutOff("a", "r-t", units, rig.deps);
  expect(rig.states()).toEqual(["running", "interrupted"]);
  expect(rig.messages()).toEqual([["assistant", "other", { interrupted: true }]]);
});

it("a crash in the middle of the closing changes nothing", async () => {
  const rig = await crashed({ id: "s", parts: ["text"] });
  rig.state.refused = new Error("disk");
  await expect(rig.sessions.recover()).rejects.toThrow("disk");
  rig.state.refused = undefined;
  expect([rig.messages(), rig.states(), rig.count("turn_parts")]).toEqual([[], ["running"], 1]);
});

it("what is to be stored with the closing is stored in the same unit", async () => {
  const rig = await crashed({ id: "s", parts: ["text"] });
  rig.deps.cutOff = async () => [rig.store.sessions.update("s", { name: "renamed with it" })];
  await closeCutOff("a", "r-s", rig.store.forAgent("a"), rig.deps);
  expect(await rig.row("s")).toMatchObject({ name: "renamed with it" });
});
