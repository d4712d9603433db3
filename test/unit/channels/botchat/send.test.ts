import { join } from "node:path";
import { text as textOfStream } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { fetchMedia } from "../../../../packages/gateway/src/channels/botchat/media.ts";
import type { Content, InboundMedia } from "../../../../packages/gateway/src/channels/types.ts";
import { BOT, startFakeBotchat } from "../../../fixtures/fake-botchat.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { put, until } from "../../../harness.ts";
import { adapterFor, never, outgoing } from "./harness.ts";

async function setup(options: { clock?: ReturnType<typeof manualClock> } = {}) {
  const api = await startFakeBotchat();
  onTestFinished(() => api.stop());
  const made = await adapterFor({ botchat: { botToken: BOT.token, apiBaseUrl: api.url }, ...options });
  return { api, ...made };
}
const text = (value: string, extra: object = {}): Content => ({ kind: "text", text: value, ...extra });
const bad = (description: string, parameters?: object) => ({
  kind: "status" as const,
  status: 400,
  body: { ok: false, error_code: 400, description, ...(parameters && { parameters }) },
});

describe("a text", () => {
  it("goes as HTML without link previews, and says under which id [CH-BOTCHAT-11]", async () => {
    const { api, adapter } = await setup();
    const outcome = await adapter.send(outgoing(text("**bold** & <plain>")), never);
    expect(outcome).toEqual({ status: "sent", messageId: "1" });
    expect(api.callsOf("sendMessage")[0]!.params).toEqual({
      chat_id: "501",
      text: "<b>bold</b> &amp; &lt;plain&gt;",
      parse_mode: "HTML",
      link_preview_options: { is_disabled: true },
    });
  });

  it("goes without markup once Telegram refused it [CH-BOTCHAT-11]", async () => {
    const { api, adapter } = await setup();
    api.fault("sendMessage", bad("Bad Request: can't parse entities: Unsupported start tag"));
    expect(await adapter.send(outgoing(text("**x**")), never)).toMatchObject({ status: "markup" });
    expect(await adapter.send(outgoing(text("**x**", { plain: true })), never)).toMatchObject({
      status: "sent",
    });
    expect(api.callsOf("sendMessage")[1]!.params).toEqual({
      chat_id: "501",
      text: "x",
      link_preview_options: { is_disabled: true },
    });
  });

  it("answers in its topic, and in groups as a reply [CH-BOTCHAT-6]", async () => {
    const { api, adapter } = await setup();
    const group = { chatId: "-1005", messageId: "9", reply: { thread: 5 } };
    await adapter.send(outgoing(text("x"), group), never);
    expect(api.callsOf("sendMessage")[0]!.params).toMatchObject({
      chat_id: "-1005",
      message_thread_id: 5,
      reply_parameters: { message_id: 9, allow_sending_without_reply: true },
    });
    await adapter.send(outgoing(text("x"), { messageId: "9" }), never);
    expect(api.callsOf("sendMessage")[1]!.params.reply_parameters).toBeUndefined();
  });

  it("goes to the chat itself when its topic is gone [CH-BOTCHAT-6]", async () => {
    const { api, adapter } = await setup();
    api.fault("sendMessage", bad("Bad Request: message thread not found"));
    const outcome = await adapter.send(outgoing(text("x"), { chatId: "-1005", reply: { thread: 5 } }), never);
    expect(outcome.status).toBe("sent");
    expect(api.callsOf("sendMessage").map(({ params }) => params.message_thread_id)).toEqual([5, undefined]);
  });

  it("follows a group that became a supergroup [CH-BOTCHAT-14]", async () => {
    const { api, adapter } = await setup();
    const moved = bad("Bad Request: group chat was upgraded to a supergroup chat", {
      migrate_to_chat_id: -1005,
    });
    api.fault("sendMessage", moved);
    expect(await adapter.send(outgoing(text("x"), { chatId: "-5", messageId: "9" }), never)).toMatchObject({
      status: "sent",
    });
    await adapter.send(outgoing(text("y"), { chatId: "-5" }), never);
    const chats = api.callsOf("sendMessage").map(({ params }) => params.chat_id);
    expect(chats).toEqual(["-5", "-1005", "-1005"]);
  });

  it("has a button that opens a page inside of the app [PAIR-1]", async () => {
    const { api, adapter } = await setup();
    const webApp = { label: "Open the terminal", url: "https://gw.example/gateway/cli/1" };
    await adapter.send(outgoing(text("Here", { webApp })), never);
    expect(api.callsOf("sendMessage")[0]!.params.reply_markup).toEqual({
      inline_keyboard: [[{ text: webApp.label, web_app: { url: webApp.url } }]],
    });
  });

  it("has buttons, as far as their commands fit [CH-BOTCHAT-7]", async () => {
    const { api, adapter } = await setup();
    const buttons = [
      { label: "Opus", command: "/model opus" },
      { label: "Too long", command: `/model ${"ä".repeat(30)}` },
      { label: "Fits", command: `/model ${"x".repeat(57)}` },
    ];
    await adapter.send(outgoing(text("Pick", { buttons })), never);
    expect(api.callsOf("sendMessage")[0]!.params.reply_markup).toEqual({
      inline_keyboard: [
        [{ text: "Opus", callback_data: "/model opus" }],
        [{ text: "Fits", callback_data: `/model ${"x".repeat(57)}` }],
      ],
    });
  });

  it("takes the place of another one [CH-BOTCHAT-12]", async () => {
    const { api, adapter } = await setup();
    await adapter.send(outgoing(text("so far")), never);
    const replaced = { ...outgoing(text("all of it")), replaces: "1" };
    expect(await adapter.send(replaced, never)).toEqual({ status: "sent", messageId: "1" });
    expect(await adapter.send(replaced, never)).toEqual({ status: "sent", messageId: "1" });
    expect(await adapter.send({ ...replaced, replaces: "99" }, never)).toMatchObject({ status: "failed" });
    expect(api.callsOf("editMessageText")[0]!.params).toMatchObject({ chat_id: "501", message_id: 1 });
    await adapter.edit!({ chatId: "501", reply: {}, receivedAt: 0 }, "1", "**more**");
    expect(api.callsOf("editMessageText").at(-1)!.params.text).toBe("<b>more</b>");
    await adapter.edit!({ chatId: "501", reply: {}, receivedAt: 0 }, "98", "nobody");
  });
});

