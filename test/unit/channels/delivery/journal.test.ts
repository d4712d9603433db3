import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createJournal, readJournal } from "../../../../packages/gateway/src/channels/delivery/journal.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { journalPath } from "./harness.ts";

const row = (id: number, attempts = 1, sending_at: number | null = 1_000) => ({ id, attempts, sending_at });
const SENT = { status: "sent", messageId: "p" } as const;
const open = (path: string, { boot = "b" as string | undefined, clock = manualClock() } = {}) =>
  createJournal({ path, boot: async () => boot, now: () => clock.now() });

describe("what a journal says of an attempt", () => {
  const text = [
    "boot b since 1000",
    "begun 1 1",
    "begun 2 1",
    'answered 2 1 {"status":"sent","messageId":"p"}',
    "begun 3 1",
    'answered 3 1 {"status":"retry","reason":"r"}',
    "begun 3 1",
    "",
  ].join("\n");

  it("is the newest line about it, and without a line that it was not sent [CH-JOURNAL-1, CH-JOURNAL-3]", () => {
    const past = readJournal(text, "b");
    expect([1, 2, 3, 4].map((id) => past(row(id)))).toEqual(["unsure", SENT, "unsure", "unsent"]);
    expect(past(row(1, 2))).toBe("unsent");
  });

  it("is nothing after another boot, without one, and of rows older than the file [CH-JOURNAL-2]", () => {
    for (const past of [readJournal(text, "c"), readJournal(text, undefined), readJournal(undefined, "b")]) {
      expect([1, 2, 4].map((id) => past(row(id)))).toEqual(["unsure", "unsure", "unsure"]);
    }
    expect(readJournal(text, "b")(row(4, 1, 999))).toBe("unsure");
    expect(readJournal(text, "b")(row(4, 1, null))).toBe("unsure");
  });

  it("is nothing when a whole line cannot be read [CH-JOURNAL-2]", () => {
    const strange = [
      "begun 1",
      "begun 1 1 begun 2 1",
      'answered 1 1 {"status":',
      'answered 1 1 {"status":"?"}',
      "\0\0",
      "",
    ];
    for (const line of strange) {
      expect(readJournal(`${text}${line}\n`, "b")(row(9))).toBe("unsure");
    }
    expect(readJournal("", "b")(row(9))).toBe("unsure");
    expect(readJournal("boot b since 1000", "b")(row(9))).toBe("unsure");
  });

  it("is never that a begun attempt was not sent, wherever the file is cut off behind its line [CH-JOURNAL-1, CH-JOURNAL-2]", async () => {
    const path = journalPath();
    const journal = open(path);
    await journal.past();
    const step = fc.record({
      id: fc.integer({ min: 1, max: 30 }),
      attempts: fc.integer({ min: 1, max: 12 }),
      reason: fc.option(fc.string({ unit: "binary", maxLength: 30 })),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), fc.nat(), (steps, cut) => {
        // A file of its own.
        journal.close();
        rmSync(path, { force: true });
        journal.start();
        const ends: number[] = [];
        for (const { id, attempts, reason } of steps) {
          using flight = journal.flight(manualClock().now());
          flight.begun({ id, attempts });
          ends.push(statSync(path).size);
          if (reason !== null) flight.answered({ id, attempts }, { status: "failed", reason });
        }
        const whole = readFileSync(path);
        const length = cut % (whole.length + 1);
        const past = readJournal(whole.subarray(0, length).toString("utf8"), "b");
        for (const [index, { id, attempts }] of steps.entries()) {
          const found = past(row(id, attempts, Number.MAX_SAFE_INTEGER));
          if (ends[index]! <= length) expect(found).not.toBe("unsent");
        }
        const all = readJournal(whole.toString("utf8"), "b");
        const last = new Map(steps.map((one) => [`${one.id} ${one.attempts}`, one]));
        for (const { id, attempts, reason } of last.values()) {
          expect(all(row(id, attempts))).toEqual(reason === null ? "unsure" : { status: "failed", reason });
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe("a journal on disk", () => {
  it("is bounded, and begins anew without losing what is under way [CH-JOURNAL-4]", async () => {
    const clock = manualClock();
    const path = journalPath();
    const journal = open(path, { clock });
    await journal.past();
    journal.start();
    const began = clock.now();
    const long = journal.flight(began);
    const waiting = journal.flight(began);
    long.begun({ id: 1, attempts: 1 });
    const reason = "x".repeat(400);
    let largest = 0;
    for (let id = 10; id < 2_000; id++) {
      clock.advance(100);
      using flight = journal.flight(clock.now());
      flight.begun({ id, attempts: 1 });
      flight.answered({ id, attempts: 1 }, { status: "failed", reason });
      if (id === 300) {
        long[Symbol.dispose]();
        waiting[Symbol.dispose]();
      }
      const size = statSync(path).size;
      if (id > 1_000) largest = Math.max(largest, size);
      if (id % 20 === 0 && id < 300) {
        const past = readJournal(readFileSync(path, "utf8"), "b");
        expect(past(row(1, 1, began))).toBe("unsure");
        expect(past(row(2, 1, began))).toBe("unsent");
        expect(past(row(id, 1, clock.now()))).toMatchObject({ status: "failed" });
      }
    }
    expect(largest).toBeLessThan(80_000);
    journal.close();
  });

  it("lets nothing begin while it cannot be written, and is written anew when it can [CH-JOURNAL-5]", () => {
    const path = journalPath();
    // A file where the folder belongs.
    mkdirSync(dirname(dirname(path)), { recursive: true });
    writeFileSync(dirname(path), "");
    const journal = open(path);
    journal.start();
    const flight = journal.flight(manualClock().now());
    expect(() => flight.begun({ id: 1, attempts: 1 })).toThrow();
    rmSync(dirname(path));
    flight.begun({ id: 1, attempts: 2 });
    journal.close();
    expect(readFileSync(path, "utf8")).toMatch(/^boot \S+ since \d+\nbegun 1 2\n$/);
  });

  it("that is a link, a folder, or cut short says nothing [CH-JOURNAL-2]", async () => {
    const path = journalPath();
    const journal = open(path);
    await journal.past();
    journal.start();
    const now = manualClock().now();
    expect((await open(path).past())(row(1, 1, now))).toBe("unsent");
    truncateSync(path, 4);
    expect((await open(path).past())(row(1, 1, now))).toBe("unsure");
    rmSync(path);
    symlinkSync("/dev/zero", path);
    expect((await open(path).past())(row(1, 1, now))).toBe("unsure");
    rmSync(path);
    mkdirSync(path);
    expect((await open(path).past())(row(1, 1, now))).toBe("unsure");
    journal.close();
  });
});
