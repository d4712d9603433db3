import { expect, it } from "vitest";
import { createPartTrouble, createPartWriter } from "../../../packages/gateway/src/sessions/turn-parts.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

function rig() {
  const clock = manualClock();
  const state = { full: false, tries: 0, stored: [] as string[], said: [] as string[] };
  const note = (_about: unknown, text?: string) => void state.said.push(text ?? "");
  const trouble = createPartTrouble({ error: note, info: note } as never);
  const writer = () =>
    createPartWriter({
      requestId: "r",
      turns: { addPart: (_id: string, text: string) => text } as never,
      units: {
        holds: () => true,
        reaches: () => true,
        commit: (async (text: string) => {
          state.tries++;
          await settle();
          if (state.full) throw new Error("database or disk is full");
          state.stored.push(text);
        }) as never,
      },
      clock,
      trouble,
    });
  const pass = async (ms: number) => {
    for (let gone = 0; gone < ms; gone += 20) {
      clock.advance(20);
      await settle();
      await settle();
    }
  };
  return { state, writer, pass };
}

it("text that a full disk did not take is stored later, in order, and told once by all turns [AWAY-7]", async () => {
  const { state, writer, pass } = rig();
  const [one, other] = [writer(), writer()];
  one.add("a ");
  await pass(100);
  state.full = true;
  const before = state.tries;
  for (let n = 0; n < 50; n++) {
    one.add(`${n} `);
    other.add("x");
    await pass(60);
  }
  expect(state.tries - before).toBeLessThan(12);
  expect(state.said).toEqual(["could not store partial text; trying again"]);
  state.full = false;
  await pass(2_000);
  expect(state.said).toEqual(["could not store partial text; trying again", "partial text is stored again"]);
  const text = state.stored.filter((part) => !part.includes("x")).join("");
  expect(text).toBe(`a ${Array.from({ length: 50 }, (_, n) => `${n} `).join("")}`);
  one.end();
  other.end();
});

it("what says that the agent has begun is one row, on disk before it is relied on [AWAY-7]", async () => {
  const { state, writer } = rig();
  const one = writer();
  one.add("a");
  await Promise.all([one.mark(), one.mark()]);
  expect(state.stored).toEqual(["a"]);
  state.full = true;
  await expect(one.mark()).rejects.toThrow("full");
  one.end();
});