describe("what became of an attempt", () => {
  it.each([
    [
      "429 with the wait in the body",
      429,
      { parameters: { retry_after: 7 } },
      {},
      { status: "retry", afterMs: 7000 },
    ],
    ["429 with the wait in the header", 429, {}, { "retry-after": "3" }, { status: "retry", afterMs: 3000 }],
    [
      "429 of a proxy",
      429,
      "<html>slow down</html>",
      { "retry-after": "3" },
      { status: "retry", afterMs: 3000 },
    ],
    ["500", 500, {}, {}, { status: "retry" }],
    ["502 of a proxy", 502, "<html>Bad Gateway</html>", {}, { status: "retry" }],
    ["403", 403, { description: "Forbidden: bot was blocked by the user" }, {}, { status: "failed" }],
    ["400", 400, { description: "Bad Request: chat not found" }, {}, { status: "failed" }],
    ["401", 401, {}, {}, { status: "failed" }],
    ["302", 302, "", { location: "http://127.0.0.1:9/" }, { status: "failed" }],
    ["200 that is no answer of the bot API", 200, "<html>portal</html>", {}, { status: "unknown" }],
  ])("%s [CH-BOTCHAT-13]", async (_what, status, body, headers, wanted) => {
    const { api, adapter } = await setup();
    const whole =
      typeof body === "string" ? body : { ok: false, error_code: status, description: "No", ...body };
    api.fault("sendMessage", { kind: "status", status, body: whole, headers });
    expect(await adapter.send(outgoing(text("x")), never)).toMatchObject(wanted);
    expect(api.callsOf("sendMessage")).toHaveLength(1);
  });

  it.each(["drop", "cut"] as const)(
    "is uncertain after a %s, and never sent again here [CH-BOTCHAT-13]",
    async (kind) => {
      const { api, adapter } = await setup();
      api.fault("sendMessage", { kind });
      expect(await adapter.send(outgoing(text("x")), never)).toMatchObject({ status: "unknown" });
      expect(api.callsOf("sendMessage")).toHaveLength(1);
    },
  );

  it("is uncertain when no answer comes within a minute [CH-BOTCHAT-13]", async () => {
    const clock = manualClock();
    const { api, adapter } = await setup({ clock });
    api.fault("sendMessage", { kind: "hang" });
    const sending = adapter.send(outgoing(text("x")), never);
    await until(() => api.callsOf("sendMessage").length === 1, "the request");
    clock.advance(59_000);
    expect(await sending).toMatchObject({ status: "unknown" });
  });

  it("is uncertain when the gateway stops meanwhile, and nothing before it began [CH-BOTCHAT-13]", async () => {
    const { api, adapter } = await setup();
    api.fault("sendMessage", { kind: "hang" });
    const controller = new AbortController();
    const sending = adapter.send(outgoing(text("x")), controller.signal);
    await until(() => api.callsOf("sendMessage").length === 1, "the request");
    controller.abort();
    expect(await sending).toMatchObject({ status: "unknown" });
    expect(await adapter.send(outgoing(text("x")), controller.signal)).toMatchObject({ status: "retry" });
    expect(api.callsOf("sendMessage")).toHaveLength(1);
  });

  it("is certain when nobody listens or the name is unknown [CH-BOTCHAT-13]", async () => {
    const { api, adapter } = await setup();
    await api.stop();
    const refused = await adapter.send(outgoing(text("x")), never);
    expect(refused).toMatchObject({ status: "retry" });
    expect(JSON.stringify(refused)).not.toContain(BOT.token);
    const botchat = { botToken: BOT.token, apiBaseUrl: "http://nowhere.invalid" };
    const { adapter: lost } = await adapterFor({ botchat });
    expect(await lost.send(outgoing(text("x")), never)).toMatchObject({ status: "retry" });
  });
});

