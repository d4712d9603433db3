import { existsSync } from "node:fs";
import { mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RetentionAgent } from "../../../packages/gateway/src/history/index.ts";
import { sweepMedia } from "../../../packages/gateway/src/history/media-sweep.ts";
import { createRetention } from "../../../packages/gateway/src/history/retention.ts";
import { isDue, nextHour } from "../../../packages/gateway/src/history/retention-time.ts";
import { createJobs } from "../../../packages/gateway/src/jobs/index.ts";
import type { Clock } from "../../../packages/gateway/src/lib/clock.ts";
import { type LocalHour, localHour } from "../../../packages/gateway/src/lib/local-time.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import type { MediaReferences } from "../../../packages/gateway/src/store/index.ts";
import { kinds, newId, type Store } from "./store.ts";

const DAY = 86_400_000;
/** No place changes its clocks by less. */
const STEP_MS = 1_800_000;
const at = (iso: string) => Date.parse(iso);

describe("the hour of a clean-up", () => {
  it("is one of the agent's time zone", () => {
    expect(localHour(at("2026-01-01T20:30:00Z"), "Asia/Bangkok")).toEqual({ day: "2026-01-02", hour: 3 });
    expect(localHour(at("2026-01-01T00:00:00Z"), "UTC")).toEqual({ day: "2026-01-01", hour: 0 });
    expect(localHour(at("2026-07-01T01:30:00Z"), "Europe/Berlin")).toEqual({ day: "2026-07-01", hour: 3 });
  });

  it("comes exactly once on every day of a year, also where summer time skips or repeats it", () => {
    for (const zone of ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]) {
      // Working out the local time takes nearly all of the time, so it is done once for all hours.
      const year: LocalHour[] = [];
      for (let now = at("2026-01-01T00:00:00Z"); now < at("2027-01-01T00:00:00Z"); now += STEP_MS) {
        year.push(localHour(now, zone));
      }
      for (const hour of [0, 1, 2, 3, 23]) {
        const days = new Map<string, number>();
        let previous: LocalHour | undefined;
        let last = "";
        for (const current of year) {
          if (isDue(previous, current, hour) && last !== current.day) {
            last = current.day;
            days.set(current.day, (days.get(current.day) ?? 0) + 1);
          }
          previous = current;
        }
        expect(days.size).toBeGreaterThanOrEqual(364);
        expect(Math.max(...days.values())).toBe(1);
      }
    }
  });

  it("is planned once for every day of a year, also where summer time skips or repeats it [HIST-10]", () => {
    for (const zone of [
      "UTC",
      "Europe/Berlin",
      "America/New_York",
      "Asia/Kathmandu",
      "Australia/Lord_Howe",
    ]) {
      for (const hour of [0, 1, 2, 23]) {
        const days: string[] = [];
        for (let now = at("2026-01-01T00:00:00Z"); now < at("2027-01-01T00:00:00Z"); ) {
          const next = nextHour(now, hour, zone);
          expect(next).toBeGreaterThan(now);
          const before = localHour(next - 1, zone);
          expect(isDue(before, localHour(next, zone), hour) && before.hour !== hour).toBe(true);
          days.push(localHour(next, zone).day);
          // A clean-up may take any part of its hour.
          now = next + (days.length % 4) * 899_000;
        }
        expect(days.length).toBeGreaterThanOrEqual(364);
        expect(new Set(days).size).toBe(days.length);
      }
    }
  });

  it("is not made up for by a gateway that was not running", () => {
    expect(isDue(undefined, { day: "2026-01-01", hour: 4 }, 3)).toBe(false);
    expect(isDue(undefined, { day: "2026-01-01", hour: 3 }, 3)).toBe(true);
    expect(isDue({ day: "2026-01-01", hour: 1 }, { day: "2026-01-01", hour: 5 }, 3)).toBe(true);
    expect(isDue({ day: "2026-01-01", hour: 22 }, { day: "2026-01-02", hour: 5 }, 3)).toBe(false);
  });
});

