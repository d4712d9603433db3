import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { BOT, type FakeBotchat, startFakeBotchat } from "./fixtures/fake-botchat.ts";
import { type Gateway, type GatewayOptions, startGateway, until } from "./harness.ts";

const API = "/api/v1/agents/assistant";
const GROUP = -1001234;

async function startRig(options: GatewayOptions = {}) {
  const telegram = await startFakeBotchat();
  let gateway = await startGateway({
    ...options,
    agent: { ...options.agent, botchat: { botToken: BOT.token, apiBaseUrl: telegram.url } },
  });
  const rows = (sql: string): Array<Record<string, unknown>> => {
    const db = new DatabaseSync(join(gateway.home, "gateway.db"), { readOnly: true });
    try {
      return db.prepare(sql).all() as Array<Record<string, unknown>>;
    } finally {
      db.close();
    }
  };
  return {
    telegram,
    rows,
    get gateway(): Gateway {
      return gateway;
    },
    post: (path: string, body: object = {}) => gateway.json("POST", `${API}/botchat/${path}`, { body }),
    policy: (body: object) => gateway.json("PATCH", `${API}/botchat/policy`, { body }),
    async pending(): Promise<Array<Record<string, unknown>>> {
      const { body } = await gateway.json("GET", `${API}/botchat/pending`);
      return body.pending as Array<Record<string, unknown>>;
    },
    health: async () => {
      const { body } = await gateway.json("GET", `${API}/channels`);
      const channels = body.channels as Array<Record<string, unknown>>;
      return channels.find(({ channel }) => channel === "botchat")!;
    },
    async said(count: number, what: string, chat?: number): Promise<string[]> {
      await until(() => telegram.texts(chat).length >= count, what, 20_000);
      return telegram.texts(chat);
    },
    async restart(more: GatewayOptions = {}, end: "kill" | "stop" = "kill") {
      await gateway[end]();
      gateway = await startGateway({ home: gateway.home, ...more });
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await telegram.stop();
    },
  };
}

/** A rig where everybody may write. */
async function startOpenRig(options: GatewayOptions = {}) {
  const rig = await startRig(options);
  const { status } = await rig.policy({ dmPolicy: "open", groupPolicy: "open" });
  expect(status).toBe(200);
  return rig;
}

const mention = `@${BOT.username}`;

