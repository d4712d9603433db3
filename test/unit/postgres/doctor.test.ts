import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { expect, it } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { openStore } from "../../../packages/gateway/src/store/index.ts";
import { runCli } from "../../fixtures/cli.ts";
import { freePort } from "../../fixtures/ports.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";

it.skipIf(withoutPostgres())(
  "doctor looks at the server, its settings, the schema and who waits, and shows no password (needs Postgres) [STORE-PG-3]",
  async () => {
    const home = await mkdtemp(join(tmpdir(), "agent-gateway-doctor-"));
    const { url, ...place } = await postgresStore();
    const secret = new URL(url);
    secret.password = "pass-word";
    let crash = "";
    const doctor = async (address: string) => {
      const store = { ...place, url: address };
      await writeFile(join(home, "config.json"), JSON.stringify({ gateway: { store } }));
      const { stdout, stderr } = await runCli(["doctor", "--json"], {
        env: { GATEWAY_HOME: home },
      });
      expect(stdout + stderr).not.toContain("pass-word");
      const { checks } = JSON.parse(stdout) as {
        checks: { name: string; status: string; message: string }[];
      };
      crash = checks.find(({ name }) => name === "last crash")!.message;
      return checks.filter(({ name }) => name.startsWith("database"));
    };
    const client = new pg.Client(url);
    await client.connect();
    try {
      const [server, schema, locks] = await doctor(secret.href);
      expect(server).toMatchObject({
        status: "ok",
        message: expect.stringMatching(/^Postgres \d+.* at 127\.0\.0\.1:\d+\/gateway, schema test_\w+$/),
      });
      expect(schema).toMatchObject({ status: "ok", message: "none yet; the first start creates it" });
      expect(locks).toMatchObject({ name: "database locks" });
      await (await openStore({ ...place, url }, systemClock)).close();
      expect(crash).toBe("none found");
      await client.query(`INSERT INTO ${place.schema}.turns (request_id, session, kind, state, started_at)
        VALUES ('r', 1, 'message', 'running', 1)`);
      await client.query(`INSERT INTO ${place.schema}.meta (key, value) VALUES ('copying', '{}')`);
      expect((await doctor(secret.href))[1]).toMatchObject({
        status: "fail",
        message: "It holds only part of a copy.",
      });
      expect(crash).toBe("1 turns were cut off.");
      await client.query(`DELETE FROM ${place.schema}.meta WHERE key = 'copying'`);
      await client.query(`UPDATE ${place.schema}.meta SET value = '99' WHERE key = 'version'`);
      await client.query(`INSERT INTO ${place.schema}.meta (key, value) VALUES ('oldest', '98')`);
      expect((await doctor(secret.href))[1]).toMatchObject({
        status: "fail",
        message: expect.stringContaining("allows schema 98 and newer"),
      });
    } finally {
      await client.end();
    }
    const away = await doctor(`postgres://someone:pass-word@127.0.0.1:${await freePort()}/none`);
    expect(away).toMatchObject([
      { status: "fail", message: expect.stringContaining("cannot be reached: ECONNREFUSED") },
    ]);
    await rm(home, { recursive: true, force: true });
  },
);