describe.each(kinds)("retention in $kind", ({ open }) => {
  let store: Store;
  let now: number;
  let agents: RetentionAgent[];
  const clock: Clock = {
    now: () => now,
    elapsed: () => now,
    after: () => () => {},
    every: () => () => {},
  };
  const kept = (id: string, retentionDays: number | null, cleanupHour = 3, cleanupTimezone = "UTC") => ({
    id,
    history: { retentionDays, cleanupHour, cleanupTimezone },
  });
  /** A gateway's clean-ups; `tick` resolves when those that are due are done. */
  const retention = () => {
    const name = "history.retention";
    const jobs = createJobs({
      store: store.rows,
      clock,
      log: silentLogger,
      counters: { began: () => {}, ended: () => {} },
      kinds: [
        {
          name,
          scope: "agent",
          runs: "atLeastOnce",
          limitMs: DAY,
          concurrency: 1,
          backOff: { firstMs: 1_000, mostMs: 1_000 },
          ...createRetention({
            store: store.rows,
            clock,
            log: silentLogger,
            agents: () => agents,
            mediaDir: (id) => join(store.mediaDir, id),
          }),
        },
      ],
      agents: () => agents.map(({ id }) => id),
      holder: "me",
      random: () => 1,
      node: "local",
      alone: true,
    });
    const started = jobs.start();
    const due = async () => {
      const rows = await store.rows.jobs.ofKinds([name]);
      return rows.some(({ state, nextAt }) => state === "running" || nextAt <= now);
    };
    return {
      async tick() {
        await started;
        await jobs.reconfigure();
        await expect.poll(due, { timeout: 20_000 }).toBe(false);
      },
    };
  };
  const count = async (agentId: string) =>
    (
      await store.read<{ n: number }>(
        "SELECT count(*) AS n FROM messages m JOIN sessions s ON s.id = m.session WHERE s.agent_id = ?",
        [agentId],
      )
    )[0]!.n;
  const counts = async () => [await count("a"), await count("b"), await count("c")];

  beforeEach(async () => {
    store = await open();
    now = at("2026-06-01T02:59:00Z");
    for (const agent of ["a", "b", "c"]) {
      const old = newId();
      const mixed = newId();
      await store.add(agent, "api-x", [
        ...Array.from({ length: 400 }, (_, i) => ({
          session: old,
          content: `old ${i}`,
          ts: now - 20 * DAY + i,
        })),
        { session: mixed, content: "old too", ts: now - 11 * DAY },
        { session: mixed, content: "recent", ts: now - DAY },
      ]);
    }
    await store.indexed();
  });
  afterEach(() => store.close());

  it("deletes older messages of the agents that have retentionDays, at cleanupHour and once a day", async () => {
    agents = [kept("a", 10), kept("b", null), kept("c", 10, 5)];
    const daily = retention();
    await daily.tick();
    expect(await counts()).toEqual([402, 402, 402]);
    now = at("2026-06-01T03:00:10Z");
    await daily.tick();
    expect(await counts()).toEqual([1, 402, 402]);
    await store.add("a", "api-x", [{ session: newId(), content: "old again", ts: now - 30 * DAY }]);
    now += 60_000;
    await daily.tick();
    // Not twice a day with the same settings, also over a restart; other settings make the hour count anew.
    expect(await count("a")).toBe(2);
    agents = [kept("a", 11), kept("b", null), kept("c", 10, 5)];
    await daily.tick();
    expect(await count("a")).toBe(1);
    await store.add("a", "api-x", [{ session: newId(), content: "old once more", ts: now - 30 * DAY }]);
    await retention().tick();
    expect(await count("a")).toBe(2);
    now = at("2026-06-02T03:00:00Z");
    await daily.tick();
    expect(await count("a")).toBe(1);
  });

  it("leaves empty sessions, corrects counters, and search finds nothing of what is gone", async () => {
    agents = [kept("a", 10)];
    now = at("2026-06-01T03:30:00Z");
    await retention().tick();
    const sessions = await store.history.sessions("a");
    expect(sessions.map((s) => [s.messageCount, s.lastMessage]).sort()).toEqual([
      [0, null],
      [1, "recent"],
    ]);
    expect((await store.history.chats("a"))[0]?.messageCount).toBe(1);
    for (const q of ["old", "ol", "o"]) {
      expect(
        (await store.history.search({ agentId: "a", chatId: "api-x", q, limit: 1, offset: 0 })).total,
      ).toBe(0);
      expect(
        (await store.history.search({ agentId: "b", chatId: "api-x", q, limit: 1, offset: 0 })).total,
      ).toBe(401);
    }
  });

  it("deletes media that no message refers to once they are a day old, and nothing else [HIST-10]", async () => {
    const root = join(store.mediaDir, "a");
    const outside = join(store.home, "outside");
    await mkdir(join(root, "sub"), { recursive: true });
    await mkdir(outside);
    const day = (now - 2 * DAY) / 1000;
    const make = async (file: string, old = true) => {
      await writeFile(file, "x");
      if (old) await utimes(file, day, day);
    };
    for (const name of ["used.png", "unused.png", "sub/unused.png", "config.png", "expired.png"])
      await make(join(root, name));
    await make(join(root, "fresh.png"), false);
    await make(join(outside, "file.png"));
    await symlink(outside, join(root, "link"));
    await symlink(join(outside, "file.png"), join(root, "file-link.png"));
    const refer = (path: string, where: string) => ({
      sql: `INSERT INTO message_media (message, agent_id, path)
            SELECT m.id, 'a', ? FROM messages m JOIN sessions s ON s.id = m.session WHERE s.agent_id = 'a' AND content = ?`,
      params: [path, where],
    });
    await store.write(refer("used.png", "recent"), refer("expired.png", "old 3"), {
      sql: "UPDATE sessions SET image_config = ? WHERE agent_id = 'a'",
      params: [JSON.stringify({ image_ref: "config.png" })],
    });
    agents = [kept("a", 10)];
    now = Date.now() + 2 * DAY;
    now = now - (now % DAY) + 3 * 3_600_000;
    // Within the day after it was uploaded.
    await utimes(join(root, "fresh.png"), now / 1000, now / 1000);
    await store.write({ sql: "UPDATE messages SET ts = ? WHERE content = 'recent'", params: [now] });
    await retention().tick();
    const there = [
      "used.png",
      "unused.png",
      "sub/unused.png",
      "config.png",
      "expired.png",
      "fresh.png",
      "link",
      "file-link.png",
    ].filter((name) => existsSync(join(root, name)));
    expect(there).toEqual(["used.png", "config.png", "fresh.png", "link", "file-link.png"]);
    expect(existsSync(join(outside, "file.png"))).toBe(true);
  });

  it("keeps a file that the settings of a session begin to name while the clean-up runs [HIST-14]", async () => {
    const root = join(store.mediaDir, "a");
    await mkdir(root, { recursive: true });
    const old = (now - 2 * DAY) / 1000;
    const names = ["a.png", 'la"te.png', "l_te.png", "l%te.png"];
    for (const name of names) {
      await writeFile(join(root, name), "x");
      await utimes(join(root, name), old, old);
    }
    const { media } = store.rows;
    let asked = 0;
    const references: MediaReferences = {
      async isNamed(agentId: string, path: string) {
        asked++;
        if (asked === 1)
          await store.write({
            sql: "UPDATE sessions SET video_config = ? WHERE agent_id = 'a'",
            params: [JSON.stringify({ image_refs: ['la"te.png', "lxte.png", "a.png"] })],
          });
        return media.isNamed(agentId, path);
      },
    };
    const removed = await sweepMedia(
      references,
      "a",
      root,
      Date.now() + 2 * DAY,
      new AbortController().signal,
    );
    // A name is no pattern.
    expect(removed).toBe(2);
    expect(names.filter((name) => existsSync(join(root, name)))).toEqual(["a.png", 'la"te.png']);
  });

  it("prunes finished turns older than a week", async () => {
    const turn = (id: string, state: string, days: number) => ({
      sql: "INSERT INTO turns (request_id, session, kind, state, started_at) VALUES (?, 1, 'message', ?, ?)",
      params: [id, state, now - days * DAY],
    });
    await store.write(
      turn("1", "done", 9),
      turn("2", "running", 9),
      turn("3", "failed", 8),
      turn("4", "done", 6),
    );
    agents = [kept("a", null)];
    now = at("2026-06-01T03:00:00Z");
    await retention().tick();
    expect(await store.read("SELECT request_id AS id FROM turns ORDER BY id")).toEqual([
      { id: "2" },
      { id: "4" },
    ]);
  });
});
