import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Store } from "../../../packages/gateway/src/store/index.ts";
import { drivers } from "./drivers.ts";

const login = (digest: string, expiresAt: number) => ({ digest, keyId: `key of ${digest}`, expiresAt });

describe.each(drivers)("logins in $driver", ({ open }) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  it("are kept with the time of their last use, those that end first at the beginning [LOGIN-1]", async () => {
    const { logins } = store;
    expect(await logins.all()).toEqual([]);
    await store.commit(
      logins.keep(login("c", 200)),
      logins.keep(login("a", 300)),
      logins.keep(login("b", 200)),
    );
    expect(await logins.all()).toEqual([login("b", 200), login("c", 200), login("a", 300)]);
    await store.commit(logins.keep({ ...login("b", 400), keyId: "another" }));
    expect(await logins.all()).toEqual([login("c", 200), login("a", 300), login("b", 400)]);
  });

  it("go one by one, and those that are not there do no harm [LOGIN-1]", async () => {
    const { logins } = store;
    await store.commit(...["a", "b", "c"].map((digest, n) => logins.keep(login(digest, n))));
    await store.commit(logins.remove([]));
    expect((await logins.all()).length).toBe(3);
    await store.commit(logins.remove(["a", "none", "c"]));
    expect(await logins.all()).toEqual([login("b", 1)]);
  });
});