describe("a file", () => {
  const file = async (mime: string, name: string, extra: object = {}): Promise<Content> => ({
    kind: "file",
    path: await put(await tempFolder(), "stored.bin", `content of ${name}`),
    mime,
    name,
    ...extra,
  });

  it.each([
    ["image/png", "sendPhoto", "photo"],
    ["image/svg+xml", "sendDocument", "document"],
    ["audio/ogg", "sendVoice", "voice"],
    ["audio/mpeg", "sendAudio", "audio"],
    ["video/mp4", "sendVideo", "video"],
    ["application/pdf", "sendDocument", "document"],
  ])("of type %s goes by %s [CH-BOTCHAT-15]", async (mime, method, field) => {
    const { api, adapter } = await setup();
    const group = { chatId: "-1005", messageId: "9", reply: { thread: 5 } };
    const content = await file(mime, 'a "b"; c.bin', { caption: "**see**" });
    expect(await adapter.send(outgoing(content, group), never)).toMatchObject({ status: "sent" });
    const [call] = api.callsOf(method);
    expect(call!.files[field]!.bytes.toString()).toBe('content of a "b"; c.bin');
    expect(call!.files[field]!.name).toBe("a _b_; c.bin");
    expect(call!.params).toMatchObject({
      chat_id: -1005,
      message_thread_id: 5,
      caption: "<b>see</b>",
      parse_mode: "HTML",
    });
  });

  it("goes uncompressed when asked for [CH-BOTCHAT-15]", async () => {
    const { api, adapter } = await setup();
    await adapter.send(outgoing(await file("image/png", "a.png", { asDocument: true })), never);
    expect(api.callsOf("sendDocument")).toHaveLength(1);
    expect(api.callsOf("sendPhoto")).toHaveLength(0);
  });

  it.each([
    ["image/png", "sendPhoto", "Bad Request: PHOTO_INVALID_DIMENSIONS"],
    ["image/png", "sendPhoto", "Bad Request: IMAGE_PROCESS_FAILED"],
    ["image/jpeg", "sendPhoto", "Bad Request: file is too big"],
    ["audio/ogg", "sendVoice", "Bad Request: VOICE_MESSAGES_FORBIDDEN"],
  ])("%s that %s refuses goes as a document [CH-BOTCHAT-15]", async (mime, method, description) => {
    const { api, adapter } = await setup();
    api.fault(method, bad(description));
    expect(await adapter.send(outgoing(await file(mime, "a.bin")), never)).toMatchObject({ status: "sent" });
    expect(api.callsOf(method)).toHaveLength(1);
    expect(api.callsOf("sendDocument")[0]!.files.document!.bytes.toString()).toBe("content of a.bin");
  });

  it("keeps its caption: plain where the markup is refused, cut where it is too long [CH-BOTCHAT-15]", async () => {
    const { api, adapter } = await setup();
    api.fault("sendDocument", bad("Bad Request: can't parse entities: x"));
    await adapter.send(outgoing(await file("text/plain", "a.txt", { caption: "**see**" })), never);
    expect(api.callsOf("sendDocument").map(({ params }) => params.caption)).toEqual(["<b>see</b>", "see"]);
    await adapter.send(outgoing(await file("text/plain", "a.txt", { caption: "x".repeat(2000) })), never);
    expect(String(api.callsOf("sendDocument")[2]!.params.caption)).toHaveLength(1024);
  });

  it("that is gone fails, one that is cut off is uncertain [CH-BOTCHAT-13]", async () => {
    const { api, adapter } = await setup();
    const gone: Content = {
      kind: "file",
      path: join(await tempFolder(), "no"),
      mime: "text/plain",
      name: "no",
    };
    expect(await adapter.send(outgoing(gone), never)).toMatchObject({ status: "failed" });
    api.fault("sendDocument", { kind: "drop" });
    expect(await adapter.send(outgoing(await file("text/plain", "a.txt")), never)).toMatchObject({
      status: "unknown",
    });
    expect(api.callsOf("sendDocument")).toHaveLength(1);
  });
});

