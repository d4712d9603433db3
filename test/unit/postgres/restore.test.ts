import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import {
  copyBetween,
  openStore,
  restoreFrom,
  type Store,
  snapshotTo,
} from "../../../packages/gateway/src/store/index.ts";
import { openPostgresSide } from "../../../packages/gateway/src/store/postgres/index.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";

type Place = Awaited<ReturnType<typeof postgresStore>>;

describe.skipIf(withoutPostgres())("a backup of Postgres", () => {
  let folder: string;
  let from: Place;
  let to: Place;
  const file = () => join(folder, "snapshot.db");
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "agent-gateway-restore-"));
    from = await postgresStore();
    await using(from, (store) => begin(store, "one"));
    await snapshotTo(file(), from, systemClock, () => {});
  });
  beforeEach(async () => {
    to = await postgresStore();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function using<T>(place: Place, work: (store: Store) => Promise<T>): Promise<T> {
    const store = await openStore(place, systemClock);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }
  const begin = (store: Store, uuid: string) =>
    store.commit(
      store.sessions.add({ uuid, agentId: "a", chatId: "api-one", name: "One", unnamed: false, now: 1 }),
    );
  const sessionsOf = (place: Place) =>
    using(place, async (store) => (await store.sessions.list("a", "api-one")).map(({ uuid }) => uuid).sort());
  const restore = (place: Place, replace = false, snapshot = file()) =>
    restoreFrom(snapshot, place, systemClock, replace, () => {});
  const schemas = async () => {
    const client = new pg.Client(to.url);
    await client.connect();
    const { rows } = await client.query(
      `SELECT nspname AS name FROM pg_namespace WHERE nspname LIKE '${to.schema}%' ORDER BY 1`,
    );
    await client.end();
    return rows.map(({ name }) => name as string);
  };

  it("is of one moment, whatever is written while it is read [STORE-BACKUP-2]", async () => {
    await using(from, async (store) => {
      const side = await openPostgresSide(from, systemClock, "snapshot");
      await begin(store, "after");
      expect(await side.all("SELECT uuid FROM sessions")).toEqual([{ uuid: "one" }]);
      await side.close();
    });
  });

  it("no gateway starts on a restored store before the restore has ended [STORE-BACKUP-3]", async () => {
    const restored = await restore(to);
    await expect(openStore(to, systemClock)).rejects.toMatchObject({
      exitCode: 78,
      message: expect.stringContaining("backup restore"),
    });
    await expect(copyBetween(to, await postgresStore(), systemClock, () => {})).rejects.toThrow(
      "holds only part of a copy",
    );
    await restored.finish();
    await restored.close();
    expect(await sessionsOf(to)).toEqual(["one"]);
    expect(await schemas()).toEqual([to.schema]);
  });

  it("a restore that fails, at whatever moment, leaves the store as it was [STORE-BACKUP-3]", async () => {
    await using(to, (store) => begin(store, "there"));
    await expect(restore(to)).rejects.toThrow("is not empty; use --force");
    const restored = await restore(to, true);
    expect(await schemas()).toHaveLength(2);
    await restored.undo();
    await restored.close();
    expect(await schemas()).toEqual([to.schema]);
    const damaged = join(folder, "damaged.db");
    await copyFile(file(), damaged);
    const db = new DatabaseSync(damaged);
    db.exec("ALTER TABLE usage_days RENAME COLUMN turns TO rounds");
    db.close();
    await expect(restore(to, true, damaged)).rejects.toThrow(
      "The target has no place for usage_days.rounds.",
    );
    const hostile = join(folder, "hostile.db");
    await copyFile(file(), hostile);
    const other = new DatabaseSync(hostile);
    other.exec("UPDATE chats SET last_activity = 'not a number'");
    other.close();
    await expect(restore(to, true, hostile)).rejects.toThrow("refused what it was told: invalid input");
    expect(await schemas()).toEqual([to.schema]);
    expect(await sessionsOf(to)).toEqual(["there"]);
  });

  it("a role that may not create schemas is told so, without a password [STORE-BACKUP-3]", async () => {
    const client = new pg.Client(to.url);
    await client.connect();
    const role = `role_${to.schema}`;
    await client.query(`CREATE ROLE ${role} LOGIN`);
    try {
      const url = to.url.replace("postgres@", `${role}:pass-word@`);
      const failure = await restore({ ...to, url }).catch((error: Error) => error.message);
      expect(failure).toMatch(
        /^Postgres \(.*\) does not let this role do that: permission denied for database/,
      );
      expect(failure).not.toContain("pass-word");
    } finally {
      await client.query(`DROP ROLE ${role}`);
      await client.end();
    }
  });

  it("keeps two restores, or copies, to one schema apart [STORE-BACKUP-3] [STORE-COPY-3]", async () => {
    const first = await restore(to);
    await expect(restore(to, true)).rejects.toThrow("under way");
    await first.finish();
    await first.close();
    const copied = await openPostgresSide(to, systemClock, "source");
    await expect(openStore(to, systemClock)).rejects.toMatchObject({
      exitCode: 69,
      message: expect.stringContaining("is being copied, restored or changed"),
    });
    await copied.close();
    const copies = await Promise.allSettled(
      [from, to].map(async (source) =>
        copyBetween(source, { ...to, schema: `${to.schema}_two` }, systemClock, () => {}),
      ),
    );
    const failed = copies.flatMap((copy) => (copy.status === "rejected" ? [String(copy.reason)] : []));
    expect(failed).toEqual([expect.stringContaining("is under way; wait for its end")]);
  });

  it("takes up what a killed restore left behind [STORE-BACKUP-3]", async () => {
    const killed = await openPostgresSide({ ...to, schema: `${to.schema}_restoring` }, systemClock, "fresh");
    await killed.write([
      { sql: "INSERT INTO chats (agent_id, chat_id, last_activity) VALUES ('x', 'y', 1)", params: [] },
    ]);
    await killed.close();
    const restored = await restore(to);
    await restored.finish();
    await restored.close();
    expect(await schemas()).toEqual([to.schema]);
    expect(await sessionsOf(to)).toEqual(["one"]);
  });
});
