import { existsSync } from "node:fs";
import { mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCli } from "./fixtures/cli.ts";
import { postgresStore, withoutPostgres } from "./fixtures/postgres.ts";
import { type Gateway, startGateway, testConfig } from "./harness.ts";

const HISTORY = "/api/v1/agents/assistant/chats/api-me/messages";

let home: string;
let store: { driver: "postgres"; url: string; schema: string; ssl: "disable" };
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "agent-gateway-copy-"));
  const { driver, url, schema, ssl } = await postgresStore();
  store = { driver, url, schema, ssl };
});
afterEach(() => rm(home, { recursive: true, force: true }));

/** Runs a gateway on the home until `work` is done. */
async function serving<T>(
  settings: Record<string, unknown>,
  work: (gateway: Gateway) => Promise<T>,
): Promise<T> {
  const gateway = await startGateway({ home, config: testConfig({ gateway: settings }) });
  try {
    return await work(gateway);
  } finally {
    await gateway.stop();
  }
}
const copy = (from: string, to: string) =>
  runCli(["store", "copy", "--from", from, "--to", to, "--schema", store.schema, "--json"], {
    env: { GATEWAY_HOME: home },
  });
const seen = async (gateway: Gateway) => {
  const { body } = await gateway.json("GET", `${HISTORY}?limit=100&include=steps`);
  const found = await gateway.json("GET", `${HISTORY}/search?q=${encodeURIComponent("สวัสดี")}`);
  const usage = await gateway.json("GET", "/api/v1/usage?group=agent");
  return { messages: body.messages, total: found.body.total, usage: usage.body.total };
};
const rowsOf = (stdout: string) => {
  const { tables } = JSON.parse(stdout) as { tables: Array<{ table: string; rows: number }> };
  return Object.fromEntries(tables.map(({ table, rows }) => [table, rows]));
};
/** A database with many messages, as a gateway of this version leaves it. */
async function fill(messages: number): Promise<void> {
  await serving({}, (gateway) => gateway.send("hello"));
  const db = new DatabaseSync(join(home, "gateway.db"));
  db.exec(`WITH RECURSIVE n(i) AS (SELECT 1000000 UNION ALL SELECT i + 1 FROM n WHERE i < ${1_000_000 + messages - 1})
    INSERT INTO messages (id, chat, session, role, content, ts) SELECT i, 1, 1, 0, 'message ' || i, i FROM n`);
  db.close();
}

describe.skipIf(withoutPostgres())("store copy", () => {
  it("takes all that a gateway holds to Postgres and back, and the gateway goes on there [STORE-COPY-1]", async () => {
    const before = await serving({}, async (gateway) => {
      for (const text of ["hello", "สวัสดีครับ \u{1f600}", "a\u0000b \ud800 c", "TOOL"])
        await gateway.send(text);
      return seen(gateway);
    });
    expect(Number(before.total)).toBeGreaterThan(0);
    const db = new DatabaseSync(join(home, "gateway.db"));
    // As earlier versions left times, which Postgres does not take.
    db.exec("UPDATE turns SET ended_at = ended_at + 0.25");
    db.close();
    const there = await copy("sqlite", store.url);
    expect([there.code, there.stderr]).toEqual([0, expect.stringContaining("copying messages")]);
    expect(rowsOf(there.stdout)).toMatchObject({ chats: 1, messages: 8, turns: 4 });
    const after = await serving({ store }, async (gateway) => {
      expect(await seen(gateway)).toEqual(before);
      await gateway.send("สวัสดี again");
      return seen(gateway);
    });
    expect(Number(after.total)).toBe(Number(before.total) + 2);

    const refused = await copy(store.url, "sqlite");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("is not empty")]);
    await rename(join(home, "gateway.db"), join(home, "old.db"));
    const back = await copy(store.url, "sqlite");
    expect([back.code, rowsOf(back.stdout).messages]).toEqual([0, 10]);
    expect((await stat(join(home, "gateway.db"))).mode & 0o777).toBe(0o600);
    await serving({}, async (gateway) => {
      expect(await seen(gateway)).toEqual(after);
      expect((await gateway.send("once more")).status).toBe(200);
    });
  });

  it("goes on where it was killed, and no gateway starts on half a copy [STORE-COPY-2]", async () => {
    await fill(40_000);
    let killed = false;
    const first = runCli(["store", "copy", "--from", "sqlite", "--to", store.url, "--schema", store.schema], {
      env: { GATEWAY_HOME: home },
      onNote(child, stderr) {
        if (killed || !stderr.includes("copying messages")) return;
        killed = true;
        setTimeout(() => child.kill("SIGKILL"), 300);
      },
    });
    expect((await first).code).toBe(null);
    await writeFile(join(home, "config.json"), JSON.stringify(testConfig({ gateway: { store } })));
    const start = await runCli(["start", "--port", "0"], { env: { GATEWAY_HOME: home } });
    expect([start.code, start.stderr]).toEqual([78, expect.stringContaining("only part of a copy")]);
    const again = await copy("sqlite", store.url);
    expect([again.code, rowsOf(again.stdout).messages]).toEqual([0, 40_002]);
    await serving({ store }, async (gateway) => {
      const { body } = await gateway.json("GET", `${HISTORY}/search?q=1039999`);
      expect(body.total).toBe(1);
    });
  });

  it("refuses stores in use, a source that is not there, and addresses that are none [STORE-COPY-1]", async () => {
    const nothing = await copy("sqlite", store.url);
    expect([nothing.code, nothing.stderr]).toEqual([1, expect.stringContaining("no database")]);
    const empty = await copy(store.url, "sqlite");
    expect([empty.code, empty.stderr]).toEqual([
      1,
      expect.stringContaining("There is no store in the schema"),
    ]);
    expect(existsSync(join(home, "gateway.db"))).toBe(false);
    expect((await copy("sqlite", "mysql://x")).code).toBe(2);
    await serving({ store }, async () => {
      const own = await copy(store.url, "sqlite");
      expect([own.code, own.stderr]).toEqual([1, expect.stringContaining("A gateway is running")]);
      const other = await mkdtemp(join(tmpdir(), "agent-gateway-copy-other-"));
      const from = ["store", "copy", "--from", store.url, "--to", "sqlite", "--schema", store.schema];
      const foreign = await runCli(from, { env: { GATEWAY_HOME: other } });
      expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringContaining("A gateway is running")]);
      // An empty database there would be what the next start takes for the store.
      expect(existsSync(join(other, "gateway.db"))).toBe(false);
      await rm(other, { recursive: true });
    });
  });
});
