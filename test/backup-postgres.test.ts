import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCli } from "./fixtures/cli.ts";
import { postgresStore, withoutPostgres } from "./fixtures/postgres.ts";
import { type Gateway, startGateway, testConfig } from "./harness.ts";

const HISTORY = "/api/v1/agents/assistant/chats/api-me/messages";

interface Store {
  driver: "postgres";
  url: string;
  schema: string;
  ssl: "disable";
}
const ownStore = async (): Promise<Store> => {
  const { driver, url, schema, ssl } = await postgresStore();
  return { driver, url, schema, ssl };
};

let folder: string;
let store: Store;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agent-gateway-backup-postgres-"));
  store = await ownStore();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const homeAt = (name: string) => join(folder, name);
const archive = () => join(folder, "archive.tgz");
const backup = (home: string, ...args: string[]) =>
  runCli(["backup", ...args], { env: { GATEWAY_HOME: home } });
const restore = (home: string, ...args: string[]) => backup(home, "restore", archive(), "--json", ...args);

async function serving<T>(
  home: string,
  settings: Record<string, unknown>,
  work: (gateway: Gateway) => Promise<T>,
): Promise<T> {
  await mkdir(home, { recursive: true });
  const gateway = await startGateway({ home, config: testConfig({ gateway: settings }) });
  try {
    return await work(gateway);
  } finally {
    await gateway.stop();
  }
}
const seen = async (gateway: Gateway) => {
  const { body } = await gateway.json("GET", `${HISTORY}?limit=100&include=steps`);
  const found = await gateway.json("GET", `${HISTORY}/search?q=${encodeURIComponent("สวัสดี")}`);
  const usage = await gateway.json("GET", "/api/v1/usage?group=agent");
  return { messages: body.messages, total: found.body.total, usage: usage.body.total };
};
async function query(text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(store.url);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
const schemas = async () =>
  (
    await query(`SELECT nspname AS name FROM pg_namespace WHERE nspname LIKE '${store.schema}%' ORDER BY 1`)
  ).map(({ name }) => name);

describe.skipIf(withoutPostgres())("backup with Postgres", () => {
  it("one snapshot of the rows and the files of a gateway that runs, restored to SQLite, to another schema, and over its own [STORE-BACKUP-1]", async () => {
    const first = homeAt("first");
    const before = await serving(first, { store }, async (gateway) => {
      for (const text of ["hello", "สวัสดีครับ \u{1f600}", "a\u0000b \ud800 c", "TOOL"])
        await gateway.send(text);
      const now = await seen(gateway);
      const made = await backup(first, "create", archive());
      expect([made.code, made.stderr]).toEqual([0, ""]);
      await gateway.send("after the backup");
      const running = await restore(first, "--force");
      expect([running.code, running.stderr]).toEqual([1, expect.stringContaining("stop it first")]);
      const elsewhere = await restore(homeAt("other"), "--force");
      expect([elsewhere.code, elsewhere.stderr]).toEqual([
        1,
        expect.stringContaining("A gateway is running on"),
      ]);
      return now;
    });
    expect(before.messages).toHaveLength(8);
    expect((await backup(first, "verify", archive())).code).toBe(0);

    const sqlite = await restore(homeAt("sqlite"), "--to", "sqlite");
    expect([sqlite.code, sqlite.stderr]).toEqual([
      0,
      expect.stringContaining("gateway.store names another store"),
    ]);
    const later = await serving(homeAt("sqlite"), {}, async (gateway) => {
      expect(await seen(gateway)).toEqual(before);
      await gateway.send("SAY สวัสดี");
      return seen(gateway);
    });

    const refused = await restore(homeAt("again"));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("is not empty; use --force")]);
    expect(await readdir(folder)).not.toContain("again");
    const over = await restore(first, "--force");
    const { movedTo, storeMovedTo } = JSON.parse(over.stdout);
    expect([movedTo, storeMovedTo]).toEqual([
      expect.stringContaining("first.before-restore-"),
      expect.stringContaining("_before_"),
    ]);
    expect(await schemas()).toEqual([store.schema, storeMovedTo].sort());
    const rows = (schema: string) => query(`SELECT count(*)::int AS n FROM ${schema}.messages`);
    expect([await rows(store.schema), await rows(storeMovedTo)]).toEqual([[{ n: 8 }], [{ n: 10 }]]);

    expect((await backup(homeAt("sqlite"), "create", archive())).code).toBe(0);
    const other = await ownStore();
    const there = await restore(homeAt("postgres"), "--to", other.url, "--schema", other.schema);
    expect([there.code, JSON.parse(there.stdout)]).toMatchObject([0, { movedTo: null, storeMovedTo: null }]);
    expect(await readdir(homeAt("postgres"))).not.toContain("gateway.db");
    await serving(homeAt("postgres"), { store: other }, async (gateway) => {
      expect(await seen(gateway)).toEqual(later);
      expect((await gateway.send("SAY on")).body.response).toBe("on");
    });
  });
});
