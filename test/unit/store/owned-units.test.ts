import { describe, expect, it } from "vitest";
import type { AsOwner, Claim } from "../../../packages/gateway/src/store/directory.ts";
import type { Driver } from "../../../packages/gateway/src/store/driver.ts";
import { createStore, FencedError } from "../../../packages/gateway/src/store/index.ts";
import { sqliteDriver } from "../../../packages/gateway/src/store/sqlite/driver.ts";
import { memoryDatabase } from "../../fixtures/memory-db.ts";

const PLACE = { agentId: "a", channel: "botchat", account: "" };
const FENCE = "the fence is another's";

/** A store on which several gateways could be, with the latest fence of agent "a" in a table. */
function rig({ takes }: { takes: number | undefined } = { takes: 1 }) {
  const reserved: number[] = [];
  let asOwner: ((agentId: string) => AsOwner) | undefined;
  let range: ((count: number) => Promise<number>) | undefined;
  const own = sqliteDriver(memoryDatabase());
  const driver: Driver = {
    ...own,
    removal(as) {
      asOwner = as;
      return own.removal(as);
    },
    imports(reserve, as) {
      range = reserve;
      return own.imports(reserve, as);
    },
    write: (statements) =>
      own.write(statements).catch((error: Error) => {
        throw error.message.includes("shares.token_hash") ? new Error(FENCE) : error;
      }),
    shared: {
      directory: {
        beat: async () => {},
        look: async () => ({ nodes: [], placements: [] }),
        take: async () => takes,
        free: async () => {},
        leave: async () => {},
      },
      fence: ({ fence }) => ({
        sql: `INSERT INTO shares (id, agent_id, session, path, expires_at, created_at)
              SELECT '', '', '', '', 0, 0 WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key = 'fence' AND value = ?)`,
        params: [String(fence)],
      }),
      isFenced: (error) => error instanceof Error && error.message === FENCE,
      async reserveIds(count) {
        reserved.push(count);
        return reserved.length * 1_000_000;
      },
    },
  };
  const store = createStore(driver);
  const refused: number[] = [];
  const claim = (fence: number, may: Partial<Claim> = {}): Claim => ({
    agentId: "a",
    bootId: "boot",
    fence,
    holds: () => true,
    reaches: () => true,
    refused: () => void refused.push(fence),
    ...may,
  });
  return {
    store,
    reserved,
    refused,
    claim,
    asOwner: () => asOwner!("a"),
    range: (count: number) => range!(count),
    setFence: (fence: number) =>
      own.write([
        {
          sql: "INSERT INTO meta (key, value) VALUES ('fence', ?) ON CONFLICT (key) DO UPDATE SET value = ?",
          params: [String(fence), String(fence)],
        },
      ]),
    own: (held: Claim | undefined) => store.shared!.ownedBy((id) => (id === "a" ? held : undefined)),
    save: (value: string) => store.forAgent("a").commit(store.positions.save(PLACE, value)),
    value: () => store.positions.get(PLACE),
  };
}

