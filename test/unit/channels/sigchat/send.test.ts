import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { messagingApi } from "@line/bot-sdk";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { checkToken } from "../../../../packages/gateway/src/channels/sigchat/check.ts";
import { createAdapter } from "../../../../packages/gateway/src/channels/sigchat/index.ts";
import type {
  AdapterContext,
  InboundMessage,
  Outgoing,
} from "../../../../packages/gateway/src/channels/types.ts";
import { openAdapter, outgoing, unending } from "../../../fixtures/adapter.ts";
import type { Fault } from "../../../fixtures/fake-provider.ts";
import { startFakeSigchat } from "../../../fixtures/fake-sigchat.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { until } from "../../../harness.ts";

const REPLY = "/v2/bot/message/reply";
const PUSH = "/v2/bot/message/push";

let line: Awaited<ReturnType<typeof startFakeSigchat>>;
beforeEach(async () => {
  const fake = await startFakeSigchat();
  line = fake;
  onTestFinished(() => fake[Symbol.asyncDispose]());
});

const settings = () => ({
  channelAccessToken: line.token,
  apiBaseUrl: line.apiBaseUrl,
  dataApiBaseUrl: line.apiBaseUrl,
});
const open = (extra: Partial<AdapterContext> = {}, own: object = {}) =>
  openAdapter(createAdapter, "sigchat", { ...settings(), ...own }, extra);
const sender = async (extra: Partial<AdapterContext> = {}, own: object = {}) => {
  const { adapter } = await open(extra, own);
  return (message: Outgoing, signal = unending) => adapter.send(message, signal);
};
/** A text that answers a message with this token. */
const answer = (words: string, token: string, receivedAt = Date.now()) =>
  outgoing("U1", words, { reply: { replyToken: token }, receivedAt });
const via = () => line.taken.map((taken) => taken.via);

describe("a reply token", () => {
  it("serves the first send, and what follows is pushed [CH-SIG-1]", async () => {
    line.tokens.add("t1");
    const send = await sender();
    expect(await send(answer("one", "t1"))).toMatchObject({ status: "sent", messageId: expect.any(String) });
    const two = answer("two", "t1");
    expect(await send({ ...two, target: { ...two.target, part: 1 } })).toMatchObject({ status: "sent" });
    expect(line.taken.map(({ via, to }) => [via, to])).toEqual([
      ["reply", undefined],
      ["push", "U1"],
    ]);
    expect(line.texts()).toEqual(["one", "two"]);
    expect(line.to(REPLY)).toHaveLength(1);
  });

  it("that is older than 50 seconds is not tried [CH-SIG-1]", async () => {
    for (const [age, by] of [
      [0, "reply"],
      [49_000, "reply"],
      [51_000, "push"],
      [600_000, "push"],
    ] as const) {
      line.tokens.add(`t${age}`);
      const clock = manualClock();
      const send = await sender({ clock });
      const message = answer("x", `t${age}`, clock.now());
      clock.advance(age);
      expect(await send(message)).toMatchObject({ status: "sent" });
      expect(via().at(-1)).toBe(by);
    }
  });

  it("that LINE refuses as invalid becomes a push in the same attempt [CH-SIG-2]", async () => {
    const send = await sender();
    expect(await send(answer("hello", "used before a restart"))).toMatchObject({ status: "sent" });
    expect(line.taken).toMatchObject([{ via: "push", to: "U1" }]);
  });

  it.each([400, 404, 410])(
    "that is refused with %i in any words becomes a push [CH-SIG-2]",
    async (status) => {
      line.tokens.add("t1");
      const send = await sender();
      line.fail(REPLY, { kind: "status", status, body: { message: "gone" } });
      expect(await send(answer("hello", "t1"))).toMatchObject({ status: "sent" });
      expect(via()).toEqual(["push"]);
    },
  );

  it("is not followed by a push when the connection breaks: nobody knows whether it was taken [CH-SIG-2]", async () => {
    for (const [kind, taken] of [
      ["drop", true],
      ["drop", false],
      ["cut", true],
    ] as const) {
      const token = `t-${kind}-${taken}`;
      line.tokens.add(token);
      line.fail(REPLY, { kind, taken });
      expect(await (await sender())(answer("x", token))).toMatchObject({ status: "unknown" });
    }
    expect(line.to(PUSH)).toEqual([]);
    expect(line.to(REPLY)).toHaveLength(3);
  });

  it("that was answered with 429 or 5xx serves the next attempt of the same message [CH-SIG-1]", async () => {
    line.tokens.add("t1");
    line.fail(REPLY, {
      kind: "status",
      status: 429,
      body: { message: "slow down" },
      headers: { "retry-after": "7" },
    });
    line.fail(REPLY, { kind: "status", status: 503 });
    const send = await sender();
    const message = answer("x", "t1");
    expect(await send(message)).toMatchObject({ status: "retry", afterMs: 7000 });
    expect(await send(message)).toMatchObject({ status: "retry" });
    expect(await send(message)).toMatchObject({ status: "sent" });
    expect(via()).toEqual(["reply"]);
  });
});

