import { setImmediate as tick } from "node:timers/promises";
import { expect, it } from "vitest";
import { memoryDatabase } from "../../../fixtures/memory-db.ts";
import { everyOrder, RUNS, RUNS_TIMEOUT } from "../../../fixtures/orders.ts";
import { numbersOf, shuffler } from "../../../fixtures/shuffle.ts";
import { startIntake } from "./harness.ts";

const CHATS = 3;
const EACH = 4;

async function run(seed: number) {
  const random = numbersOf(seed);
  const order = shuffler(random);
  const db = memoryDatabase(order.between, order.between);
  const coalesceMs = seed % 3 === 0 ? 50 : 0;
  const rig = startIntake({ db, places: 1 + (seed % 3), coalesceMs, between: order.between });
  const said: Array<() => Promise<void>> = [];
  for (let n = 0; n < EACH; n++)
    for (let chat = 0; chat < CHATS; chat++)
      said.push(() => rig.say(`${chat}-${n}.`, { chatId: `c${chat}` }));
  const receiving: Promise<void>[] = [];
  const ended = new Set<number>();
  for (let steps = 0; steps < 20_000; steps++) {
    if (said.length > 0 && random() < 0.1) {
      // A provider tells one chat's messages one after another.
      await Promise.race([Promise.all(receiving), tick()]);
      receiving.push(said.shift()!());
    }
    if (random() < 0.05) rig.state.decision = rig.state.decision === "later" ? "allow" : "later";
    if (random() < 0.2) rig.clock.advance(Math.floor(random() * 2_000));
    if (random() < 0.02) rig.busy.add("of somebody else");
    if (random() < 0.1 && rig.busy.delete("of somebody else")) rig.freed.ring("a");
    rig.turns.forEach((turn, index) => {
      if (ended.has(index) || random() > 0.1) return;
      ended.add(index);
      void turn.end();
    });
    order.step();
    await tick();
    const over = said.length === 0 && rig.states().every((state) => state === "done");
    if (over && rig.out.states().every((state) => state === "sent") && rig.states().length === CHATS * EACH)
      break;
  }
  return rig;
}

async function keepsEveryRule(seed: number): Promise<void> {
  const rig = await run(seed);
  for (let chat = 0; chat < CHATS; chat++) {
    const stored = rig.db
      .all<{ event_id: string }>(`SELECT event_id FROM channel_inbox WHERE chat_id = 'c${chat}' ORDER BY id`)
      .map(({ event_id }) => event_id);
    const answered = rig.out.sent
      .filter(({ target }) => target.chatId === `c${chat}`)
      .flatMap(({ content }) => (content.kind === "text" ? content.text.split("\n") : []));
    expect(stored).toHaveLength(EACH);
    expect(answered).toEqual(stored);
  }
  expect(rig.state.fetched.toSorted()).toEqual([...new Set(rig.state.fetched)].toSorted());
  expect(rig.log.lines).toEqual([]);
}

it(
  `${RUNS} orders of all that intake and delivery wait for: each message is answered once and in order [CH-WAIT-9]`,
  () => everyOrder(keepsEveryRule),
  RUNS_TIMEOUT,
);
