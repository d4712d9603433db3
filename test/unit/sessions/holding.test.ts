import { describe, expect, it } from "vitest";
import { createHolds } from "../../../packages/gateway/src/sessions/holds.ts";
import { createKeeper } from "../../../packages/gateway/src/sessions/kept-turns.ts";
import type { Turn } from "../../../packages/gateway/src/sessions/turn-types.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("a session that is reserved", () => {
  it("is held until the work ends, also if that fails, and no longer [TURN-8]", async () => {
    const released: string[] = [];
    const holds = createHolds((id) => released.push(id));
    const { promise, resolve } = Promise.withResolvers<string>();
    const work = holds.during("s", () => promise);
    expect([holds.has("s"), holds.has("t")]).toEqual([true, false]);
    await expect(holds.during("s", async () => {})).rejects.toMatchObject({ code: "SESSION_BUSY" });
    expect(released).toEqual([]);
    resolve("done");
    expect(await work).toBe("done");
    expect([holds.has("s"), released]).toEqual([false, ["s"]]);
    await expect(holds.during("s", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect([holds.has("s"), released]).toEqual([false, ["s", "s"]]);
  });

  it("goes to who asks for it next, who has the holder let go and waits for that [TURN-8]", async () => {
    const holds = createHolds(() => {});
    const { promise, resolve } = Promise.withResolvers<void>();
    const order: string[] = [];
    const first = holds.during("s", async () => {
      await promise;
      order.push("first");
    });
    const free = async () => {
      order.push("asked");
      resolve();
    };
    const next = holds.next("s", free, async () => order.push("next"));
    await Promise.all([first, next]);
    expect(order).toEqual(["asked", "first", "next"]);
    await holds.next("t", free, async () => order.push("at once"));
    expect(order).toEqual(["asked", "first", "next", "at once"]);
    await settle();
    expect(holds.has("s")).toBe(false);
  });
});

describe("turns that have ended", () => {
  const keeper = (retainMs = 1_000) => {
    const clock = manualClock();
    const bySession = new Map<string, Turn[]>();
    const keep = createKeeper(
      { clock, config: () => ({ gateway: { turns: { retainMs } } }) } as never,
      bySession,
    );
    const add = (sessionId: string, requestId: string, bytes = 10) =>
      keep({ sessionId, requestId, log: { bytes } } as unknown as Turn);
    const kept = () =>
      Object.fromEntries([...bySession].map(([id, turns]) => [id, turns.map(({ requestId }) => requestId)]));
    return { clock, add, kept };
  };

  it("stay readable for the configured time, each for its own, with one timer", () => {
    const { clock, add, kept } = keeper();
    add("s", "1");
    clock.advance(600);
    add("s", "2");
    add("t", "3");
    expect(clock.timers()).toBe(1);
    clock.advance(399);
    expect(kept()).toEqual({ s: ["1", "2"], t: ["3"] });
    clock.advance(1);
    expect(kept()).toEqual({ s: ["2"], t: ["3"] });
    clock.advance(600);
    expect(kept()).toEqual({});
    expect(clock.timers()).toBe(0);
    add("s", "4");
    expect(kept()).toEqual({ s: ["4"] });
    clock.advance(1_000);
    expect(kept()).toEqual({});
  });

  it("are two thousand at most: the oldest go first", () => {
    const { add, kept } = keeper();
    for (let n = 0; n < 2_100; n++) add("s", String(n));
    expect(kept().s).toHaveLength(2_000);
    expect(kept().s![0]).toBe("100");
  });

  it("are eight megabytes at most, but for the newest", () => {
    const { add, kept } = keeper();
    const MIB = 1024 * 1024;
    for (let n = 0; n < 8; n++) add("s", String(n), MIB);
    expect(kept().s).toHaveLength(8);
    add("t", "small", 1);
    expect(kept().s).toHaveLength(7);
    add("t", "huge", 100 * MIB);
    expect(kept()).toEqual({ t: ["huge"] });
    add("t", "next", 1);
    expect(kept()).toEqual({ t: ["next"] });
  });
});
