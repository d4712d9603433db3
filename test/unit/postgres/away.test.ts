import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { historyFiles } from "../../../packages/gateway/src/history/index.ts";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { openStore, type Store } from "../../../packages/gateway/src/store/index.ts";
import { ownCluster, withoutPostgres } from "../../fixtures/postgres.ts";

const PLACE = { agentId: "a", channel: "botchat", account: "" };

describe.skipIf(withoutPostgres())("a store whose Postgres goes away (needs Postgres)", () => {
  let cluster: Awaited<ReturnType<typeof ownCluster>>;
  let store: Store;
  beforeAll(async () => {
    cluster = await ownCluster();
    const place = {
      driver: "postgres",
      url: cluster.url,
      schema: "gateway",
      poolSize: 5,
      ssl: "prefer",
      files: historyFiles,
    } as const;
    store = await openStore(place, systemClock);
  });
  afterAll(async () => {
    await store.close();
    await cluster[Symbol.asyncDispose]();
  });
  const save = (value: string) => store.commit(store.positions.save(PLACE, value));

  it("refuses within 5 s, and serves again when it is back, by itself [STORE-AWAY-1]", async () => {
    await save("before");
    await cluster.stop();
    const began = performance.now();
    const refused = { code: "UNAVAILABLE", status: 503, headers: { "retry-after": "2" } };
    await expect(save("lost")).rejects.toMatchObject(refused);
    await expect(store.positions.get(PLACE)).rejects.toMatchObject(refused);
    expect(performance.now() - began).toBeLessThan(10_000);
    await cluster.start();
    expect(await store.positions.get(PLACE)).toBe("before");
    await save("after");
    expect(await store.positions.get(PLACE)).toBe("after");
  });
});