describe("a push", () => {
  it("carries the row's key, so that one whose fate is unknown may be repeated [CH-SIG-3]", async () => {
    const faults: Fault[] = [
      { kind: "drop", taken: true },
      { kind: "drop", taken: false },
      { kind: "cut", taken: true },
    ];
    const send = await sender();
    for (const [index, fault] of faults.entries()) {
      line.fail(PUSH, fault);
      const message = outgoing("U1", `text ${index}`);
      expect(await send(message)).toMatchObject({ status: "unknown" });
      const again = { ...message, uncertainAt: Date.now() };
      expect((await open()).adapter.repeatable!(again)).toBe(true);
      expect(await send(again)).toMatchObject({ status: "sent", messageId: expect.any(String) });
      expect(line.to(PUSH).at(-1)?.headers["x-line-retry-key"]).toBe(message.key);
    }
    expect(line.texts()).toEqual(["text 0", "text 1", "text 2"]);
  });

  it("without an answer ends by itself [CH-SIG-3]", async () => {
    line.fail(PUSH, { kind: "hang", taken: true });
    const clock = manualClock();
    const send = await sender({ clock });
    const message = outgoing("U1", "x");
    const pending = send(message);
    await until(() => line.to(PUSH).length === 1, "the push");
    clock.advance(55_000);
    expect(await pending).toMatchObject({ status: "unknown" });
    expect(await send({ ...message, uncertainAt: clock.now() })).toMatchObject({ status: "sent" });
    expect(line.texts()).toEqual(["x"]);
  });

  it("is tried again when LINE cannot be reached, limits the rate or fails [CH-SIG-3]", async () => {
    const send = await sender();
    line.fail(PUSH, {
      kind: "status",
      status: 429,
      body: { message: "The API rate limit has been exceeded." },
    });
    line.fail(PUSH, { kind: "status", status: 500 });
    expect(await send(outgoing("U1", "x"))).toMatchObject({ status: "retry" });
    expect(await send(outgoing("U1", "x"))).toMatchObject({ status: "retry" });
    await line.down();
    expect(await send(outgoing("U1", "x"))).toMatchObject({
      status: "retry",
      reason: expect.stringContaining("ECONN"),
    });
    await line.up();
    expect(await send(outgoing("U1", "x"))).toMatchObject({ status: "sent" });
  });

  it("fails with a clear sentence at the monthly limit, with a refused token, and for a refused message [CH-SIG-4]", async () => {
    const refused = await sender({}, { channelAccessToken: "wrong" });
    expect(await refused(outgoing("U1", "x"))).toEqual({
      status: "failed",
      reason: "LINE refused the token: check sigchat.channelAccessToken.",
    });
    const send = await sender();
    line.fail(PUSH, { kind: "status", status: 400, body: { message: "The property, 'to', is invalid" } });
    expect(await send(outgoing("nobody", "x"))).toEqual({
      status: "failed",
      reason: "LINE answered 400: The property, 'to', is invalid",
    });
    line.reachMonthlyLimit();
    expect(await send(outgoing("U1", "x"))).toEqual({
      status: "failed",
      reason: expect.stringMatching(/reached its monthly message limit/),
    });
  });
});

