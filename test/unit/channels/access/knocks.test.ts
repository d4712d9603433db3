import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Knock,
  recordKnock,
  waitingAt,
} from "../../../../packages/gateway/src/channels/access/knocks.ts";
import type { ChannelName } from "../../../../packages/gateway/src/channels/types.ts";
import { mintCode, sameCode } from "../../../../packages/gateway/src/lib/short-code.ts";
import { message } from "./open-access.ts";

const ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";

describe("pairing codes", () => {
  it("are six characters of the alphabet, each equally likely in each place [CH-ACCESS-5]", () => {
    const draws = 20_000;
    const counts = Array.from({ length: 6 }, () => new Map<string, number>());
    for (let at = 0; at < draws; at++) {
      const code = mintCode(new Set());
      expect(code).toMatch(/^[ABCDEFGHJKMNPQRSTUVWXYZ23456789]{6}$/);
      for (const [place, char] of [...code].entries()) {
        counts[place]!.set(char, (counts[place]!.get(char) ?? 0) + 1);
      }
    }
    const wanted = draws / ALPHABET.length;
    for (const count of counts) {
      const chi = [...ALPHABET].reduce(
        (sum, char) => sum + ((count.get(char) ?? 0) - wanted) ** 2 / wanted,
        0,
      );
      // 30 degrees of freedom: above 80 with a probability of two in a million.
      expect(chi).toBeLessThan(80);
    }
  });

  it("are never given twice at a time, and match without regard to case [CH-ACCESS-5]", () => {
    const taken = new Set<string>();
    for (let at = 0; at < 5_000; at++) {
      const code = mintCode(taken);
      expect(taken.has(code)).toBe(false);
      taken.add(code);
    }
    expect(sameCode("abc234", "ABC234")).toBe(true);
    expect(sameCode(" ABC234\n", "abc234")).toBe(true);
    expect(sameCode("ABC235", "ABC234")).toBe(false);
  });
});

interface Step {
  channel: ChannelName;
  kind: "dm" | "group" | "room";
  who: number;
  wait: number;
  pairing: boolean;
}
const steps = (channel: ChannelName) =>
  fc.array(
    fc.record<Step>({
      channel: fc.constant(channel),
      kind: fc.constantFrom("dm", "group", "room"),
      who: fc.nat(8),
      wait: fc.nat(1_500_000),
      pairing: fc.boolean(),
    }),
    { maxLength: 40 },
  );

describe("what waits", () => {
  it.each(["botchat", "sigchat", "teamchat", "devicechat"] as const)(
    "is at most five, keeps its code for an hour and tells it twice: %s [CH-ACCESS-6, CH-ACCESS-7]",
    (channel) => {
      fc.assert(
        fc.property(steps(channel), (list) => {
          let now = 1_000_000;
          let knocks: Knock[] = [];
          const told = new Map<string, number>();
          for (const { kind, who, wait, pairing } of list) {
            now += wait;
            const before = waitingAt(knocks, now);
            const asked = message({
              kind,
              senderId: `s${who}`,
              ...(kind !== "dm" && { groupId: `g${who}` }),
            });
            const taken = new Set(knocks.flatMap(({ code }) => code ?? []));
            const result = recordKnock(channel, knocks, asked, { now, pairing, taken });
            knocks = result.knocks;
            const { knock } = result;
            expect(knocks).toContain(knock);
            expect(knock).toMatchObject({ kind, id: kind === "dm" ? `s${who}` : `g${who}`, lastSeen: now });

            const old = before.find((one) => one.kind === kind && one.id === knock.id);
            expect(knock.count).toBe((old?.count ?? 0) + 1);
            if (old?.code !== undefined) expect(knock.code).toBe(old.code);
            else expect(knock.code !== undefined).toBe(pairing);
            expect(result.tell).toBe(pairing && (old?.replies ?? 0) < 2);
            if (result.tell) told.set(knock.code!, (told.get(knock.code!) ?? 0) + 1);

            const rivals = knocks.filter((one) => channel === "sigchat" || one.kind === kind);
            expect(rivals.length).toBeLessThanOrEqual(5);
            // Who had to go was seen before everyone who stays.
            const gone = before.filter(
              (one) => !knocks.some(({ id, kind: k }) => id === one.id && k === one.kind),
            );
            for (const one of gone) {
              expect(Math.min(...rivals.map(({ lastSeen }) => lastSeen))).toBeGreaterThanOrEqual(
                one.lastSeen,
              );
            }
            for (const one of knocks) expect(one.expiresAt ?? Number.POSITIVE_INFINITY).toBeGreaterThan(now);
          }
          for (const times of told.values()) expect(times).toBeLessThanOrEqual(2);
          expect(new Set(knocks.flatMap(({ code }) => code ?? [])).size).toBe(
            knocks.filter(({ code }) => code !== undefined).length,
          );
        }),
        { numRuns: 300 },
      );
    },
  );

  it("lasts an hour to the millisecond [CH-ACCESS-6]", () => {
    const now = 5_000;
    const { knocks, knock } = recordKnock("botchat", [], message(), { now, pairing: true, taken: new Set() });
    expect(knock.expiresAt).toBe(now + 3_600_000);
    expect(waitingAt(knocks, now + 3_599_999)).toHaveLength(1);
    expect(waitingAt(knocks, now + 3_600_000)).toEqual([]);
  });
});
