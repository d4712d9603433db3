import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { rememberBot } from "../../../../packages/gateway/src/channels/botchat/identity.ts";
import { webhook } from "../../../../packages/gateway/src/channels/botchat/webhook.ts";
import type { WebhookRequest } from "../../../../packages/gateway/src/channels/types.ts";
import { openConnection } from "../../../fixtures/connection.ts";
import { BOT, startFakeBotchat } from "../../../fixtures/fake-botchat.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { until } from "../../../harness.ts";
import { adapterFor, agentWith } from "./harness.ts";

const SECRET = "a-secret_of-the-webhook";
const agent = (fields: object = {}) =>
  agentWith({ mode: "webhook", botToken: "555:token", webhookSecret: SECRET, ...fields });
const request = (body: unknown, headers: object = { "x-telegram-bot-api-secret-token": SECRET }) =>
  ({
    method: "POST",
    headers,
    query: new URLSearchParams(),
    body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
  }) as WebhookRequest;
const update = (fields: object = {}) => ({
  update_id: 1,
  message: {
    message_id: 2,
    date: 3,
    chat: { id: -5, type: "group" },
    from: { id: 9, first_name: "Ada" },
    text: "hello",
    ...fields,
  },
});

describe("a webhook's request", () => {
  it("is taken with the secret alone [CH-BOTCHAT-16]", () => {
    const verdict = webhook.handle(request(update()), agent(), 0);
    expect(verdict).toMatchObject({
      status: 200,
      json: { ok: true },
      messages: [{ eventId: "555:1", chatId: "-5", text: "hello" }],
    });
    for (const headers of [
      {},
      { "x-telegram-bot-api-secret-token": "" },
      { "x-telegram-bot-api-secret-token": `${SECRET}x` },
      { "x-telegram-bot-api-secret-token": SECRET.toUpperCase() },
      { "x-telegram-bot-api-secret-token": [SECRET, SECRET] },
      { authorization: SECRET },
    ]) {
      expect(webhook.handle(request(update(), headers), agent(), 0).status).toBe(401);
    }
    expect(webhook.handle({ ...request(""), method: "GET" }, agent(), 0)).toMatchObject({ status: 200 });
    expect(webhook.handle({ ...request("", {}), method: "GET" }, agent(), 0)).toMatchObject({ status: 401 });
  });

  it("is never taken with another secret [CH-BOTCHAT-16]", () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(SECRET.length), (noise, at) => {
        const forged = SECRET.slice(0, at) + noise + SECRET.slice(at + 1);
        fc.pre(forged !== SECRET);
        const headers = { "x-telegram-bot-api-secret-token": forged };
        expect(webhook.handle(request(update(), headers), agent(), 0).status).toBe(401);
      }),
      { numRuns: 1000 },
    );
  });

  it("may be anything else: nothing makes it throw [CH-BOTCHAT-16]", () => {
    expect(webhook.handle(request("{"), agent(), 0).status).toBe(400);
    expect(webhook.handle(request({ update_id: 4, poll: {} }), agent(), 0)).toMatchObject({
      status: 200,
      messages: [],
    });
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(webhook.handle(request(value ?? "null"), agent(), 0).status).toBeLessThan(401);
      }),
    );
  });

  it("with a mention is not taken before the bot's name is known [CH-BOTCHAT-16]", () => {
    const fields = { text: "@some_bot hi", entities: [{ type: "mention", offset: 0, length: 9 }] };
    expect(webhook.handle(request(update(fields)), agent(), 0).status).toBe(400);
    rememberBot("556:token", { id: 556, username: "some_bot" });
    expect(webhook.handle(request(update(fields)), agent({ botToken: "556:token" }), 0)).toMatchObject({
      messages: [{ mentioned: true, text: "hi" }],
    });
  });

  it("that answers the bot is known by the token alone [CH-BOTCHAT-16]", () => {
    const reply_to_message = { message_id: 1, from: { id: 555, is_bot: true } };
    expect(webhook.handle(request(update({ reply_to_message })), agent(), 0)).toMatchObject({
      messages: [{ mentioned: true }],
    });
  });

  it("finds no agent that does not use webhooks [CH-BOTCHAT-16]", () => {
    expect(webhook.enabled(agent())).toBe(true);
    for (const fields of [
      { mode: "polling" },
      { webhookSecret: undefined },
      { botToken: undefined },
      { enabled: false },
    ]) {
      expect(webhook.enabled(agent(fields))).toBe(false);
    }
    expect(webhook.enabled({ ...agent(), botchat: undefined })).toBe(false);
  });
});

