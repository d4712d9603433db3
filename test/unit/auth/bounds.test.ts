import { describe, expect, it } from "vitest";
import type { Principal } from "../../../packages/gateway/src/auth/index.ts";
import { createTickets, hasLevel, principalNow, reaches } from "../../../packages/gateway/src/auth/index.ts";
import { createThrottle } from "../../../packages/gateway/src/auth/throttle.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";

const principal = (over: Partial<Principal> = {}): Principal => ({
  kind: "key",
  id: "key-1",
  keyId: "one",
  level: "key",
  agents: new Set(["a"]),
  ...over,
});

describe("a level", () => {
  it("holds itself and what is below it [AUTH-3]", () => {
    const levels = ["key", "write", "admin"] as const;
    const held = levels.map((level) => levels.filter((wanted) => hasLevel(principal({ level }), wanted)));
    expect(held).toEqual([["key"], ["key", "write"], ["key", "write", "admin"]]);
  });

  it("says nothing of which agents are reached [AUTH-3]", () => {
    expect(["a", "b"].map((id) => reaches(principal({ level: "admin" }), id))).toEqual([true, false]);
    expect(reaches(principal({ agents: "*" }), "b")).toBe(true);
  });
});

describe("a principal as it is now", () => {
  const found = principal({ id: "found" });
  const admin = principal({ id: "admin" });
  const keys = {
    find: (id: string) => (id === "key-1" ? found : undefined),
    admin: (id: string) => (id === "key-1" ? admin : undefined),
  };

  it("is that of its key; for a login, of the admin key that opened it [AUTH-4]", () => {
    expect(principalNow(keys, principal())).toBe(found);
    expect(principalNow(keys, principal({ kind: "dashboard", id: "dashboard-key-1" }))).toBe(admin);
    expect(principalNow(keys, principal({ kind: "dashboard", id: "dashboard-key-2" }))).toBeUndefined();
    expect(principalNow(keys, principal({ id: "dashboard-key-1" }))).toBeUndefined();
  });
});

describe("a ticket", () => {
  const holder = { principal: principal(), agentId: "a", sessionId: "s" };

  it("is good once, for 30 seconds, and each is another [WS-2]", () => {
    const clock = manualClock();
    const tickets = createTickets(clock);
    const issued = Array.from({ length: 3 }, () => tickets.issue(holder));
    expect(new Set(issued.map(({ ticket }) => ticket)).size).toBe(3);
    expect(issued[0]!.ticket).toMatch(/^[\w-]{43}$/);
    expect(issued[0]!.expiresAt).toBe(clock.now() + 30_000);
    clock.advance(29_999);
    expect(tickets.take(issued[0]!.ticket)).toBe(holder);
    expect(tickets.take(issued[0]!.ticket)).toBeUndefined();
    clock.advance(1);
    expect(tickets.take(issued[1]!.ticket)).toBeUndefined();
    expect(tickets.take("unknown")).toBeUndefined();
  });

  it("goes by time that passes, not by the wall clock [WS-2]", () => {
    const clock = manualClock();
    const tickets = createTickets(clock);
    const { ticket } = tickets.issue(holder);
    clock.jump(86_400_000);
    expect(tickets.take(ticket)).toBe(holder);
  });

  it("makes room for the thousand-and-first: the oldest is gone, the others are good [WS-2]", () => {
    const tickets = createTickets(manualClock());
    const issued = Array.from({ length: 1001 }, () => tickets.issue(holder).ticket);
    expect(issued.map((ticket) => tickets.take(ticket) === holder)).toEqual([
      false,
      ...Array<boolean>(1000).fill(true),
    ]);
  });
});

describe("addresses that fail", () => {
  it("are forgotten a minute after their first failure [LIM-2]", () => {
    const clock = manualClock();
    const throttle = createThrottle(clock);
    for (let n = 0; n < 19; n++) throttle.failed("192.0.2.1");
    expect(throttle.wait("192.0.2.1")).toBe(0);
    clock.advance(59_500);
    throttle.failed("192.0.2.1");
    expect(throttle.wait("192.0.2.1")).toBe(1);
    clock.advance(500);
    expect(throttle.wait("192.0.2.1")).toBe(0);
    throttle.failed("192.0.2.1");
    expect(throttle.wait("192.0.2.1")).toBe(0);
  });

  it("are at most ten thousand, of which the oldest is forgotten first [LIM-2]", () => {
    const throttle = createThrottle(manualClock());
    const address = (n: number) => `10.0.${n >> 8}.${n & 255}`;
    const fail = (n: number) => {
      for (let times = 0; times < 20; times++) throttle.failed(address(n));
    };
    for (let n = 0; n < 10_000; n++) fail(n);
    expect([throttle.wait(address(0)), throttle.wait(address(9_999))]).toEqual([60, 60]);
    fail(10_000);
    expect([0, 1, 10_000].map((n) => throttle.wait(address(n)))).toEqual([0, 60, 60]);
  });
});
