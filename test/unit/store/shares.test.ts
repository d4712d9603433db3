import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Store, StoredShare } from "../../../packages/gateway/src/store/index.ts";
import { drivers } from "./drivers.ts";

const share = (id: string, more: Partial<StoredShare> = {}): StoredShare => ({
  id,
  tokenHash: `hash of ${id}`,
  agentId: "a",
  session: "s",
  path: "/ws/report.txt",
  identity: "1:2:3",
  expiresAt: 2000,
  createdAt: 1000,
  ...more,
});

describe.each(drivers)("shares in $driver", ({ open }) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  it("are found by their token until the moment they expire [ROWS-1]", async () => {
    await store.commit(store.shares.add(share("one")));
    const file = { agentId: "a", path: "/ws/report.txt", identity: "1:2:3" };
    expect(await store.shares.byToken("hash of one", 1999)).toEqual(file);
    expect(await store.shares.byToken("hash of one", 2000)).toBeUndefined();
    expect(await store.shares.byToken("hash of two", 1999)).toBeUndefined();
    expect(await store.shares.agentOf("one")).toBe("a");
    expect(await store.shares.agentOf("two")).toBeUndefined();
  });

  it("may be many of one file, each with an end of its own [ROWS-1]", async () => {
    await store.commit(
      store.shares.add(share("short")),
      store.shares.add(share("long", { expiresAt: 9000 })),
      store.shares.add(share("revoked", { expiresAt: 9000 })),
    );
    await store.commit(store.shares.remove("revoked"), store.shares.removeExpired(2000));
    expect(await Promise.all(["short", "long", "revoked"].map(store.shares.agentOf))).toEqual([
      undefined,
      "a",
      undefined,
    ]);
    await store.commit(store.shares.remove("revoked"), store.shares.remove("unknown"));
    expect(await store.shares.agentOf("long")).toBe("a");
  });

  it("are added together or not at all [ROWS-1]", async () => {
    await store.commit(store.shares.add(share("one")));
    const same = share("two", { tokenHash: "hash of one" });
    await expect(store.commit(store.shares.add(share("three")), store.shares.add(same))).rejects.toThrow();
    expect(await store.shares.agentOf("three")).toBeUndefined();
  });
});
