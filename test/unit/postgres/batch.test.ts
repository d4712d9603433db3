import { expect, it } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import type { PostgresStatement } from "../../../packages/gateway/src/store/postgres/batch.ts";
import { type Link, openLink } from "../../../packages/gateway/src/store/postgres/link.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";

const LIMIT_MS = 10_000;
const statement = (text: string, ...values: PostgresStatement["values"]): PostgresStatement => ({
  text,
  values,
});
const unit = (...statements: PostgresStatement[]) => [statement("BEGIN"), ...statements, statement("COMMIT")];
const twice = (value: number) => statement("SELECT $1::integer * 2 AS twice, $1::text AS said", value);
const invert = (value: number) => statement("SELECT 12 / $1::integer AS part", value);

async function namesLeft(link: Link): Promise<unknown[]> {
  const [answer] = await link.run([statement("SELECT name FROM pg_prepared_statements")], LIMIT_MS);
  return answer!.rows;
}

it.skipIf(withoutPostgres())(
  "a text that stands in a transaction several times is named for it, and each answers for itself (needs Postgres) [STORE-POOLER-1]",
  async () => {
    const link = await openLink(await postgresStore(), systemClock);
    for (let round = 0; round < 2; round++) {
      const results = await link.run(unit(twice(1), invert(3), twice(2), invert(4), twice(3)), LIMIT_MS);
      expect(results.slice(1, -1).map(({ rows }) => rows)).toEqual([
        [{ twice: 2, said: "1" }],
        [{ part: 4 }],
        [{ twice: 4, said: "2" }],
        [{ part: 3 }],
        [{ twice: 6, said: "3" }],
      ]);
      expect(await namesLeft(link)).toEqual([]);
    }
    // What is not a transaction of its own statements has no names.
    await link.run([twice(1), twice(2), twice(3)], LIMIT_MS);
    expect(await namesLeft(link)).toEqual([]);
    link.close();
  },
);

it.skipIf(withoutPostgres())(
  "names of a transaction that failed are gone with its end (needs Postgres) [STORE-POOLER-1]",
  async () => {
    const link = await openLink(await postgresStore(), systemClock);
    const failing = unit(twice(1), invert(1), twice(2), invert(0), twice(3));
    for (let round = 0; round < 3; round++) {
      await expect(link.run(failing, LIMIT_MS)).rejects.toMatchObject({ code: "22012" });
      await link.run([statement("ROLLBACK")], LIMIT_MS);
      expect(await namesLeft(link)).toEqual([]);
    }
    link.close();
  },
);
