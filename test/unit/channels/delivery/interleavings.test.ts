import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as tick } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Outgoing, SendOutcome } from "../../../../packages/gateway/src/channels/types.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { memoryDatabase } from "../../../fixtures/memory-db.ts";
import { everyOrder, RUNS, RUNS_TIMEOUT } from "../../../fixtures/orders.ts";
import { numbersOf, shuffler } from "../../../fixtures/shuffle.ts";
import { PLACE, startDelivery } from "./harness.ts";

const CHATS = ["c0", "c1", "c2"];
const never = () => new Promise<never>(() => {});

/** One order of reads, writes, answers, failures, stops and kills, and what has to hold after it. */
async function run(seed: number, folder: string): Promise<void> {
  const random = numbersOf(seed);
  const order = shuffler(random);
  const clock = manualClock();
  const base = memoryDatabase();
  const journal = join(folder, String(seed), "sends");
  /** A provider that knows the key of a message takes it once. */
  const knowsKeys = seed % 2 === 0;
  let hostile = true;
  let connected = true;
  const wrong: string[] = [];
  /** Texts as the provider has them, and the keys that it took. */
  const arrived: Record<string, string[]> = Object.fromEntries(CHATS.map((chat) => [chat, []]));
  const taken = new Set<string>();

  const start = () => {
    let dead = false;
    const between = async () => {
      await order.between();
      if (dead) await never();
    };
    const write: typeof base.write = async (...unit) => {
      await between();
      if (hostile && random() < 0.03) throw new Error("disk full");
      const results = await base.write(...unit);
      await between();
      return results;
    };
    const read: typeof base.read = async <T>(sql: string, params?: Parameters<typeof base.read>[1]) => {
      await between();
      if (hostile && random() < 0.02) throw new Error("no memory");
      const rows = await base.read<T>(sql, params);
      await between();
      return rows;
    };
    const db = { ...base, write, read };
    const alive = {
      ...clock,
      after: (ms: number, task: () => void) => clock.after(ms, () => dead || task()),
    };
    const rig = startDelivery({ db, clock: { ...clock, ...alive }, journal });
    if (!connected) rig.connect(false);
    rig.repeatIf(() => knowsKeys);
    const under = new Set<string>();
    const accept = ({ key, target, content }: Outgoing) => {
      if (knowsKeys && taken.has(key)) return;
      taken.add(key);
      arrived[target.chatId]!.push(content.kind === "text" ? content.text : "");
    };
    rig.adapter.send = async (outgoing): Promise<SendOutcome> => {
      const { chatId } = outgoing.target;
      if (under.has(chatId)) wrong.push("two attempts at once in a chat");
      under.add(chatId);
      try {
        await between();
        if (hostile && random() < 0.1) return { status: "retry", reason: "Nobody listens." };
        outgoing.begin();
        await between();
        const chance = hostile ? random() : 1;
        if (chance < 0.1) return { status: "retry", reason: "Too many requests.", afterMs: 500 };
        if (chance < 0.15) return { status: "failed", reason: "The provider refuses it." };
        if (chance < 0.25) return { status: "unknown", reason: "The connection broke." };
        accept(outgoing);
        await between();
        if (chance < 0.35) return { status: "unknown", reason: "The connection broke." };
        if (chance < 0.4) throw new Error("unexpected");
        return { status: "sent", messageId: `m ${outgoing.key}` };
      } finally {
        under.delete(chatId);
      }
    };
    const recovered = (async () => {
      for (;;) {
        try {
          await rig.delivery.recover();
          break;
        } catch {
          await between();
        }
      }
      rig.delivery.wakeAll();
    })();
    return {
      ...rig,
      recovered,
      kill() {
        dead = true;
        rig.closeJournal();
      },
    };
  };

  /** One reply after another reaches the disk, and nothing begins before a start has decided what was cut off. */
  const ended = async (work: Promise<unknown>, ms: number) => {
    let over = false;
    void work.then(() => {
      over = true;
    });
    for (let n = 0; !over; n++) {
      if (n > 20_000) throw new Error("stuck");
      clock.advance(ms);
      order.step();
      await tick();
    }
  };

  let living = start();
  await ended(living.recovered, 100);
  const put: Record<string, string[]> = Object.fromEntries(CHATS.map((chat) => [chat, []]));
  const say = () => {
    const chatId = CHATS[Math.floor(random() * CHATS.length)]!;
    const { delivery, store } = living;
    const texts = Array.from(
      { length: 1 + Math.floor(random() * 3) },
      (_, n) => `${put[chatId]!.length + n}`,
    );
    put[chatId]!.push(...texts);
    const target = { chatId, reply: {}, receivedAt: clock.now() };
    const contents = texts.map((text) => ({ kind: "text" as const, text }));
    const sending = { place: PLACE, chatId, inbox: null, purpose: "reply" as const, target, contents };
    // Whoever puts out a reply has it on disk with the end of its turn, and tries until it is.
    const insist = (): Promise<void> =>
      store.commit(delivery.add(sending)).then(() => delivery.wake(PLACE, chatId), insist);
    return insist();
  };

  for (let steps = 0; steps < 120; steps++) {
    const chance = random();
    if (chance < 0.08) {
      await ended(say(), 10);
    } else if (chance < 0.11) {
      if (random() < 0.4) void living.delivery.close();
      for (let n = Math.floor(random() * 4); n > 0; n--) {
        order.step();
        await tick();
      }
      living.kill();
      living = start();
      await ended(living.recovered, 100);
    } else if (chance < 0.16) {
      connected = !connected;
      living.connect(connected);
    } else if (chance < 0.35) clock.advance(Math.floor(random() * 2_000));
    order.step();
    await tick();
  }

  hostile = false;
  connected = true;
  living.connect(true);
  const open = () => base.all("SELECT 1 FROM channel_outbox WHERE state IN ('pending', 'sending')").length;
  for (let n = 0; n < 400 && open() > 0; n++) {
    await drained(order);
    clock.advance(10_000);
  }
  await drained(order);

  living.closeJournal();
  const rows = base.all<{ chat_id: string; content: string | null; state: string; key: string }>(
    "SELECT chat_id, content, state, key FROM channel_outbox ORDER BY id",
  );
  expect(open(), "open rows").toBe(0);
  expect(rows.length).toBe(Object.values(put).flat().length);
  expect(wrong).toEqual([]);
  for (const chat of CHATS) {
    const texts = arrived[chat]!.map(Number);
    expect(texts, `${chat} in order, none twice`).toEqual([...new Set(texts)].toSorted((a, b) => a - b));
    rows
      .filter(({ chat_id }) => chat_id === chat)
      .forEach(({ state }, n) => {
        const there = texts.includes(n);
        if (state === "sent") expect(there, `${chat} ${n} is sent`).toBe(true);
        else if (state === "failed") expect(there, `${chat} ${n} is failed`).toBe(false);
        else expect(state).toBe("unknown");
      });
  }
}

/** Lets everything go on that waits for no time. */
async function drained(order: ReturnType<typeof shuffler>): Promise<void> {
  for (let idle = 0; idle < 4; ) {
    idle = order.step() ? 0 : idle + 1;
    await tick();
  }
}

it(
  `${RUNS} orders of reads, writes, answers, failures, stops and kills: each reply arrives once and in order, or is known not to have [CH-OUTBOX-1, CH-OUTBOX-3, CH-JOURNAL-1, CH-UNSURE-2, CH-UNSURE-3]`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-unit-"));
    try {
      await everyOrder((seed) => run(seed, folder));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  RUNS_TIMEOUT,
);