describe("what belongs to an agent", () => {
  it("is changed by its owner, and the unit answers for each of its changes [OWN-5]", async () => {
    const { store, own, claim, setFence, value, refused } = rig();
    await setFence(3);
    own(claim(3));
    const units = store.forAgent("a");
    const session = { uuid: "s", agentId: "a", chatId: "c", name: "n", unnamed: false, now: 1 };
    const turn = { requestId: "r", kind: "message", keyId: null, told: 1, now: 1 };
    expect(
      await units.commit(
        store.positions.save(PLACE, "mine"),
        store.sessions.add(session),
        store.turns.start("s", turn),
        store.turns.start("gone", { ...turn, requestId: "q" }),
      ),
    ).toEqual([undefined, undefined, true, false]);
    expect(await value()).toBe("mine");
    expect(refused).toEqual([]);
  });

  it("is not changed by who does not own it, who may have lost it, or before the owners are known [OWN-5]", async () => {
    const { own, claim, setFence, save, value, refused } = rig();
    await setFence(1);
    const isRefused = () =>
      expect(save("another's")).rejects.toMatchObject({
        name: "FENCED",
        code: "UNAVAILABLE",
        headers: { "retry-after": "5" },
      });
    await isRefused();
    own(undefined);
    await isRefused();
    own(claim(1, { holds: () => false }));
    await isRefused();
    expect(await value()).toBeUndefined();
    // The store was not even asked.
    expect(refused).toEqual([]);
  });

  it("is refused whole where the store knows of a newer owner, and the claim hears of it [OWN-5, OWN-8]", async () => {
    const { own, claim, setFence, save, value, refused } = rig();
    await setFence(2);
    own(claim(1));
    await expect(save("too late")).rejects.toThrow(FencedError);
    expect([await value(), refused]).toEqual([undefined, [1]]);
  });

  it("fails as it does for anybody where the fence is not to blame [OWN-5]", async () => {
    const { store, own, claim, setFence, refused } = rig();
    await setFence(1);
    own(claim(1));
    const error = await store
      .forAgent("a")
      .commit(store.turns.mustRun("no turn"))
      .catch((failure: unknown) => failure);
    expect(error).not.toBeInstanceOf(FencedError);
    expect(String(error)).toContain("turn_parts");
    expect(refused).toEqual([]);
  });

  it("tells whether it is still this gateway's, and whether that can be seen [OWN-1, FENCE-3]", () => {
    const { store, own, claim } = rig();
    const now = (agentId = "a") => {
      const { holds, reaches } = store.forAgent(agentId);
      return [holds(), reaches()];
    };
    expect(now()).toEqual([false, false]);
    own(claim(1, { reaches: () => false }));
    expect([now(), now("b")]).toEqual([
      [true, false],
      [false, false],
    ]);
    own(claim(1, { holds: () => false }));
    expect(now()).toEqual([false, true]);
  });

  it("goes in slices under the fence as well, once it is said who owns what [FENCE-1]", async () => {
    const { asOwner, own, claim, setFence, refused } = rig();
    await setFence(1);
    const fences = () => asOwner()(async (fence) => fence.map(({ params }) => params[0]));
    expect(await fences()).toEqual([]);
    own(claim(7));
    expect(await fences()).toEqual(["7"]);
    const slice = asOwner()(async () => {
      throw new Error(FENCE);
    });
    await expect(slice).rejects.toThrow(FencedError);
    expect(refused).toEqual([7]);
    own(undefined);
    await expect(fences()).rejects.toThrow(FencedError);
  });
});

describe("ids in a store of several gateways", () => {
  const by = { bootId: "boot", workspace: "w" };

  it("of an agent that was taken are above all that were given before [OWN-6]", async () => {
    const { store, reserved } = rig({ takes: 4 });
    expect(store.ids.message()).toBe(1);
    expect(await store.shared!.directory.take("a", by, undefined)).toBe(4);
    expect(reserved.length).toBe(1);
    expect(store.ids.message()).toBe(1_000_000);
  });

  it("stay as they are when somebody else was faster [OWN-6]", async () => {
    const { store, reserved } = rig({ takes: undefined });
    expect(await store.shared!.directory.take("a", by, undefined)).toBeUndefined();
    expect(reserved).toEqual([]);
    expect(store.ids.message()).toBe(1);
  });

  it("of an import are reserved in the store, for this gateway alone [OWN-6]", async () => {
    const { range, reserved } = rig();
    expect(await range(500)).toBe(1_000_000);
    expect(reserved[0]).toBe(500);
  });
});

it("an agent in a store of one gateway is that gateway's [OWN-1]", async () => {
  const store = createStore(sqliteDriver(memoryDatabase()));
  const units = store.forAgent("a");
  expect([units.holds(), units.reaches(), store.shared]).toEqual([true, true, undefined]);
  await units.commit(store.positions.save(PLACE, "mine"));
  expect(await store.positions.get(PLACE)).toBe("mine");
});
