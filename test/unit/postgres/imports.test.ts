import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { createImports } from "../../../packages/gateway/src/history/import.ts";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { openStore } from "../../../packages/gateway/src/store/index.ts";
import { createImports as createPostgresImports } from "../../../packages/gateway/src/store/postgres/imports/index.ts";
import { createPool } from "../../../packages/gateway/src/store/postgres/pool.ts";
import { away } from "../../../packages/gateway/src/store/postgres/problems.ts";
import { pathOf } from "../../../packages/gateway/src/store/postgres/settings.ts";
import { createWork } from "../../../packages/gateway/src/store/postgres/work.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";
import { until } from "../../harness.ts";

const LINES = 4_000;
const SENDER = { signal: new AbortController().signal };

const body = () =>
  Readable.from(
    Array.from({ length: LINES }, (_, n) =>
      Buffer.from(
        `${JSON.stringify({ chatId: "api-me", sessionId: "s", role: "user", content: `message ${n}`, ts: n })}\n`,
      ),
    ),
  );

/** Two gateways with homes of their own on one schema; the first owns the agent `a`. */
async function rig() {
  const place = await postgresStore();
  const client = new pg.Client({ connectionString: place.url });
  await client.connect();
  const gateway = async (home: string) => {
    const store = await openStore(place, systemClock);
    const spoolDir = mkdtempSync(join(tmpdir(), "imports-"));
    onTestFinished(async () => {
      await store.close();
      rmSync(spoolDir, { recursive: true });
    });
    const take = async (seen?: { bootId: string; fence: number }) => {
      const { directory, ownedBy } = store.shared!;
      const fence = (await directory.take("a", { bootId: home, workspace: "w" }, seen))!;
      const claim = {
        agentId: "a",
        bootId: home,
        fence,
        holds: () => true,
        reaches: () => true,
        refused() {},
      };
      ownedBy(() => claim);
    };
    store.shared!.ownedBy(() => undefined);
    const imports = createImports({ store, log: silentLogger, spoolDir, home, takeSpace() {} });
    return { store, take, imports };
  };
  const [first, second] = [await gateway("first"), await gateway("second")];
  onTestFinished(() => client.end());
  await client.query(`SET search_path = "${place.schema}"`);
  await first.take();
  const count = async (what: string) =>
    Number((await client.query(`SELECT count(*) AS n FROM ${what}`)).rows[0].n);
  return { first, second, count, client, place };
}

describe.skipIf(withoutPostgres())("an import, where another gateway uses the same store", () => {
  it("goes on while that one starts [IMPORT-SHARED-1]", async () => {
    const { first, second, count } = await rig();
    const answer = first.imports.run("a", body(), SENDER);
    await until(async () => (await count("messages")) > 0, "a part of the import");
    await second.imports.resume();
    expect(await count("meta WHERE key LIKE 'import:%'")).toBe(1);
    expect(await answer).toEqual({ imported: LINES, skipped: 0, sessions: 1 });
    const chats = await first.store.history.chats("a");
    expect(chats).toMatchObject([{ chatId: "api-me", messageCount: LINES }]);
  });

  it("is refused and removed when that one takes the agent [IMPORT-SHARED-2]", async () => {
    const { first, second, count } = await rig();
    const answer = first.imports.run("a", body(), SENDER).catch((error: unknown) => error);
    await until(async () => (await count("messages")) > 0, "a part of the import");
    await second.take({ bootId: "first", fence: 1 });
    await second.imports.dropOthers("a");
    expect(await answer).toMatchObject({ code: "UNAVAILABLE" });
    await until(async () => (await count("meta WHERE key LIKE 'import:%'")) === 0, "its removal");
    expect(await count("messages")).toBe(0);
    expect(await count("sessions")).toBe(0);
  });
});

describe.skipIf(withoutPostgres())("an import on Postgres", () => {
  it("goes on although the connections of its look-ups break [IMPORT-AWAY-1]", async () => {
    const { first, place } = await rig();
    const pool = createPool(place, systemClock, () => {});
    onTestFinished(() => pool.close());
    const work = createWork(pool, pathOf(place.schema, "public"));
    const name = "lookups.ndjson";
    const folder = mkdtempSync(join(tmpdir(), "imports-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, name);
    writeFileSync(file, Buffer.concat(await body().toArray()));
    const asked = new Map<string, number>();
    const imports = createPostgresImports(
      {
        ...work,
        async read(text, params) {
          // Each look-up fails once.
          const times = (asked.get(text) ?? 0) + 1;
          asked.set(text, times);
          if (times === 1) throw away();
          return work.read(text, params);
        },
      },
      { ...systemClock, after: (_ms, task) => systemClock.after(0, task) },
      place.files,
      { range: async () => 1_000_000, asOwner: () => (write) => write([]) },
      new AbortController().signal,
    );
    const state = { name, agentId: "a", offset: 0, line: 0, imported: 0, skipped: 0, sessions: 0 };
    expect(await imports.store(file, state, LINES)).toEqual({ imported: LINES, skipped: 0, sessions: 1 });
    expect(asked.size).toBeGreaterThan(4);
    expect(await first.store.history.chats("a")).toMatchObject([{ messageCount: LINES }]);
  });

  it.each(["BEFORE INSERT ON messages", "BEFORE UPDATE OF agent_id ON chats"])(
    "that failed, and could not be removed, is not finished by the next start but removed (%s) [IMPORT-FAILED-1]",
    async (when) => {
      const { first, count, client } = await rig();
      await client.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'no'; END $$;
        CREATE TRIGGER refuse ${when} FOR EACH ROW EXECUTE FUNCTION refuse();
        CREATE TRIGGER keep BEFORE DELETE ON chats FOR EACH ROW EXECUTE FUNCTION refuse()`);
      await expect(first.imports.run("a", body(), SENDER)).rejects.toThrow();
      expect(await count("chats")).toBe(1);
      await client.query("DROP FUNCTION refuse CASCADE");
      await first.imports.resume();
      expect([await count("chats"), await count("sessions"), await count("messages")]).toEqual([0, 0, 0]);
      expect(await count("meta WHERE key LIKE 'import:%'")).toBe(0);
    },
  );
});