describe("Telegram", () => {
  it("a stranger knocks, is approved, is notified, and gets an answer [CH-BOTCHAT-20]", async () => {
    await using rig = await startRig();
    const { telegram } = rig;
    telegram.message("/start");
    const [told] = await rig.said(1, "the code");
    const knock = await until(async () => (await rig.pending())[0], "the knock");
    expect(knock).toMatchObject({ senderId: "501", chatId: "501", kind: "dm" });
    expect(told).toContain(knock.code);
    const { status, body } = await rig.post("approve", { code: knock.code });
    expect({ status, body }).toMatchObject({ status: 200, body: { ok: true, senderId: "501" } });
    await rig.said(2, "the confirmation");
    telegram.message("SAY hello **Ada**");
    const texts = await rig.said(3, "the answer");
    expect(texts[2]).toBe("hello <b>Ada</b>");
    expect(await rig.pending()).toEqual([]);
    const { body: history } = await rig.gateway.json("GET", `${API}/chats/botchat-501/messages?order=asc`);
    expect((history.messages as Array<{ role: string }>).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
    ]);
    telegram.message("SAY not for you", { chat: 502, from: 502 });
    await rig.said(1, "the other's code", 502);
    expect(telegram.texts(501)).toHaveLength(3);
  });

  it("a group's knock opens the group alone, where mentions are answered [CH-BOTCHAT-20]", async () => {
    await using rig = await startRig();
    const { telegram } = rig;
    telegram.message("not to the bot", { chat: GROUP });
    telegram.message(`${mention} let me in`, { chat: GROUP });
    const knock = await until(async () => (await rig.pending())[0], "the knock");
    expect(knock).toMatchObject({ kind: "group", chatId: String(GROUP), senderId: "501" });
    const { body } = await rig.post("approve", { code: knock.code });
    expect(body).toMatchObject({ ok: true, groupId: String(GROUP) });
    telegram.message("SAY nobody asked", { chat: GROUP });
    telegram.message(`${mention} SAY asked`, {
      chat: GROUP,
      from: 509,
      message_thread_id: 4,
      is_topic_message: true,
    });
    // What it says about the knock and the approval comes in its own time.
    await until(() => telegram.texts(GROUP).at(-1) === "asked", "the answer");
    expect(telegram.texts(GROUP)).not.toContain("nobody asked");
    expect(telegram.callsOf("sendMessage").at(-1)!.params).toMatchObject({
      message_thread_id: 4,
      reply_parameters: { allow_sending_without_reply: true },
    });
    telegram.message("SAY direct", { chat: 509, from: 509 });
    await rig.said(1, "the stranger's code", 509);
    expect(telegram.texts(509)[0]).not.toContain("direct");
  });

  it("photos and documents reach the agent, its images reach the chat [CH-BOTCHAT-21]", async () => {
    await using rig = await startOpenRig();
    const { telegram } = rig;
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    telegram.addFile("photo-1", png, { path: "photos/1.jpg" });
    telegram.addFile("doc-1", Buffer.from("%PDF-1.4 a document"), { path: "documents/1.pdf" });
    const photo = [{ file_id: "photo-1", width: 1, height: 1, file_size: png.length }];
    telegram.message("", { photo, caption: "look at this" });
    const [looked] = await rig.said(1, "the answer to the photo");
    expect(looked).toContain("img=1");
    telegram.message("", {
      document: { file_id: "doc-1", file_name: "../a.pdf", mime_type: "application/pdf" },
    });
    await rig.said(2, "the answer to the document");
    telegram.message("", { document: { file_id: "gone", file_name: "gone.pdf" }, caption: "RAW" });
    const texts = await rig.said(3, "the answer to the missing file");
    expect(texts[2]).toContain("unavailable");
    telegram.message("IMAGE");
    await until(() => telegram.callsOf("sendPhoto").length === 1, "the agent's image");
    expect(telegram.callsOf("sendPhoto")[0]!.files.photo!.bytes.equals(png)).toBe(true);
  });

  it("the same update three times is answered once, also after a kill [CH-BOTCHAT-22]", async () => {
    await using rig = await startOpenRig();
    const { telegram } = rig;
    const update = {
      message: {
        message_id: 9000,
        date: 1_700_000_000,
        chat: { id: 501, type: "private" },
        from: { id: 501, is_bot: false, first_name: "Ada" },
        text: "SAY once",
      },
    };
    for (let time = 0; time < 3; time++) telegram.push({ ...update, update_id: 70_000 });
    await rig.said(1, "the answer");
    await rig.restart();
    telegram.push({ ...update, update_id: 70_000 });
    telegram.message("SAY after");
    const texts = await rig.said(2, "the answer after the restart");
    expect(texts).toEqual(["once", "after"]);
  });

  it("killed in mid-conversation it loses and doubles nothing [CH-BOTCHAT-22]", async () => {
    await using rig = await startOpenRig();
    const { telegram } = rig;
    const wanted: string[] = [];
    for (let round = 0; round < 4; round++) {
      for (let n = 0; n < 5; n++) {
        const word = `r${round}n${n}`;
        wanted.push(word);
        telegram.message(`SAY ${word}`, { chat: 600 + n, from: 600 + n });
      }
      await until(() => telegram.texts().length >= round * 5 + 1, "a first answer of the round");
      await rig.restart();
    }
    await until(
      () =>
        rig.rows("SELECT 1 FROM channel_inbox WHERE state IN ('waiting', 'command', 'turn')").length === 0,
      "all turns",
      30_000,
    );
    await until(() => telegram.pending() === 0, "the confirmation of all updates", 20_000);
    await until(
      () => rig.rows("SELECT 1 FROM channel_outbox WHERE state IN ('pending', 'sending')").length === 0,
      "all deliveries",
      30_000,
    );
    const taken = rig.rows("SELECT count(*) AS n FROM channel_inbox");
    expect(taken).toEqual([{ n: wanted.length }]);
    const texts = telegram.texts().filter((text) => /^r\d/.test(text));
    const answers = new Set(texts);
    expect(texts.length).toBe(answers.size);
    // A send that was cut off by the kill is uncertain, and a turn that had said something is told to be interrupted.
    const uncertain = rig.rows("SELECT content FROM channel_outbox WHERE state <> 'sent'").length;
    const interrupted = telegram.texts().length - texts.length;
    expect(answers.size + uncertain + interrupted).toBeGreaterThanOrEqual(wanted.length);
  });

  it("what comes while Telegram is away is answered when it is back, and the state says so [CH-BOTCHAT-22]", async () => {
    await using rig = await startOpenRig();
    const { telegram } = rig;
    await until(async () => (await rig.health()).connected === true, "the connection");
    await telegram.stop();
    await until(async () => (await rig.health()).connected === false, "the end of the connection");
    expect((await rig.health()).lastError).toMatch(/^Telegram cannot be reached/);
    telegram.message("SAY still here");
    await telegram.start();
    expect(await rig.said(1, "the answer")).toEqual(["still here"]);
    await until(async () => (await rig.health()).connected === true, "the connection");
    expect((await rig.health()).lastError).toBeNull();
  });

  it("a refused send is tried again, an uncertain one is not [CH-BOTCHAT-22]", async () => {
    await using rig = await startOpenRig();
    const { telegram } = rig;
    telegram.fault("sendMessage", { kind: "status", status: 502, body: "<html>Bad Gateway</html>" });
    telegram.message("SAY tried again");
    await rig.said(2, "the second attempt");
    telegram.fault("sendMessage", { kind: "cut" });
    telegram.message("SAY uncertain");
    await rig.said(3, "the uncertain attempt");
    await until(
      () => rig.rows("SELECT 1 FROM channel_outbox WHERE state = 'unknown'").length === 1,
      "its state",
    );
    telegram.message("SAY next");
    const texts = await rig.said(4, "the next answer");
    expect(texts).toEqual(["tried again", "tried again", "uncertain", "next"]);
  });

  it("the model picker works by its buttons [CH-BOTCHAT-23]", async () => {
    const models = [
      { id: "big-1", name: "Big", alias: "big", contextWindow: 1000, multiplier: 1 },
      { id: "small-1", name: "Small", alias: "small", contextWindow: 1000, multiplier: 1 },
    ];
    await using rig = await startOpenRig({ gateway: { models } });
    const { telegram } = rig;
    telegram.message("SAY hello");
    await rig.said(1, "the answer");
    telegram.message("/model");
    await rig.said(2, "the picker");
    const keyboard = telegram.callsOf("sendMessage")[1]!.params.reply_markup as {
      inline_keyboard: Array<Array<{ text: string; callback_data: string }>>;
    };
    expect(keyboard.inline_keyboard.flat()).toEqual([
      { text: "Big", callback_data: "/model big" },
      { text: "Small", callback_data: "/model small" },
    ]);
    telegram.press("/model small");
    const texts = await rig.said(3, "the choice");
    expect(texts[2]).toContain("small");
    await until(() => telegram.callsOf("answerCallbackQuery").length === 1, "the acknowledgement");
    telegram.message("MODEL");
    expect((await rig.said(4, "the model"))[3]).toContain("small-1");
  });

  it("delivers by webhook through the public address [CH-BOTCHAT-17]", async () => {
    await using rig = await startWebhookRig();
    const { telegram, gateway } = rig;
    for (const word of ["one", "two", "three"]) telegram.message(`SAY ${word}`);
    await until(() => telegram.texts().length === 3, "the answers", 20_000);
    expect(telegram.texts()).toEqual(["one", "two", "three"]);
    const forged = await gateway.request("POST", "/webhooks/botchat/assistant", {
      key: null,
      body: { update_id: 1 },
      headers: { "x-telegram-bot-api-secret-token": "wrong" },
    });
    expect(forged.status).toBe(401);
  });
});

/** A gateway that Telegram reaches under a port which is known before the start. */
async function startWebhookRig(): Promise<{ telegram: FakeBotchat; gateway: Gateway } & AsyncDisposable> {
  const telegram = await startFakeBotchat();
  const botchat = {
    botToken: BOT.token,
    apiBaseUrl: telegram.url,
    mode: "webhook",
    webhookSecret: "the_secret-1",
  };
  const gateway = await startGateway({
    agent: { botchat },
    gateway: { publicUrl: "http://127.0.0.1:1/gateway" },
  });
  await gateway.json("PATCH", `${API}/botchat/policy`, { body: { dmPolicy: "open" } });
  const hook = await until(() => telegram.webhook(), "the webhook");
  expect(hook).toMatchObject({
    url: "http://127.0.0.1:1/gateway/webhooks/botchat/assistant",
    secret_token: "the_secret-1",
    max_connections: 1,
  });
  // What stands for the proxy before the gateway: it passes the public path on.
  hook.url = `${gateway.url}/gateway/webhooks/botchat/assistant`;
  return {
    telegram,
    gateway,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await telegram.stop();
    },
  };
}
