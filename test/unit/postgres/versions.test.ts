import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { openStore } from "../../../packages/gateway/src/store/index.ts";
import { openLink } from "../../../packages/gateway/src/store/postgres/link.ts";
import { MIGRATIONS } from "../../../packages/gateway/src/store/postgres/migrations.ts";
import { migrate, schemaOf } from "../../../packages/gateway/src/store/postgres/schema.ts";
import { runCli } from "../../fixtures/cli.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";

type Place = Awaited<ReturnType<typeof postgresStore>>;
const LATEST = MIGRATIONS.length;

describe.skipIf(withoutPostgres())("the schema of a store on Postgres", () => {
  let home: string;
  let place: Place;
  let client: pg.Client;
  let observer: pg.Client;
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), "agent-gateway-versions-"));
    place = await postgresStore();
    client = new pg.Client(place.url);
    observer = new pg.Client(place.url);
    await Promise.all([client.connect(), observer.connect()]);
  });
  afterEach(async () => {
    await Promise.all([client.end(), observer.end()]);
    await rm(home, { recursive: true, force: true });
  });

  const open = () => openStore(place, systemClock, "1.2.3");
  const opened = async () => (await open()).close();
  const query = async (text: string) => (await client.query(text)).rows;
  /** What the schema consists of. */
  const shape = () =>
    query(
      `SELECT c.relkind::text AS kind, c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = '${place.schema}' AND c.relkind IN ('r', 'i') ORDER BY 1, 2`,
    );
  async function migrated(steps: readonly string[], at = place): Promise<void> {
    const link = await openLink(at, systemClock);
    try {
      await migrate(link, at, "public", systemClock, undefined, steps);
    } finally {
      link.close();
    }
  }

  it("is shown, taken back with the loss named, left to newer gateways, and never under one that runs [STORE-PG-1]", async () => {
    const config = JSON.stringify({ gateway: { store: place } });
    await writeFile(join(home, "config.json"), config);
    const store = (...args: string[]) => runCli(["store", ...args], { env: { GATEWAY_HOME: home } });
    expect(await store("version")).toMatchObject({
      code: 1,
      stderr: `There is no store in the schema ${place.schema} yet.\n`,
    });
    const running = await open();
    await running.commit(
      running.sessions.add({ uuid: "s", agentId: "a", chatId: "api-one", name: "S", unnamed: false, now: 1 }),
    );
    const beat = () =>
      running.shared!.directory.beat({ bootId: "b", name: "n", address: "x", home: "h", leaseMs: 15_000 });
    await beat();
    const beats = systemClock.every(200, () => void beat());
    expect(await store("downgrade", "--to", "1", "--discard")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("A gateway is running on the schema"),
    });
    beats();
    await running.shared!.directory.leave("b");
    await running.shared!.directory.take("a", { bootId: "b", workspace: "w" } as never, undefined);
    await running.close();

    expect(JSON.parse((await store("version", "--json")).stdout)).toEqual({ version: LATEST, oldest: 1 });
    expect((await store("contract")).code).toBe(0);
    expect(JSON.parse((await store("version", "--json")).stdout)).toEqual({
      version: LATEST,
      oldest: LATEST,
    });
    const full = await shape();
    const asked = await store("downgrade", "--to", "1");
    expect([asked.code, asked.stderr]).toEqual([
      1,
      "Schema 1 has no place for placements (1 row). Nothing was changed; use --discard to give that up.\n",
    ]);
    expect(await shape()).toEqual(full);
    const done = await store("downgrade", "--to", "1", "--discard", "--json");
    expect([done.stderr, JSON.parse(done.stdout)]).toEqual([
      "",
      { version: 1, discarded: [{ table: "placements", rows: 1 }] },
    ]);
    const taken = await shape();
    expect(taken.length).toBeLessThan(full.length);
    expect(JSON.parse((await store("version", "--json")).stdout)).toEqual({ version: 1, oldest: 1 });
    await opened();
    expect(await shape()).toEqual(full);
  });

  it("is made once by gateways that start at the same time [STORE-PG-2]", async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, open));
    await Promise.all(stores.map((store) => store.close()));
    expect(await query(`SELECT value FROM ${place.schema}.meta WHERE key = 'version'`)).toEqual([
      { value: String(LATEST) },
    ]);
  });

  const STEPS = [
    "CREATE TABLE things (id BIGINT PRIMARY KEY, name TEXT NOT NULL)",
    "CREATE INDEX CONCURRENTLY things_name ON {schema}.things USING gin (name {extension}.gin_trgm_ops)",
    "CREATE TABLE others (id BIGINT PRIMARY KEY); CREATE INDEX others_id ON others (id)",
  ];
  const validIndexes = () =>
    query(
      `SELECT c.relname AS name, i.indisvalid AS valid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
       JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = '${place.schema}' AND c.relname IN ('things_name', 'others_id') ORDER BY 1`,
    );

  it("an index that a cut build left invalid is built anew, by one of two gateways, while units go on [STORE-PG-2]", async () => {
    await query("CREATE EXTENSION IF NOT EXISTS pg_trgm");
    await migrated(STEPS.slice(0, 1));
    await query(
      `INSERT INTO ${place.schema}.things SELECT n, 'thing ' || n FROM generate_series(1, 2000) AS n`,
    );
    // A unit that has not ended holds the build up.
    await query("BEGIN");
    await query(`INSERT INTO ${place.schema}.things VALUES (0, 'open')`);
    const first = migrated(STEPS);
    const cutOff = expect(first).rejects.toThrow();
    const builder = async () =>
      (
        await observer.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE query LIKE 'CREATE INDEX CONCURRENTLY%"${place.schema}"%' AND wait_event_type = 'Lock'`,
        )
      ).rowCount;
    await expect.poll(builder, { timeout: 10_000 }).toBe(1);
    await cutOff;
    await query("COMMIT");
    expect(await validIndexes()).toEqual([{ name: "things_name", valid: false }]);
    await Promise.all([migrated(STEPS), migrated(STEPS)]);
    expect(await validIndexes()).toEqual([
      { name: "others_id", valid: true },
      { name: "things_name", valid: true },
    ]);
    const link = await openLink(place, systemClock);
    expect((await schemaOf(link, place.schema)).version).toBe(3);
    link.close();
  });

  it("a step that fails half-way leaves nothing of itself, and one that waits for a lock lets others by [STORE-PG-2]", async () => {
    await migrated(STEPS.slice(0, 1));
    const broken = [STEPS[0]!, "CREATE TABLE half (id BIGINT); SELECT 1 / 0"];
    await expect(migrated(broken)).rejects.toThrow("division by zero");
    expect((await shape()).map(({ name }) => name)).toEqual(["meta_pkey", "things_pkey", "meta", "things"]);
    await query("BEGIN");
    await query(`SELECT * FROM ${place.schema}.things`);
    const waiting = migrated([STEPS[0]!, "ALTER TABLE things ADD COLUMN more BIGINT"]);
    const asks = async () =>
      (
        await observer.query(
          "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'ALTER TABLE things%' AND wait_event_type = 'Lock'",
        )
      ).rowCount;
    await expect.poll(asks, { timeout: 10_000 }).toBe(1);
    // It gives up its place in the queue after two seconds, and comes again.
    await expect.poll(asks, { timeout: 10_000 }).toBe(0);
    await query("COMMIT");
    await waiting;
    const rows = await query(
      `SELECT column_name AS name FROM information_schema.columns
       WHERE table_schema = '${place.schema}' AND table_name = 'things' ORDER BY 1`,
    );
    expect(rows.map(({ name }) => name)).toEqual(["id", "more", "name"]);
  });
});
