import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createAdapter } from "../../../../packages/gateway/src/channels/sigchat/index.ts";
import type { AdapterContext } from "../../../../packages/gateway/src/channels/types.ts";
import { openAdapter, outgoing, unending } from "../../../fixtures/adapter.ts";
import { startFakeSigchat } from "../../../fixtures/fake-sigchat.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";

const REPLY = "/v2/bot/message/reply";

let line: Awaited<ReturnType<typeof startFakeSigchat>>;
beforeEach(async () => {
  const fake = await startFakeSigchat();
  line = fake;
  onTestFinished(() => fake[Symbol.asyncDispose]());
});

const open = (extra: Partial<AdapterContext> = {}) =>
  openAdapter(
    createAdapter,
    "sigchat",
    { channelAccessToken: line.token, apiBaseUrl: line.apiBaseUrl, dataApiBaseUrl: line.apiBaseUrl },
    extra,
  );
/** A text that answers a message with this token. */
const answer = (words: string, token: string, receivedAt = Date.now()) =>
  outgoing("U1", words, { reply: { replyToken: token }, receivedAt });

describe("a message that may have arrived", () => {
  it("is repeated with its token as long as that is good, and never pushed [CH-SIG-2, CH-UNSURE-2]", async () => {
    const { adapter } = await open();
    for (const taken of [false, true]) {
      const token = `token-${taken}`;
      line.tokens.add(token);
      line.fail(REPLY, { kind: "drop", taken });
      const message = answer(`taken ${taken}`, token);
      expect(await adapter.send(message, unending)).toMatchObject({ status: "unknown" });
      const again = { ...message, uncertainAt: Date.now() };
      expect(adapter.repeatable!(again)).toBe(true);
      const outcome = await adapter.send(again, unending);
      expect(outcome).toMatchObject(taken ? { status: "unknown", final: true } : { status: "sent" });
    }
    expect(line.texts()).toEqual(["taken false", "taken true"]);
    expect(line.taken.map(({ via }) => via)).toEqual(["reply", "reply"]);
  });

  it("is not repeated when its token or its key is over [CH-UNSURE-2]", async () => {
    const clock = manualClock();
    const { adapter } = await open({ clock });
    const uncertainAt = clock.now();
    const replied = { ...answer("x", "t1", uncertainAt), uncertainAt };
    const pushed = { ...answer("y", "", uncertainAt), uncertainAt };
    const good = () => [replied, pushed].map((message) => adapter.repeatable!(message));
    expect(good()).toEqual([true, true]);
    clock.advance(51_000);
    expect(good()).toEqual([false, true]);
    clock.advance(23 * 3_600_000);
    expect(good()).toEqual([false, false]);
  });
});