describe("what is sent", () => {
  it("is plain text, with up to 13 quick replies that say a command [CH-SIG-5]", async () => {
    const send = await sender();
    const buttons = Array.from({ length: 20 }, (_, i) => ({
      label: `A model with a long name ${i}`,
      command: `/model m${i}`,
    }));
    await send(outgoing("U1", { kind: "text", text: "**Choose** `one`", buttons }));
    const [message] = line.taken[0]!.messages;
    expect(message).toMatchObject({ type: "text", text: expect.not.stringContaining("**") });
    const { items } = message!.quickReply as { items: Array<{ action: { label: string; text: string } }> };
    expect(items).toHaveLength(13);
    for (const [i, { action }] of items.entries()) {
      expect(action.label.length).toBeLessThanOrEqual(20);
      expect(action.text).toBe(`/model m${i}`);
    }
  });

  it("shows an image from a public link, and any other file as its link [CH-SIG-6]", async () => {
    const folder = await tempFolder();
    const path = join(folder, "x");
    await writeFile(path, "bytes");
    const link = async (given: string) =>
      `https://gateway.example.org/shared/${given === path ? "token" : "?"}`;
    const send = await sender({ publicLink: link });
    const url = "https://gateway.example.org/shared/token";
    await send(
      outgoing("U1", { kind: "file", path, mime: "image/png", name: "chart.png", caption: "Sales" }),
    );
    await send(outgoing("U1", { kind: "file", path, mime: "application/pdf", name: "report.pdf" }));
    await send(outgoing("U1", { kind: "file", path, mime: "image/webp", name: "a.webp" }));
    expect(line.taken.map(({ messages }) => messages)).toEqual([
      [
        { type: "text", text: "Sales" },
        { type: "image", originalContentUrl: url, previewImageUrl: url },
      ],
      [{ type: "text", text: `report.pdf\n${url}` }],
      [{ type: "text", text: `a.webp\n${url}` }],
    ]);
  });

  it("says why an image cannot be shown where the gateway has no public address [CH-SIG-6]", async () => {
    for (const publicLink of [undefined, async () => undefined]) {
      const send = await sender(publicLink && { publicLink });
      expect(
        await send(outgoing("U1", { kind: "file", path: "/x", mime: "image/png", name: "chart.png" })),
      ).toMatchObject({
        status: "sent",
      });
    }
    expect(line.texts()).toEqual(
      Array(2).fill(expect.stringMatching(/image "chart\.png" cannot be shown.*gateway\.publicUrl/)),
    );
  });

  it("cannot take the place of a message", async () => {
    expect(await (await sender())(outgoing("U1", "x", { replaces: "1" }))).toMatchObject({
      status: "failed",
    });
    expect(line.requests).toEqual([]);
  });
});

describe("while the agent works", () => {
  it("a direct chat shows the loading animation, again before it ends; groups show nothing [CH-SIG-7]", async () => {
    const clock = manualClock();
    const { adapter } = await open({ clock });
    const loads = () => line.to("/chat/loading/start").map(({ json }) => json);
    const end = adapter.working!({ chatId: "U1", reply: {}, receivedAt: 0 });
    adapter.working!({ chatId: "C1", reply: {}, receivedAt: 0 })();
    await until(() => loads().length === 1, "the animation");
    clock.advance(55_000);
    await until(() => loads().length === 2, "it again");
    end();
    clock.advance(600_000);
    expect(loads()).toEqual(Array(2).fill({ chatId: "U1", loadingSeconds: 60 }));
    line.fail("/chat/loading/start", { kind: "drop", taken: false });
    adapter.working!({ chatId: "U1", reply: {}, receivedAt: 0 })();
  });
});

