import { describe, expect, it } from "vitest";
import { createSharedIds, IDS_AT_ONCE } from "../../../packages/gateway/src/store/ids.ts";

const HALF = IDS_AT_ONCE / 2;
const soon = () => new Promise((resolve) => setImmediate(resolve));

/** Ids from a store whose other gateways have reserved up to `last`; it answers when the test says so. */
function rig(last = 0) {
  const asked: { count: number; answer: (first: number) => void; fail: (error: Error) => void }[] = [];
  const ids = createSharedIds(
    last,
    (count) => new Promise((answer, fail) => void asked.push({ count, answer, fail })),
  );
  return {
    ids,
    asked,
    give(count: number) {
      for (let n = 1; n < count; n++) ids.message();
      return ids.message();
    },
  };
}

describe("ids of a gateway that shares its store", () => {
  it("rise by one through a block, and the next block is there before the first is used up [OWN-6]", async () => {
    const { ids, asked, give } = rig(1_000);
    expect(ids.message()).toBe(1_001);
    expect(give(HALF - 1)).toBe(1_000 + HALF);
    expect(asked).toEqual([]);
    expect(give(1)).toBe(1_001 + HALF);
    expect(asked).toMatchObject([{ count: IDS_AT_ONCE }]);
    give(10);
    expect(asked.length).toBe(1);
    asked[0]!.answer(700_000);
    await soon();
    expect(give(HALF - 11)).toBe(1_000 + IDS_AT_ONCE);
    expect(ids.message()).toBe(700_000);
    expect(give(HALF - 1)).toBe(700_000 + HALF - 1);
    expect(asked.length).toBe(1);
    give(1);
    expect(asked.length).toBe(2);
  });

  it("are refused rather than given twice when no block comes, and go on as soon as one does [OWN-6]", async () => {
    const { ids, asked, give } = rig();
    expect(give(IDS_AT_ONCE)).toBe(IDS_AT_ONCE);
    asked[0]!.fail(new Error("away"));
    expect(() => ids.message()).toThrow(expect.objectContaining({ code: "UNAVAILABLE" }));
    await soon();
    expect(asked.length).toBe(1);
    expect(() => ids.message()).toThrow(expect.objectContaining({ code: "UNAVAILABLE" }));
    expect(asked.length).toBe(2);
    asked[1]!.answer(900_000);
    await soon();
    expect(give(IDS_AT_ONCE)).toBe(899_999 + IDS_AT_ONCE);
    expect(() => ids.message()).toThrow(expect.objectContaining({ code: "UNAVAILABLE" }));
  });

  it("begin a new block once an agent was taken, whatever was reserved before [OWN-6]", async () => {
    const { ids, asked, give } = rig();
    give(HALF + 1);
    asked[0]!.answer(200_000);
    await soon();
    const taken = ids.renew();
    // For the agents that the gateway had before.
    expect(ids.message()).toBe(HALF + 2);
    asked[1]!.answer(500_000);
    await taken;
    expect(give(IDS_AT_ONCE)).toBe(499_999 + IDS_AT_ONCE);
    expect(() => ids.message()).toThrow();
  });

  it("never fall, in whatever order blocks arrive [OWN-6]", async () => {
    const { ids, asked, give } = rig();
    const renewals = [ids.renew(), ids.renew()];
    asked[1]!.answer(600_000);
    await soon();
    expect(ids.message()).toBe(600_000);
    asked[0]!.answer(500_000);
    await Promise.all(renewals);
    expect(ids.message()).toBe(600_001);
    // A block that was asked for before an agent was taken, and arrives after it.
    give(HALF);
    const late = asked[2]!;
    const taken = ids.renew();
    asked[3]!.answer(800_000);
    await taken;
    late.answer(700_000);
    await soon();
    expect(ids.message()).toBe(800_000);
    expect(give(HALF)).toBe(800_000 + HALF);
    asked[4]!.answer(900_000);
    await soon();
    expect(give(HALF - 1)).toBe(799_999 + IDS_AT_ONCE);
    expect(ids.message()).toBe(900_000);
  });

  it("never fall where the store reserves a block that was asked for while an agent is taken first [OWN-6]", async () => {
    const { ids, asked, give } = rig();
    give(HALF);
    const taken = ids.renew();
    ids.message();
    const [renewal, ahead] = asked;
    ahead!.answer(300_000);
    await soon();
    renewal!.answer(400_000);
    await taken;
    expect(give(IDS_AT_ONCE)).toBe(399_999 + IDS_AT_ONCE);
    asked[2]!.answer(500_000);
    await soon();
    // Not 300,000, which is below what was given since.
    expect(ids.message()).toBe(500_000);
  });

  it("of an import come in a row, and what is said after it began is above them [OWN-6]", async () => {
    const { ids, asked } = rig();
    expect(ids.message()).toBe(1);
    const range = ids.range(25_000);
    expect(asked.map(({ count }) => count)).toEqual([25_000]);
    asked[0]!.answer(100_001);
    await soon();
    asked[1]!.answer(125_001);
    expect(await range).toBe(100_001);
    expect(ids.message()).toBe(125_001);
  });

  it("are not promised where no block of their own could be reserved [OWN-6]", async () => {
    const { ids, asked } = rig();
    const taken = ids.renew();
    asked[0]!.fail(new Error("away"));
    await expect(taken).rejects.toThrow("away");
  });
});
