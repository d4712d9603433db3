import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MIGRATIONS } from "../packages/gateway/src/store/sqlite/migrations.ts";
import { runCli } from "./fixtures/cli.ts";
import { type Gateway, startGateway, testConfig } from "./harness.ts";

const LATEST = MIGRATIONS.length;
/** A schema from before dashboard logins, steps of outgoing files and the queue of search. */
const OLD = 5;

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "agent-gateway-versions-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const file = () => join(home, "gateway.db");
const copy = (version = LATEST) => `${file()}.before-${version}`;

/** Works on the database of a home whose gateway is stopped. */
function edit<T>(work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file());
  try {
    return work(db);
  } finally {
    db.close();
  }
}
const versionOf = (path: string) => {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return Number(db.prepare("PRAGMA user_version").get()!.user_version);
  } finally {
    db.close();
  }
};

/** A home that a gateway of an older schema left, with one session of one message. */
function leaveOld(version = OLD): void {
  edit((db) => {
    for (const step of MIGRATIONS.slice(0, version)) db.exec(step);
    db.exec(`PRAGMA user_version = ${version}; PRAGMA journal_mode = WAL;
      INSERT INTO chats (id, agent_id, chat_id, message_count, last_activity) VALUES (1, 'assistant', 'api-me', 1, 5);
      INSERT INTO sessions (id, uuid, chat, agent_id, name, created_at, last_activity, message_count)
        VALUES (1, '11111111-1111-4111-8111-111111111111', 1, 'assistant', 'Old', 5, 5, 1);
      INSERT INTO messages (chat, session, role, content, ts) VALUES (1, 1, 0, 'from the old days', 5)`);
  });
}

/** Runs a gateway on the home until `work` is done. */
async function serving(work: (gateway: Gateway) => Promise<void> = async () => {}): Promise<void> {
  const gateway = await startGateway({ home, config: testConfig() });
  try {
    await work(gateway);
  } finally {
    await gateway.stop();
  }
}
const findsOld = async (gateway: Gateway) => {
  const path = "/api/v1/agents/assistant/chats/api-me/messages/search?q=old%20days";
  expect((await gateway.json("GET", path)).body).toMatchObject({ total: 1 });
};
const store = (...args: string[]) => runCli(["store", ...args], { env: { GATEWAY_HOME: home } });
/** Why a start was refused, and with which code. */
const refusal = async () => {
  await writeFile(
    join(home, "config.json"),
    JSON.stringify({ configVersion: "2.0.0", gateway: { api: { keys: [] } }, agents: [] }),
  );
  const { code, stderr } = await runCli(["start", "--port", "0"], { env: { GATEWAY_HOME: home } });
  return { code, stderr };
};

describe("a database of an older gateway", () => {
  it("is copied before it is migrated, and serves what it held [MIGRATE-1]", async () => {
    leaveOld();
    await serving(findsOld);
    expect(versionOf(copy())).toBe(OLD);
    expect(versionOf(file())).toBe(LATEST);
    const kept = new DatabaseSync(copy(), { readOnly: true });
    expect(kept.prepare("SELECT content FROM messages").all()).toEqual([{ content: "from the old days" }]);
    kept.close();
    // The copy stands for a day; a start without a migration makes no other.
    await serving(findsOld);
    expect((await readdir(home)).filter((name) => name.includes(".before-"))).toEqual([
      `gateway.db.before-${LATEST}`,
    ]);
  });

  it("is left as it is when it cannot be copied, and the start says so [MIGRATE-1]", async () => {
    leaveOld();
    await mkdir(join(`${copy()}.partial`, "in-the-way"), { recursive: true });
    const { code, stderr } = await refusal();
    expect(code).toBe(1);
    expect(stderr).toMatch(/could not be copied before its update.*Nothing was changed/);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(versionOf(file())).toBe(OLD);
    expect(existsSync(copy())).toBe(false);
  });

  it("keeps the copy from before the first step when a migration did not finish [MIGRATE-1]", async () => {
    leaveOld();
    edit((db) => db.prepare("VACUUM INTO ?").run(copy()));
    edit((db) => db.exec(`${MIGRATIONS[OLD]!}; PRAGMA user_version = ${OLD + 1}`));
    await serving(findsOld);
    expect(versionOf(copy())).toBe(OLD);
  });

  it("is copied anew after a downgrade: the copy of the earlier update is from before what came since [MIGRATE-1]", async () => {
    leaveOld();
    await serving();
    expect((await store("downgrade", "--to", String(OLD + 1), "--discard")).code).toBe(0);
    edit((db) =>
      db.exec("INSERT INTO messages (chat, session, role, content, ts) VALUES (1, 1, 0, 'since then', 6)"),
    );
    await serving();
    const kept = new DatabaseSync(copy(), { readOnly: true });
    expect(kept.prepare("SELECT content FROM messages WHERE ts = 6").all()).toEqual([
      { content: "since then" },
    ]);
    kept.close();
  });
});

