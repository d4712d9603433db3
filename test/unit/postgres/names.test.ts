import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import type { PostgresStatement } from "../../../packages/gateway/src/store/postgres/batch.ts";
import { type Link, LinkError, openLink } from "../../../packages/gateway/src/store/postgres/link.ts";
import { transactionPooler, withoutPgbouncer } from "../../fixtures/pgbouncer.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";

const LIMIT_MS = 10_000;
const statement = (text: string, ...values: PostgresStatement["values"]): PostgresStatement => ({
  text,
  values,
});
const add = (left: number, right: number) =>
  statement("SELECT $1::integer + $2::integer AS sum, $1::text AS said", left, right);
const invert = (value: number) => statement("SELECT 12 / $1::integer AS part", value);
const silent = statement("SELECT FROM generate_series(1, 0)");

const links: Link[] = [];
afterEach(() => {
  for (const link of links.splice(0)) link.close();
});

async function opened(place: Parameters<typeof openLink>[0]) {
  const link = await openLink(place, systemClock);
  links.push(link);
  return {
    link,
    run: async (...statements: PostgresStatement[]) =>
      (await link.run(statements, LIMIT_MS, "kept")).map(({ rows }) => rows),
    async names() {
      const [answer] = await link.run([statement("SELECT name FROM pg_prepared_statements")], LIMIT_MS);
      return answer!.rows.length;
    },
  };
}

describe.skipIf(withoutPostgres())("the plans of frequent statements (needs Postgres)", () => {
  it("are kept from the third time on, and every answer is the same as without [STORE-PLANS-1]", async () => {
    const { run, names } = await opened(await postgresStore());
    const known = [];
    for (let round = 1; round <= 5; round++) {
      const answers = await run(add(round, 1), silent, add(round, 2), silent);
      expect(answers).toEqual([
        [{ sum: round + 1, said: String(round) }],
        [],
        [{ sum: round + 2, said: String(round) }],
        [],
      ]);
      known.push(await names());
    }
    // Each of them is sent twice in a round.
    expect(known).toEqual([0, 2, 2, 2, 2]);
  });

  it("survive a batch that fails before, at or behind them [STORE-PLANS-1]", async () => {
    const { run, names } = await opened(await postgresStore());
    for (let round = 1; round <= 4; round++) {
      await expect(run(invert(0), add(1, 1))).rejects.toMatchObject({ code: "22012" });
      await expect(run(add(1, 1), invert(0), invert(1))).rejects.toMatchObject({ code: "22012" });
      expect(await run(add(round, round), invert(3))).toEqual([
        [{ sum: 2 * round, said: String(round) }],
        [{ part: 4 }],
      ]);
    }
    expect(await names()).toBe(2);
  });

  it("make a connection useless when the server lost them, and the next one does without [STORE-PLANS-1]", async () => {
    const place = await postgresStore();
    const { link, run } = await opened(place);
    for (let round = 0; round < 3; round++) await run(add(1, 1));
    await link.run([statement("DEALLOCATE ALL")], LIMIT_MS);
    await expect(run(add(1, 1))).rejects.toThrow(LinkError);
    expect(link.broken).toBe(true);
    const next = await opened(place);
    for (let round = 0; round < 4; round++)
      expect(await next.run(add(1, 1))).toEqual([[{ sum: 2, said: "1" }]]);
    expect(await next.names()).toBe(0);
  });

  it("are for values that come often, never for work that says otherwise [STORE-PLANS-1]", async () => {
    const { link, names } = await opened(await postgresStore());
    for (let round = 0; round < 5; round++) await link.run([add(1, 1)], LIMIT_MS);
    expect(await names()).toBe(0);
  });

  it("have names that no other connection uses, in case a pooler goes unnoticed [STORE-PLANS-1]", async () => {
    const place = await postgresStore();
    const names = [];
    for (const { link, run } of [await opened(place), await opened(place)]) {
      for (let round = 0; round < 3; round++) await run(add(1, 1));
      const [answer] = await link.run([statement("SELECT name FROM pg_prepared_statements")], LIMIT_MS);
      names.push(...answer!.rows.map(({ name }) => name));
    }
    expect(names).toHaveLength(2);
    expect(new Set(names).size).toBe(2);
  });

  it.skipIf(withoutPgbouncer())("are not kept behind a pooler [STORE-PLANS-1, STORE-POOLER-1]", async () => {
    const own = await postgresStore();
    await using pooler = await transactionPooler(Number(new URL(own.url).port));
    const url = new URL(own.url);
    url.port = String(pooler.port);
    const { run } = await opened({ ...own, url: url.href });
    for (let round = 0; round < 5; round++) expect(await run(add(1, 1))).toEqual([[{ sum: 2, said: "1" }]]);
    const direct = await opened(own);
    expect(await direct.names()).toBe(0);
    // On each of the pooler's connections.
    for (let turn = 0; turn < 4; turn++) {
      expect(await run(statement("SELECT count(*) AS n FROM pg_prepared_statements"))).toEqual([[{ n: 0 }]]);
    }
  });
});
