import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTakenOnce, readInitData } from "../../../packages/gateway/src/terminal/init-data.ts";
import { type Asker, createPairings } from "../../../packages/gateway/src/terminal/pairings.ts";
import { signed } from "../../fixtures/init-data.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { BOT_TOKEN } from "../../fixtures/terminal-rig.ts";

const asker = (more: Partial<Asker> = {}): Asker => ({
  agentId: "assistant",
  channel: "guildchat",
  chatId: "chat",
  senderId: "me",
  ...more,
});
const MINUTE = 60_000;

describe("a pairing", () => {
  it("follows its rules in any order of acts and at any pace [PAIR-2, PAIR-3, PAIR-4]", () => {
    const who = fc.constantFrom(asker(), asker({ senderId: "you" }), asker({ agentId: "second" }));
    const one = fc.nat(7);
    const act = fc.oneof(
      who.map((from) => ({ act: "begin" as const, from })),
      one.map((which) => ({ act: "bind" as const, which })),
      one.map((which) => ({ act: "approve" as const, which })),
      one.map((which) => ({ act: "deny" as const, which })),
      one.map((which) => ({ act: "end" as const, which })),
      fc.integer({ min: 1, max: 12 }).map((minutes) => ({ act: "wait" as const, minutes })),
    );
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        const clock = manualClock();
        const pairings = createPairings(clock);
        /** What each should be, by a model that knows nothing of how it is kept. */
        const model: Array<{
          id: string;
          code: string;
          from: Asker;
          until: number;
          browser?: string;
          state: "waiting" | "approved" | "denied" | "over";
        }> = [];
        const lives = (each: (typeof model)[number]) => each.state !== "over" && each.until > clock.elapsed();
        for (const step of acts) {
          if (step.act === "wait") clock.advance(step.minutes * MINUTE);
          else if (step.act === "begin") {
            const own = model.filter((each) => lives(each) && each.from.agentId === step.from.agentId);
            if (own.length === 5) own[0]!.state = "over";
            const { id, code } = pairings.begin(step.from);
            model.push({ id, code, from: step.from, until: clock.elapsed() + 10 * MINUTE, state: "waiting" });
          } else {
            const each = model.at(-1 - step.which);
            if (!each) continue;
            if (step.act === "bind") {
              const token = pairings.bind(each.id);
              expect(token !== undefined).toBe(lives(each) && each.browser === undefined);
              if (token !== undefined) each.browser = token;
            } else if (step.act === "approve") {
              const may = lives(each) && each.state === "waiting" && each.browser !== undefined;
              expect(pairings.approve(each.id)).toBe(may);
              if (may) Object.assign(each, { state: "approved", until: clock.elapsed() + 30 * MINUTE });
            } else if (step.act === "deny") {
              pairings.deny(each.id);
              if (lives(each)) each.state = "denied";
            } else {
              pairings.end(each.id);
              each.state = "over";
            }
          }
          for (const each of model) {
            const state = lives(each) ? each.state : undefined;
            expect(pairings.find(each.id)?.state).toBe(state);
            expect(pairings.isOpen(each.id)).toBe(state === "approved");
            expect(pairings.viewerToken(each.id) !== undefined).toBe(state === "approved");
            expect(pairings.isBrowser(each.id, each.browser)).toBe(
              state !== undefined && each.browser !== undefined,
            );
            expect(pairings.isBrowser(each.id, "another")).toBe(false);
            expect(pairings.isViewer(each.id, each.browser)).toBe(false);
            expect(pairings.byCode(each.from, each.code.toLowerCase())?.id).toBe(
              state === undefined ? undefined : each.id,
            );
            expect(pairings.byCode({ ...each.from, senderId: "stranger" }, each.code)).toBeUndefined();
            expect(pairings.byCode({ ...each.from, chatId: "elsewhere" }, each.code)).toBeUndefined();
          }
        }
      }),
    );
  });

  it("has an id of 128 random bits and a code of six characters [PAIR-2]", () => {
    const pairings = createPairings(manualClock());
    const made = Array.from({ length: 50 }, () => pairings.begin(asker()));
    expect(new Set(made.map(({ id }) => id)).size).toBe(50);
    for (const { id, code } of made) {
      expect(id).toMatch(/^[0-9a-f]{32}$/);
      expect(code).toMatch(/^[A-HJKMNP-Z2-9]{6}$/);
    }
  });
});

describe("the signed data of a web app", () => {
  const now = 1_800_000_000_000;
  const fields = {
    auth_date: String(now / 1000),
    query_id: "AAH",
    signature: "third-party",
    user: '{"id":42,"first_name":"A & B"}',
  };
  const read = (text: string, at = now) => readInitData(text, BOT_TOKEN, at)?.userId;

  it("counts for the bot that signed it, for five minutes [PAIR-5]", () => {
    expect(read(signed(fields, BOT_TOKEN))).toBe("42");
    expect(read(signed(fields, BOT_TOKEN), now + 300_000)).toBe("42");
    expect(read(signed(fields, BOT_TOKEN), now + 300_001)).toBeUndefined();
    expect(read(signed(fields, BOT_TOKEN), now - 60_001)).toBeUndefined();
    expect(read(signed(fields, "another:token"))).toBeUndefined();
  });

  it("counts only unchanged and whole [PAIR-5]", () => {
    const good = signed(fields, BOT_TOKEN);
    expect(read(good.replace("42", "43"))).toBeUndefined();
    expect(read(`${good}&more=1`)).toBeUndefined();
    expect(read(`${good}&user=%7B%22id%22%3A43%7D`)).toBeUndefined();
    expect(read(good.replace(/hash=[^&]*/, "hash="))).toBeUndefined();
    expect(read(good.replace(/hash=/, "hash=00"))).toBeUndefined();
    for (const text of ["", "hash", "%", "a=b&a=c", "&&&", "x".repeat(100_000)])
      expect(read(text)).toBeUndefined();
    for (const user of ["", "null", "[]", '{"id":"42"}', '{"id":1.5}', "{"])
      expect(read(signed({ ...fields, user }, BOT_TOKEN))).toBeUndefined();
    for (const auth_date of ["", "soon", "1e9", "-1"])
      expect(read(signed({ ...fields, auth_date }, BOT_TOKEN))).toBeUndefined();
  });

  it("is taken once [PAIR-5]", () => {
    const clock = manualClock();
    const take = createTakenOnce(clock);
    expect([take("a"), take("a"), take("b")]).toEqual([true, false, true]);
    clock.advance(359_999);
    expect(take("a")).toBe(false);
  });
});
