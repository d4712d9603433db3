import { describe, expect, it, onTestFinished } from "vitest";
import { checkToken } from "../../../../packages/gateway/src/channels/botchat/check.ts";
import { BOT, startFakeBotchat } from "../../../fixtures/fake-botchat.ts";

const REFUSED = { refused: "Telegram does not know this bot token; copy it again from @BotFather." };
const signal = () => AbortSignal.timeout(5_000);

describe("a bot's token", () => {
  it("is good, refused, or cannot be judged [CH-BOTCHAT-18]", async () => {
    const api = await startFakeBotchat();
    onTestFinished(() => api.stop());
    const check = (botToken: string) => checkToken({ botToken, apiBaseUrl: `${api.url}/` }, signal());
    expect(await check(BOT.token)).toEqual({ ok: true, username: BOT.username });
    expect(await check("1:wrong")).toEqual(REFUSED);
    for (const odd of ["../x", "a b", "", "x?y", "x#y"]) expect(await check(odd)).toEqual(REFUSED);
    expect(api.calls).toHaveLength(2);
    api.fault("getMe", { kind: "status", status: 500 });
    expect(await check(BOT.token)).toEqual({ unreachable: true });
    api.fault("getMe", { kind: "drop" });
    expect(await check(BOT.token)).toEqual({ unreachable: true });
    await api.stop();
    expect(await check(BOT.token)).toEqual({ unreachable: true });
  });

  it("is not waited for after the signal [CH-BOTCHAT-18]", async () => {
    const api = await startFakeBotchat();
    onTestFinished(() => api.stop());
    api.fault("getMe", { kind: "hang" });
    const settings = { botToken: BOT.token, apiBaseUrl: api.url };
    expect(await checkToken(settings, AbortSignal.timeout(50))).toEqual({ unreachable: true });
  });
});
