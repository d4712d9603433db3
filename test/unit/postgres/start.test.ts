import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { historyFiles } from "../../../packages/gateway/src/history/index.ts";
import { type Clock, systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { openStore } from "../../../packages/gateway/src/store/index.ts";
import { freePort } from "../../fixtures/ports.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";

/** Its pauses take no time, and count all the same. */
function hurriedClock(): Clock {
  let past = 0;
  return {
    ...systemClock,
    elapsed: () => past,
    after(ms, task) {
      past += ms;
      return systemClock.after(0, task);
    },
  };
}

it("a Postgres that is not there is tried for 30 s [STORE-AWAY-3]", async () => {
  const clock = hurriedClock();
  const port = await freePort();
  const place = {
    driver: "postgres",
    url: `postgres://someone:pass-word@127.0.0.1:${port}/none`,
    schema: "x",
    poolSize: 4,
    ssl: "prefer",
    files: historyFiles,
  } as const;
  const error = await openStore(place, clock).catch((failed: unknown) => failed);
  expect(error).toMatchObject({ exitCode: 69, message: expect.stringMatching(/30 seconds: ECONNREFUSED/) });
  expect((error as Error).message).not.toContain("pass-word");
  expect(clock.elapsed()).toBeGreaterThan(20_000);
});

it.skipIf(withoutPostgres())(
  "a role needs a schema of its own, and no right on the database; without one it is told so (needs Postgres) [STORE-RIGHTS-1]",
  async () => {
    const place = await postgresStore();
    const client = new pg.Client({ connectionString: place.url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query("CREATE EXTENSION IF NOT EXISTS pg_trgm");
    await client.query("CREATE ROLE plain LOGIN");
    const url = place.url.replace("postgres@", "plain@");
    const open = () => openStore({ ...place, url }, systemClock);
    const refused = (about: string) => ({
      exitCode: 78,
      message: expect.stringMatching(new RegExp(`permission denied for ${about}.* AUTHORIZATION`)),
    });
    await expect(open()).rejects.toMatchObject(refused("database"));
    await client.query(`CREATE SCHEMA ${place.schema}`);
    await expect(open()).rejects.toMatchObject(refused("schema"));
    await client.query(`ALTER SCHEMA ${place.schema} OWNER TO plain`);
    await (await open()).close();
    await client.query(`ALTER TABLE ${place.schema}.meta OWNER TO postgres`);
    await expect(open()).rejects.toMatchObject(refused("table meta"));
  },
);

it.skipIf(withoutPostgres())(
  "a database that is not there is told at once (needs Postgres) [STORE-AWAY-3]",
  async () => {
    const place = await postgresStore();
    const url = place.url.replace(/gateway$/, "nowhere");
    await expect(openStore({ ...place, url }, systemClock)).rejects.toMatchObject({
      exitCode: 78,
      message: expect.stringContaining("nowhere"),
    });
  },
);

it.skipIf(withoutPostgres())(
  "a server that does not encrypt is told at once where encryption is demanded (needs Postgres) [STORE-AWAY-3]",
  async () => {
    const place = await postgresStore();
    for (const ssl of ["require", "verify-full"] as const) {
      await expect(openStore({ ...place, ssl }, systemClock)).rejects.toMatchObject({
        exitCode: 78,
        message: expect.stringContaining("does not encrypt connections"),
      });
    }
  },
);
