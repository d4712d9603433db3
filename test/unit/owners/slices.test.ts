import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { createJobs, type JobKind } from "../../../packages/gateway/src/jobs/index.ts";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { createShares } from "../../../packages/gateway/src/shares/index.ts";
import { FencedError, openStore, type Store } from "../../../packages/gateway/src/store/index.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";
import { until } from "../../harness.ts";

const NEVER = new AbortController().signal;

/** Two gateways on one schema, the first of which owns the agent `a`, and a connection of the test's own. */
async function rig() {
  const place = await postgresStore();
  const [one, two] = [await openStore(place, systemClock), await openStore(place, systemClock)];
  const [client, other] = [new pg.Client(place.url), new pg.Client(place.url)];
  for (const each of [client, other]) {
    await each.connect();
    await each.query(`SET search_path = "${place.schema}"`);
  }
  const folder = await mkdtemp(join(tmpdir(), "slices-"));
  onTestFinished(async () => {
    await client.end();
    await other.end();
    await one.close();
    await two.close();
    await rm(folder, { recursive: true, force: true });
  });
  const refused: string[] = [];
  const take = async (store: Store, bootId: string, seen?: { bootId: string; fence: number }) => {
    const { directory, ownedBy } = store.shared!;
    const fence = (await directory.take("a", { bootId, workspace: "w" }, seen))!;
    const claim = {
      ...{ agentId: "a", bootId, fence, holds: () => true, reaches: () => true },
      refused: () => void refused.push(bootId),
    };
    ownedBy((agentId) => (agentId === "a" ? claim : undefined));
  };
  await take(one, "one");
  /** The second gateway takes the agent; the first one does not know. */
  const taken = () => take(two, "two", { bootId: "one", fence: 1 });
  const waiting = async (text: string) => {
    await client.query("SELECT pg_stat_clear_snapshot()");
    const found = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1";
    return (await client.query(found, [`%${text}%`])).rowCount;
  };
  return {
    one,
    two,
    client,
    folder,
    count: async (what: string) => Number((await client.query(`SELECT count(*) FROM ${what}`)).rows[0].count),
    taken,
    lost: () => refused.length > 0,
    /** What `work` comes to when the agent is taken between its first slice and its second. */
    async takenBetween(table: string, work: () => Promise<unknown>) {
      await client.query("BEGIN");
      await client.query(`LOCK TABLE ${table} IN SHARE MODE`);
      const done = work().catch((error: Error) => error);
      await until(() => waiting(table), "the first slice to wait, with its fence");
      await other.query("BEGIN");
      // Comes after the first slice; the next one then cannot read what it is to do.
      const locked = other.query("LOCK TABLE messages IN ACCESS EXCLUSIVE MODE");
      await until(() => waiting("ACCESS EXCLUSIVE"), "the lock to wait");
      const taking = taken();
      await until(() => waiting("FOR UPDATE"), "the taking to wait");
      await client.query("COMMIT");
      await Promise.all([taking, locked]);
      await other.query("COMMIT");
      return done;
    },
  };
}

describe.skipIf(withoutPostgres())("what is written in slices, or beside the turns", () => {
  it("is not removed by the last owner of an agent once another gateway has taken it [FENCE-1]", async () => {
    const { one, two, client, count, takenBetween } = await rig();
    await client.query(`
      INSERT INTO chats (id, agent_id, chat_id, last_activity) VALUES (1, 'a', 'c', 1);
      INSERT INTO sessions (id, uuid, chat, agent_id, name, created_at, last_activity)
        VALUES (1, 's', 1, 'a', 's', 1, 1);
      INSERT INTO messages (id, chat, session, role, content, ts)
        SELECT n, 1, 1, 0, 'm', n FROM generate_series(1, 1200) n;
      INSERT INTO turns (request_id, session, kind, state, started_at) VALUES ('t', 1, 'message', 'done', 1)`);
    expect(await one.removal.olderThan("a", 101, NEVER)).toBe(100);
    const emptied = await takenBetween("messages", () => one.removal.emptySession("a", 1));
    expect(emptied).toBeInstanceOf(FencedError);
    const left = await count("messages");
    expect(left).toBe(600);
    await expect(one.removal.olderThan("a", 5000, NEVER)).rejects.toThrow(FencedError);
    await expect(one.removal.turnsBefore("a", 5000, NEVER)).rejects.toThrow(FencedError);
    expect([await count("messages"), await count("turns")]).toEqual([left, 1]);
    await two.removal.emptySession("a", 1);
    await two.removal.turnsBefore("b", 5000, NEVER);
    expect([await count("messages"), await count("turns")]).toEqual([0, 1]);
    await two.removal.turnsBefore("a", 5000, NEVER);
    expect(await count("turns")).toBe(0);
  });

  it("is neither shared, planned nor removed by the last owner [FENCE-1]", async () => {
    const { one, client, count, taken, folder, lost } = await rig();
    await writeFile(join(folder, "file"), "text");
    const shares = createShares({
      store: one,
      paths: { mediaDir: () => join(folder, "media") },
      config: { current: { gateway: {}, agents: [{ id: "a", workspace: folder }] } } as never,
      clock: systemClock,
      log: silentLogger,
      keepImage: async () => "",
      keepFile: async () => undefined as never,
    });
    const kind = (name: string, scope: JobKind["scope"]): JobKind => ({
      ...{ name, scope, runs: "atLeastOnce", limitMs: 1, concurrency: 1 },
      backOff: { firstMs: 1, mostMs: 1 },
      standing: () => [{ key: "k", ...(scope === "agent" && { owner: "a" }) }],
      next: (_, now) => now + 3_600_000,
      run: async () => {},
    });
    const jobs = createJobs({
      store: one,
      clock: systemClock,
      log: silentLogger,
      counters: { began() {}, ended() {} },
      kinds: [kind("of.agent", "agent"), kind("of.store", "store")],
      agents: () => (lost() ? [] : ["a"]),
      holder: "one",
      node: "local",
      alone: false,
      random: () => 0.5,
    });
    onTestFinished(() => jobs.close());
    const scope = { agentId: "a", sessionId: "s", sessionDir: folder };
    const mint = () => shares.mint(scope, [{ path: join(folder, "file") }]);
    const [share] = await mint();
    await taken();
    await expect(mint()).rejects.toThrow(FencedError);
    await expect(shares.revoke("a", share!.share_id)).rejects.toThrow(FencedError);
    expect(await count("shares")).toBe(1);
    await jobs.start();
    expect((await client.query("SELECT kind FROM jobs")).rows).toEqual([{ kind: "of.store" }]);
    await client.query(`INSERT INTO jobs (kind, key, owner, state, planned_at, next_at)
      VALUES ('of.agent', 'k', 'a', 'waiting', 9000000000000, 9000000000000)`);
    // Planned in the future, as when the clock was set back.
    await jobs.reconfigure();
    await expect(jobs.removeAgent("a")).rejects.toThrow(FencedError);
    expect(await count("jobs WHERE next_at = 9000000000000")).toBe(1);
  });
});
