import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { openDatabase } from "../../../packages/gateway/src/store/sqlite/database.ts";
import type { FromWorker, ToWorker } from "../../../packages/gateway/src/store/sqlite/protocol.ts";
import { createWorkerClient, type Thread } from "../../../packages/gateway/src/store/sqlite/worker-client.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { everyOrder, RUNS, RUNS_TIMEOUT, SEED } from "../../fixtures/orders.ts";
import { numbersOf } from "../../fixtures/shuffle.ts";

const insert = (n: number) => ({
  sql: "INSERT INTO meta (key, value) VALUES (?, ?)",
  params: [`k${n}`, String(n)],
});

/** A loaded machine may take longer to start a thread than a close waits for it. */
const threadUp = (db: ReturnType<typeof openDatabase>) =>
  db.write({ sql: "DELETE FROM meta WHERE 0", params: [] });

describe("the writer at its end", () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "agent-gateway-writer-"));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  const rowsOf = (file: string): number => {
    const db = new DatabaseSync(file, { readOnly: true });
    const { n } = db.prepare("SELECT count(*) AS n FROM meta WHERE key LIKE 'k%'").get() as { n: number };
    db.close();
    return n;
  };

  it("writes everything that was handed over before the close, and refuses what comes after [WRITE-1]", async () => {
    for (const count of [1, 15, 40, 400]) {
      const file = join(dir, `units-${count}.db`);
      const db = openDatabase(file, systemClock);
      await threadUp(db);
      const writes = Array.from({ length: count }, (_, n) => db.write(insert(n)));
      const closed = db.close();
      const late = db.write(insert(count));
      await expect(late).rejects.toThrow("closed");
      await expect(db.slow("SELECT 1")).rejects.toThrow("closed");
      expect((await Promise.allSettled(writes)).map(({ status }) => status)).toEqual(
        Array(count).fill("fulfilled"),
      );
      await closed;
      expect(rowsOf(file)).toBe(count);
    }
  });

  it("leaves no promise open when a close cuts a job short [WRITE-1]", async () => {
    const db = openDatabase(join(dir, "job.db"), systemClock);
    await threadUp(db);
    const job = db.readerJob("search", {});
    job.catch(() => {});
    const write = db.write(insert(1));
    await db.close();
    expect((await Promise.allSettled([job, write])).map(({ status }) => status)).toEqual([
      "rejected",
      "fulfilled",
    ]);
  });
});

describe("the writer's thread", () => {
  it(
    `writes units in the order in which they were handed over, each whole or not at all, in ${RUNS} rounds of good and faulty ones [WRITE-3]`,
    async () => {
      const dir = await mkdtemp(join(tmpdir(), "agent-gateway-writer-"));
      const db = openDatabase(join(dir, "orders.db"), systemClock);
      await threadUp(db);
      const put = (key: string, value: number) => ({
        sql: "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        params: [key, String(value)],
      });
      const faulty = { sql: "INSERT INTO meta (key) VALUES (NULL)", params: [] };
      let count = 0;
      await everyOrder(async (seed) => {
        const random = numbersOf(seed);
        const wanted = new Map<string, string>();
        const units: Promise<unknown>[] = [];
        const good: boolean[] = [];
        for (let n = Math.floor(random() * 30); n >= 0; n--) {
          const statements = Array.from({ length: 1 + Math.floor(random() * 4) }, () =>
            put(`k${Math.floor(random() * 5)}`, count++),
          );
          const works = random() < 0.85;
          if (!works) statements.splice(Math.floor(random() * (statements.length + 1)), 0, faulty);
          else for (const { params } of statements) wanted.set(String(params[0]), String(params[1]));
          good.push(works);
          const unit = db.write(...statements);
          unit.catch(() => {});
          units.push(unit);
          // Some wait together in one batch, others come while it is being written.
          if (random() < 0.2) await Promise.allSettled([units[Math.floor(random() * units.length)]]);
        }
        const settled = await Promise.allSettled(units);
        expect(settled.map(({ status }) => status === "fulfilled")).toEqual(good);
        const found = db.all<{ key: string; value: string }>(
          "SELECT key, value FROM meta WHERE key LIKE 'k%'",
        );
        const got = new Map(found.map(({ key, value }) => [key, value]));
        for (const [key, value] of wanted) expect([key, got.get(key)]).toEqual([key, value]);
      });
      await db.close();
      await rm(dir, { recursive: true, force: true });
    },
    RUNS_TIMEOUT,
  );
});

/** A thread that answers when it is told to. */
function fakeThread() {
  const sent: ToWorker[] = [];
  const listeners = new Map<string, (value: never) => void>();
  const thread: Thread = {
    postMessage: (message) => void (message.kind === "open" || sent.push(message)),
    on: (event: string, listener: (value: never) => void) => listeners.set(event, listener),
    terminate: () => new Promise(() => {}),
  };
  return {
    thread,
    sent,
    answer: (replies: FromWorker[]) => listeners.get("message")?.(replies as never),
    exit: (code: number) => listeners.get("exit")?.(code as never),
  };
}

describe("the writer's client", () => {
  it("gives a close an end, though the thread never answers and never ends [WRITE-2]", async () => {
    const clock = manualClock();
    const { thread } = fakeThread();
    const client = createWorkerClient(thread, clock);
    const unit = client.unit([insert(1)]);
    unit.catch(() => {});
    const closed = client.close();
    let over = false;
    void closed.then(() => {
      over = true;
    });
    for (let n = 0; n < 4 && !over; n++) {
      clock.advance(700);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(over).toBe(true);
    await expect(unit).rejects.toThrow("closed");
  });

  it(
    "settles every unit exactly once in any order of units, answers, death and close [WRITE-2]",
    async () => {
      const step = fc.constantFrom("unit", "answer", "refuse", "tick", "exit", "close");
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          const clock = manualClock();
          const { thread, sent, answer, exit } = fakeThread();
          const client = createWorkerClient(thread, clock);
          const settled: number[] = [];
          let asked = 0;
          let at = 0;
          const reply = (ok: boolean) => {
            for (; at < sent.length; at++) {
              const message = sent[at]!;
              const ids = message.kind === "units" ? message.units.map(({ id }) => id) : [message.id];
              answer(
                ids.map((id) => (ok ? { id, ok: true, value: null } : { id, ok: false, message: "no" })),
              );
            }
          };
          for (const what of steps) {
            if (what === "unit") {
              const n = asked++;
              const count = () => settled.push(n);
              client.unit([insert(n)]).then(count, count);
            } else if (what === "answer" || what === "refuse") reply(what === "answer");
            else if (what === "tick") clock.advance(1);
            else if (what === "exit") exit(1);
            else void client.close();
            if (what === "tick") await Promise.resolve();
          }
          void client.close();
          for (let n = 0; n < 3; n++) {
            clock.advance(700);
            await new Promise((resolve) => setImmediate(resolve));
          }
          expect(settled.sort((a, b) => a - b)).toEqual(Array.from({ length: asked }, (_, n) => n));
        }),
        { numRuns: RUNS, seed: SEED },
      );
    },
    RUNS_TIMEOUT,
  );
});
