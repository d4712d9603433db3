import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownCluster, withoutPostgres } from "./fixtures/postgres.ts";
import { inPostgres, rowsOf } from "./fixtures/rows.ts";
import { type SmallDisk, smallDisk, withoutSmallDisks } from "./fixtures/small-disk.ts";
import { type Gateway, startGateway, testConfig, until } from "./harness.ts";

const MB = 1024 * 1024;
/** Long enough that the disk is full before it ends, and that its reply needs room. */
const WORDS = 1_500;
const SLOW = `SLOW ${WORDS} 1`;
const REPLY = Array.from({ length: WORDS }, (_, n) => `w${n} `).join("");
const MESSAGES = "/api/v1/agents/assistant/chats/api-me/messages";

/** What a full disk does to a gateway, and what room does. */
async function fillAndHeal(
  gateway: Gateway,
  disk: SmallDisk,
  numberOf: (sql: string) => number,
  settle: () => Promise<void>,
): Promise<void> {
  const session = (await gateway.send("SAY hello")).body.session_id as string;
  const other = (await gateway.send("SAY hello")).body.session_id as string;
  await settle();
  const slow = gateway.send(SLOW, { session_id: session });
  await until(
    () => numberOf("SELECT count(*) AS n FROM turns WHERE state = 'running'") === 1,
    "the turn to run",
  );
  disk.fill();
  const reply = await slow;
  expect(reply).toMatchObject({ status: 200, body: { response: REPLY, stored: false } });

  const big = () => `SAY ${randomBytes(6_000).toString("base64")}`;
  const refused = await until(async () => {
    const answer = await gateway.send(big(), { session_id: other });
    return answer.status === 200 ? undefined : answer;
  }, "a message to be refused");
  expect([refused.status, refused.body.code]).toEqual([503, "UNAVAILABLE"]);
  expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
  const blocked = await gateway.send("SAY too early", { session_id: session });
  expect([blocked.status, blocked.body.code]).toEqual([503, "UNAVAILABLE"]);
  expect((await gateway.json("GET", "/health", { key: null })).status).toBe(200);
  expect((await gateway.json("GET", MESSAGES)).status).toBe(200);

  disk.empty();
  const sent = async () => (await gateway.send("SAY after", { session_id: session })).status === 200;
  await until(sent, "the session to take messages again", 20_000);
  expect(numberOf(`SELECT count(*) AS n FROM messages WHERE content = '${REPLY}'`)).toBe(1);
  expect(numberOf("SELECT count(*) AS n FROM messages WHERE content = 'SAY too early'")).toBe(0);
  expect(numberOf("SELECT count(*) AS n FROM turns WHERE state = 'running'")).toBe(0);
  expect(numberOf("SELECT count(*) AS n FROM turn_parts")).toBe(0);
}

describe.skipIf(withoutSmallDisks())("a full disk (needs the right to mount one)", () => {
  it("of SQLite refuses what is new, lets reading go on, keeps the reply of a running turn, and heals by itself [DISK-1, AWAY-7]", async () => {
    using disk = smallDisk(48 * MB);
    const home = join(disk.folder, "home");
    mkdirSync(home);
    await using gateway = await startGateway({ home, config: testConfig({ gateway: { minFreeBytes: 0 } }) });
    const numberOf = (sql: string) => Number(rowsOf(gateway, sql)[0]!.n);
    await fillAndHeal(gateway, disk, numberOf, async () => {});
    expect(gateway.output().match(/could not store partial text/g) ?? []).toHaveLength(1);
  }, 60_000);

  it.skipIf(withoutPostgres() || !process.env.FAULTS)(
    "of Postgres does the same (needs Postgres and FAULTS=1) [DISK-1]",
    async () => {
      using disk = smallDisk(192 * MB);
      await using cluster = await ownCluster(disk.folder);
      const store = {
        driver: "postgres",
        url: cluster.url,
        schema: "agent_gateway",
        poolSize: 5,
        ssl: "disable",
      };
      await using gateway = await startGateway({ gateway: { store } });
      const rows = (sql: string) => inPostgres(store, sql);
      // A server that cannot write its log ends; a new piece of it has room for all of this.
      const settle = async () => void rows("SELECT pg_switch_wal()::text");
      await fillAndHeal(gateway, disk, (sql) => Number(rows(sql)[0]!.n), settle);
      const log = await readFile(join(gateway.home, "logs/gateway.log"), "utf8");
      expect(log.match(/could not store partial text/g)?.length ?? 0).toBeLessThan(2);
    },
    60_000,
  );
});