describe("names", () => {
  const from = (place: Partial<InboundMessage>): InboundMessage => ({
    eventId: "e",
    chatId: "U1",
    kind: "dm",
    senderId: "U1",
    text: "",
    mentioned: true,
    ...place,
  });

  it("come from the profile, in groups and rooms from that of the member, harmless and remembered [CH-SIG-8]", async () => {
    const { adapter } = await open();
    line.names.set("U1", "Ann\n\u202eadmin\u0007");
    line.names.set("U2", "x".repeat(200));
    expect(await adapter.nameOf!(from({}))).toBe("Ann admin");
    expect(await adapter.nameOf!(from({}))).toBe("Ann admin");
    expect(await adapter.nameOf!(from({ kind: "group", groupId: "C1", chatId: "C1", senderId: "U2" }))).toBe(
      "x".repeat(64),
    );
    expect(
      await adapter.nameOf!(from({ kind: "room", groupId: "R1", chatId: "R1", senderId: "U2" })),
    ).toHaveLength(64);
    expect(line.requests.map(({ path }) => path.replace("/some/path/v2/bot", ""))).toEqual([
      "/profile/U1",
      "/group/C1/member/U2",
      "/room/R1/member/U2",
    ]);
    expect(await adapter.nameOf!(from({ kind: "group", groupId: "C1", senderId: "C1" }))).toBeUndefined();
  });

  it("are not waited for longer than 1.5 s, and asked for again after a minute [CH-SIG-8]", async () => {
    const clock = manualClock();
    const { adapter } = await open({ clock });
    line.names.set("U1", "Ann");
    line.fail("/profile/", { kind: "hang", taken: false });
    const pending = adapter.nameOf!(from({}));
    await until(() => line.to("/profile/").length === 1, "the request");
    clock.advance(1_500);
    expect(await pending).toBeUndefined();
    expect(await adapter.nameOf!(from({}))).toBeUndefined();
    clock.advance(60_001);
    expect(await adapter.nameOf!(from({}))).toBe("Ann");
    line.fail("/profile/", { kind: "drop", taken: false });
    expect(await adapter.nameOf!(from({ senderId: "U9" }))).toBeUndefined();
  });
});

describe("files", () => {
  it("are streamed from the API for files [CH-SIG-9]", async () => {
    const { adapter } = await open();
    line.files.set("77", { bytes: Buffer.from("the file") });
    const stream = await adapter.fetchMedia!({ kind: "document", ref: { messageId: "77" } }, unending);
    expect(await text(stream)).toBe("the file");
  });

  it("that cannot be had are refused with a sentence, or for their size at once [CH-SIG-9]", async () => {
    const { adapter } = await open();
    const fetch = (messageId: string) => adapter.fetchMedia!({ kind: "image", ref: { messageId } }, unending);
    await expect(fetch("1")).rejects.toThrow("LINE no longer has it");
    line.fail("/9/content", { kind: "status", status: 202 });
    await expect(fetch("9")).rejects.toThrow("LINE is still preparing it");
    line.fail("/9/content", { kind: "drop", taken: false });
    await expect(fetch("9")).rejects.toThrow("LINE could not be reached");
    line.files.set("2", { bytes: Buffer.alloc(21 * 1024 * 1024) });
    await expect(fetch("2")).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
  });
});

describe("a token", () => {
  it("is judged by LINE [CH-SIG-10]", async () => {
    const check = (channelAccessToken: string) => checkToken({ ...settings(), channelAccessToken }, unending);
    expect(await check(line.token)).toEqual({ ok: true });
    expect(await check("wrong")).toEqual({
      refused: expect.stringContaining("does not know this channel access token"),
    });
    expect(await check("bad\nheader")).toHaveProperty("refused");
    line.fail("/v2/bot/info", { kind: "status", status: 500 });
    expect(await check(line.token)).toEqual({ unreachable: true });
    await line.down();
    expect(await check(line.token)).toEqual({ unreachable: true });
    await line.up();
  });
});

describe("the fake", () => {
  it("is what LINE's own client takes for LINE", async () => {
    // Without a path, which the client would leave out.
    const client = new messagingApi.MessagingApiClient({ channelAccessToken: line.token, baseURL: line.url });
    const blobs = new messagingApi.MessagingApiBlobClient({
      channelAccessToken: line.token,
      baseURL: line.url,
    });
    const messages: messagingApi.Message[] = [{ type: "text", text: "hello" } as messagingApi.TextMessage];
    line.tokens.add("t1");
    expect((await client.replyMessage({ replyToken: "t1", messages })).sentMessages).toHaveLength(1);
    await expect(client.replyMessage({ replyToken: "t1", messages })).rejects.toMatchObject({
      status: 400,
      body: expect.stringContaining("Invalid reply token"),
    });
    const key = "123e4567-e89b-12d3-a456-426614174000";
    await client.pushMessage({ to: "U1", messages }, key);
    await expect(client.pushMessage({ to: "U1", messages }, key)).rejects.toMatchObject({ status: 409 });
    line.names.set("U1", "Ann");
    expect((await client.getProfile("U1")).displayName).toBe("Ann");
    line.files.set("7", { bytes: Buffer.from("x") });
    expect(await text(await blobs.getMessageContent("7"))).toBe("x");
    expect(via()).toEqual(["reply", "push"]);
  });
});