describe("while the agent works", () => {
  it("typing is shown again and again until it ends [CH-BOTCHAT-12]", async () => {
    const clock = manualClock();
    const { api, adapter } = await setup({ clock });
    const end = adapter.working!({ chatId: "-1005", reply: { thread: 5 }, receivedAt: 0 });
    await until(() => api.callsOf("sendChatAction").length === 1, "the first action");
    expect(api.callsOf("sendChatAction")[0]!.params).toEqual({
      chat_id: "-1005",
      action: "typing",
      message_thread_id: 5,
    });
    await until(() => {
      clock.advance(4_500);
      return api.callsOf("sendChatAction").length >= 3;
    }, "more actions");
    end();
    const before = api.callsOf("sendChatAction").length;
    clock.advance(60_000);
    await adapter.send(outgoing(text("x")), never);
    expect(api.callsOf("sendChatAction").length).toBe(before);
  });

  it("is not asked for again where Telegram refuses it [CH-BOTCHAT-12]", async () => {
    const clock = manualClock();
    const { api, adapter } = await setup({ clock });
    api.fault("sendChatAction", { kind: "status", status: 403 }, 99);
    adapter.working!({ chatId: "501", reply: {}, receivedAt: 0 });
    await until(() => {
      clock.advance(4_500);
      return api.callsOf("sendChatAction").length > 0;
    }, "the action");
    // The refusal is read before the answer to what is sent after it.
    await adapter.send(outgoing(text("x")), never);
    const before = api.callsOf("sendChatAction").length;
    clock.advance(60_000);
    await adapter.send(outgoing(text("y")), never);
    expect(api.callsOf("sendChatAction").length).toBe(before);
  });
});

describe("an inbound file", () => {
  const media = (fileId: string): InboundMedia => ({ kind: "document", ref: { fileId } });

  it("is opened as a stream [CH-BOTCHAT-2]", async () => {
    const { api, adapter } = await setup();
    api.addFile("f1", Buffer.from("the bytes"), { path: "photos/file 1.jpg" });
    expect(await textOfStream(await adapter.fetchMedia!(media("f1"), never))).toBe("the bytes");
  });

  it("says why it cannot be had, without its address [CH-BOTCHAT-2]", async () => {
    const { api, adapter } = await setup();
    const why = (fileId: string) =>
      adapter.fetchMedia!(media(fileId), never).catch((error: unknown) => error);
    expect(await why("missing")).toMatchObject({ message: "Telegram answered 400" });
    api.addFile("large", Buffer.alloc(20 * 1024 * 1024 + 1));
    expect(await why("large")).toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
    api.addFile("f1", Buffer.from("x"));
    api.fault("download", { kind: "status", status: 404, body: "gone" });
    expect(await why("f1")).toMatchObject({ message: "Telegram no longer has it" });
    api.fault("download", { kind: "drop" });
    const broken = await why("f1");
    expect(broken).toMatchObject({ message: "Telegram could not be reached" });
    await api.stop();
    for (const error of [broken, await why("f1")]) {
      expect(String((error as Error).stack) + JSON.stringify(error)).not.toContain(BOT.token);
    }
  });

  it("ends with the signal when it stalls [CH-BOTCHAT-2]", async () => {
    const { api, adapter } = await setup();
    api.addFile("slow", Buffer.from("x"), { stall: true });
    const controller = new AbortController();
    const stream = await adapter.fetchMedia!(media("slow"), controller.signal);
    const reading = textOfStream(stream).catch((error: Error) => error.name);
    controller.abort();
    expect(await reading).toBe("AbortError");
  });

  it("needs an id [CH-BOTCHAT-2]", async () => {
    const none = { kind: "image", ref: {} } as InboundMedia;
    await expect(
      fetchMedia({ api: {} as never, sending: () => ({}) as never, fileUrl: String }, none, never),
    ).rejects.toThrow("contains no file");
  });
});