describe("webhook mode", () => {
  const publicUrl = "https://gateway.example/gateway";
  async function setup(fields: object = {}, url: string | undefined = publicUrl) {
    const api = await startFakeBotchat();
    onTestFinished(() => api.stop());
    const clock = manualClock();
    const botchat = {
      mode: "webhook",
      botToken: BOT.token,
      apiBaseUrl: api.url,
      webhookSecret: SECRET,
      ...fields,
    };
    const made = await adapterFor({ botchat, clock, ...(url !== undefined && { publicUrl: url }) });
    return { api, clock, ...made };
  }

  it("has Telegram deliver, in order, and asks how it goes [CH-BOTCHAT-17]", async () => {
    const { api, clock, adapter } = await setup();
    const { state } = openConnection(adapter);
    await until(() => state.alive === 1, "the first proof");
    expect(api.callsOf("setWebhook")[0]!.params).toEqual({
      url: `${publicUrl}/webhooks/botchat/assistant`,
      secret_token: SECRET,
      allowed_updates: ["message", "callback_query"],
      max_connections: 1,
      drop_pending_updates: false,
    });
    clock.advance(30_000);
    await until(() => state.alive === 2, "the second proof");
  });

  it("says when another gateway took the webhook [CH-BOTCHAT-17]", async () => {
    const { api, clock, adapter } = await setup();
    const { state, done } = openConnection(adapter);
    await until(() => state.alive === 1, "the first proof");
    await fetch(`${api.url}/bot${BOT.token}/setWebhook`, {
      method: "POST",
      body: JSON.stringify({ url: "https://elsewhere.example/" }),
    });
    clock.advance(30_000);
    expect(await done).toBe("The bot's webhook was changed elsewhere: a bot belongs to one gateway.");
  });

  it("says when Telegram cannot deliver [CH-BOTCHAT-17]", async () => {
    const { api, clock, adapter } = await setup();
    api.fault("getWebhookInfo", {
      kind: "status",
      status: 200,
      body: {
        ok: true,
        result: {
          url: `${publicUrl}/webhooks/botchat/assistant`,
          pending_update_count: 3,
          last_error_date: clock.now() / 1000 + 5,
          last_error_message: "Connection refused",
        },
      },
    });
    expect(await openConnection(adapter).done).toBe("Telegram cannot deliver: Connection refused");
  });

  it.each([
    ["no public URL", {}, undefined, "botchat.mode webhook requires gateway.publicUrl."],
    [
      "no secret",
      { webhookSecret: undefined },
      publicUrl,
      "botchat.mode webhook requires botchat.webhookSecret.",
    ],
    [
      "a secret that Telegram does not take",
      { webhookSecret: "ä" },
      publicUrl,
      "botchat.webhookSecret may contain only letters, digits, _ and -, at most 256.",
    ],
  ])("needs more than %s [CH-BOTCHAT-17]", async (_what, fields, url, sentence) => {
    const api = await startFakeBotchat();
    onTestFinished(() => api.stop());
    const botchat = {
      mode: "webhook",
      botToken: BOT.token,
      apiBaseUrl: api.url,
      webhookSecret: SECRET,
      ...fields,
    };
    const { adapter } = await adapterFor({ botchat, ...(url !== undefined && { publicUrl: url }) });
    expect(await openConnection(adapter).done).toBe(sentence);
    expect(api.calls).toHaveLength(0);
  });
});