describe("a database of a newer gateway", () => {
  const future = (oldest: number) =>
    edit((db) =>
      db.exec(`PRAGMA user_version = ${LATEST + 5};
        INSERT OR REPLACE INTO meta (key, value) VALUES ('oldest', '${oldest}'), ('oldest_gateway', '9.8.7')`),
    );

  it("is used as long as it allows that, else the start ends with 78 and names the version [MIGRATE-3]", async () => {
    leaveOld();
    await serving();
    future(LATEST);
    await serving(findsOld);
    expect(versionOf(file())).toBe(LATEST + 5);
    future(LATEST + 1);
    const { code, stderr } = await refusal();
    expect(code).toBe(78);
    expect(stderr).toContain("version 9.8.7 of the gateway");
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(await store("downgrade", "--to", "3")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("does not know"),
    });
  });
});

describe("store", () => {
  it("takes the database back, and names what that would lose [MIGRATE-4]", async () => {
    leaveOld();
    await serving(async () => {
      expect(await store("version")).toMatchObject({ code: 0, stdout: expect.stringContaining(`${LATEST}`) });
      const running = await store("downgrade", "--to", String(OLD), "--discard");
      expect(running).toMatchObject({ code: 1, stderr: expect.stringContaining("stop it first") });
    });
    edit((db) => db.exec("INSERT INTO logins (digest, key_id, expires_at) VALUES ('d', 'k', 9e15)"));
    const asked = await store("downgrade", "--to", String(OLD));
    expect(asked.code).toBe(1);
    expect(asked.stderr).toMatch(/logins \(1 row\).*--discard/);
    expect(versionOf(file())).toBe(LATEST);
    const done = await store("downgrade", "--to", String(OLD), "--discard", "--json");
    expect(done.stderr).toBe("");
    expect(JSON.parse(done.stdout)).toMatchObject({
      version: OLD,
      discarded: expect.arrayContaining([{ table: "logins", rows: 1 }]),
    });
    const shape = (db: DatabaseSync) =>
      db.prepare("SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name").all();
    const fresh = new DatabaseSync(":memory:");
    for (const step of MIGRATIONS.slice(0, OLD)) fresh.exec(step);
    expect(edit(shape)).toEqual(shape(fresh));
    fresh.close();
    // And forward again.
    await serving(findsOld);
  });

  it("leaves the database to gateways that know it [MIGRATE-5]", async () => {
    leaveOld();
    await serving();
    expect((await store("contract")).code).toBe(0);
    const { stdout } = await store("version", "--json");
    expect(JSON.parse(stdout)).toEqual({ version: LATEST, oldest: LATEST });
  });

  it("refuses what it does not understand", async () => {
    expect(await store("version")).toMatchObject({ code: 1, stderr: expect.stringContaining("no database") });
    expect((await store("downgrade")).code).toBe(2);
    expect((await store("downgrade", "--to", "x")).code).toBe(2);
    expect((await store("mend")).code).toBe(2);
    leaveOld();
    expect((await store("downgrade", "--to", "999")).code).toBe(1);
    await writeFile(file(), "not a database ".repeat(1000));
    expect(await store("version")).toEqual({
      code: 1,
      stdout: "",
      stderr: `The database (${file()}) cannot be used: it is not a database.\n`,
    });
    await writeFile(file(), "");
    expect((await store("contract")).stderr).toMatch(/^There is no database in .* yet\.\n$/);
  });
});
