import { expect, it } from "vitest";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { openStore, type Store } from "../../../packages/gateway/src/store/index.ts";
import { transactionPooler, withoutPgbouncer } from "../../fixtures/pgbouncer.ts";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";

const place = (n: number) => ({ agentId: "a", channel: "botchat", account: String(n) });

it.skipIf(withoutPostgres() || withoutPgbouncer())(
  "stores behind a transaction pooler share its connections without harm (needs Postgres, pgbouncer) [STORE-POOLER-1]",
  async () => {
    const own = await postgresStore();
    await using pooler = await transactionPooler(Number(new URL(own.url).port));
    const url = new URL(own.url);
    url.port = String(pooler.port);
    const open = async () =>
      openStore({ ...own, url: url.href, schema: (await postgresStore()).schema }, systemClock);
    const stores: Store[] = [await open(), await open()];
    // More connections than the pooler has, to two schemas at once.
    await Promise.all(
      stores.flatMap((store, which) =>
        Array.from({ length: 40 }, async (_, n) => {
          await store.commit(store.positions.save(place(n), `${which}-${n}`));
          expect(await store.positions.get(place(n))).toBe(`${which}-${n}`);
        }),
      ),
    );
    expect(await stores[0]!.positions.get(place(7))).toBe("0-7");
    expect(await stores[1]!.positions.get(place(7))).toBe("1-7");
    await Promise.all(stores.map((store) => store.close()));
  },
);
