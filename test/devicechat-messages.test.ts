import { mkdir, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { seedCredentials, startCrabline } from "./fixtures/crabline-device.ts";
import {
  ALICE,
  BOB,
  GROUP,
  gateway,
  get,
  type Json,
  link,
  PNG,
  phone,
  post,
  start,
  stateDir,
  status,
} from "./fixtures/device-gateway.ts";
import { put, testConfig, until } from "./harness.ts";

describe("sending", () => {
  const allowed = { accounts: [{ id: "default", dmAllowlist: [ALICE], groupAllowlist: [GROUP] }] };

  it("sends what is allowed, and says what is not [CH-DEVICE-24] [CH-DEVICE-25]", async () => {
    await start(allowed);
    await link();
    expect(await post("send", { jid: ALICE, text: "**hello**" })).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    expect(phone.sent[0]).toMatchObject({ to: ALICE, message: { extendedTextMessage: { text: "*hello*" } } });
    phone.group(GROUP, ["15550009999@s.whatsapp.net", ALICE]);
    expect((await post("send", { jid: GROUP, text: "all" })).status).toBe(200);
    for (const jid of [BOB, "120363000000000002@g.us", "somebody", "1@newsletter", "status@broadcast"]) {
      expect(await post("send", { jid, text: "x" })).toMatchObject({
        status: 403,
        body: { code: "FORBIDDEN" },
      });
    }
    const bad: Json[] = [
      { text: "x" },
      { jid: "", text: "x" },
      { jid: ALICE },
      { jid: ALICE, text: " " },
      { jid: ALICE, text: "x", account_id: 5 },
      { jid: ALICE, text: "x", account_id: "work" },
      { jid: ALICE, text: "x", as_document: "yes" },
    ];
    for (const body of bad) {
      expect(await post("send", body)).toMatchObject({ status: 400, body: { code: "INVALID_REQUEST" } });
    }
    expect(phone.sent).toHaveLength(2);
  });

  it("is a tool for the agent too, with the same fields and rules, if it has the channel [CH-DEVICE-TOOL-1]", async () => {
    await start(allowed);
    await link();
    const use = async (input: Json) => {
      const { body } = await gateway!.send(`CALL devicechat_reply ${JSON.stringify(input)}`);
      return body.response;
    };
    expect(await use({ jid: ALICE, text: "**by myself**" })).toBe("Called: Sent.");
    expect(phone.sent.at(-1)).toMatchObject({
      to: ALICE,
      message: { extendedTextMessage: { text: "*by myself*" } },
    });
    const sent = phone.sent.length;
    expect(await use({ jid: BOB, text: "x" })).toMatch(
      /^Called: The account's policies do not allow this chat/,
    );
    expect(await use({ jid: ALICE })).toBe("Called: devicechat_reply: text or image_path is required.");
    expect(await use({ jid: ALICE, text: "x", account_id: "work" })).toMatch(/account_id is not configured/);
    expect(await use({ jid: ALICE, image_path: "/etc/passwd" })).toMatch(/outside what the agent may share/);
    expect(phone.sent).toHaveLength(sent);
    const plain = await gateway!.json("POST", "/api/v1/agents/second/messages", {
      body: { message: "TOOLS", chat_id: "me" },
    });
    expect(plain.body.response).toMatch(/share_file/);
    expect(plain.body.response).not.toMatch(/devicechat_reply/);
  });

  it("a send that fails is 502 and is not tried again [CH-DEVICE-26]", async () => {
    await start(allowed);
    expect(await post("send", { jid: ALICE, text: "x" })).toMatchObject({
      status: 502,
      body: {
        code: "UPSTREAM_UNAVAILABLE",
        error: expect.stringMatching(/^The message was not sent: The .* is not connected\.$/),
      },
    });
    await link();
    phone.failNext({ error: "479" });
    expect((await post("send", { jid: ALICE, text: "refused" })).status).toBe(502);
    phone.failNext("drop");
    expect((await post("send", { jid: ALICE, text: "dropped" })).status).toBe(502);
    await until(async () => (await status()).status === "linked", "the reconnect");
    expect((await post("send", { jid: ALICE, text: "last" })).status).toBe(200);
    expect(phone.sent.map(({ message }) => message.extendedTextMessage?.text)).toEqual(["dropped", "last"]);
  });

  it("images come from the workspace alone [CH-DEVICE-28]", async () => {
    await start(allowed);
    const workspace = join(gateway!.home, "agents/assistant/workspace");
    await put(workspace, "out/picture.png", PNG);
    await put(workspace, "out/notes.txt", "no image");
    await put(workspace, ".devicechat-state/creds.json", "{}");
    const send = async (image_path: string) => {
      const { status: code, body } = await post("send", { jid: ALICE, image_path });
      return [code, body.code];
    };
    expect(await send("out/picture.png")).toEqual([400, "INVALID_REQUEST"]);
    expect(await send(join(workspace, "out/none.png"))).toEqual([400, "INVALID_REQUEST"]);
    expect(await send(join(workspace, "out"))).toEqual([400, "INVALID_REQUEST"]);
    expect(await send(join(workspace, "out/notes.txt"))).toEqual([400, "INVALID_REQUEST"]);
    expect(await send(join(workspace, ".devicechat-state/creds.json"))).toEqual([
      403,
      "ARTIFACT_PATH_DENIED",
    ]);
    expect(await send("/etc/hostname")).toEqual([403, "ARTIFACT_PATH_DENIED"]);
    expect(await send(join(workspace, "../../../config.json"))).toEqual([403, "ARTIFACT_PATH_DENIED"]);
    // The image is fine; there is only no device to send it over.
    expect(await send(join(workspace, "out/picture.png"))).toEqual([502, "UPSTREAM_UNAVAILABLE"]);
  });

  it("without account_id: where the chat came in last, then default [CH-DEVICE-27] [CH-DEVICE-30]", async () => {
    const open = { dmAllowlist: [ALICE, BOB] };
    await start({
      accounts: [
        { id: "default", ...open },
        { id: "work", ...open },
      ],
    });
    await link("work");
    await phone.inbound(ALICE, { conversation: "SAY from work" });
    await until(
      () => phone.sent.some(({ message }) => message.extendedTextMessage?.text === "from work"),
      "the reply",
    );
    expect((await post("send", { jid: ALICE, text: "again" })).status).toBe(200);
    // Bob never wrote, and `default` is not linked.
    expect((await post("send", { jid: BOB, text: "hello" })).status).toBe(502);
    expect((await post("send", { jid: BOB, text: "hello", account_id: "work" })).status).toBe(200);
  });

  it("of several accounts without default one has to be named", async () => {
    await start({
      accounts: [
        { id: "home", dmPolicy: "open" },
        { id: "work", dmPolicy: "open" },
      ],
    });
    expect((await post("send", { jid: ALICE, text: "x" })).status).toBe(400);
    expect((await post("send", { jid: ALICE, text: "x", account_id: "work" })).status).toBe(502);
  });
});

describe("messages", () => {
  const texts = () => phone.sent.map(({ message }) => message.extendedTextMessage?.text).filter(Boolean);

  it("an allowed message is read, acknowledged, answered, and the acknowledgement goes", async () => {
    await start({ accounts: [{ id: "default", dmAllowlist: ["+15550001111"] }] });
    await link();
    await phone.inbound(ALICE, { conversation: "SAY hello" }, { id: "M1" });
    await until(() => texts().length > 0, "the reply");
    expect(texts()).toEqual(["hello"]);
    const reactions = () =>
      phone.sent
        .map(({ message }) => message.reactionMessage?.text)
        .filter((t) => t !== undefined && t !== null);
    await until(() => reactions().length === 2, "the reactions");
    expect(reactions()).toEqual(["⏳", ""]);
    await until(
      () => phone.stanzas.some(({ tag, attrs }) => tag === "receipt" && /^read/.test(attrs.type ?? "")),
      "the receipt",
    );
    const chats = (await gateway!.json("GET", "/api/v1/agents/assistant/chats")).body;
    expect(JSON.stringify(chats)).toContain(`devicechat-${ALICE}`);
  });

  it("an unknown sender knocks, is approved and is answered", async () => {
    await start();
    await link();
    await phone.inbound(BOB, { conversation: "SAY hello" });
    const text = await until(() => texts()[0], "the code");
    const code = /\b[A-HJ-NP-Z2-9]{6}\b/.exec(text)?.[0];
    expect((await get("pending")).body.senders).toMatchObject([
      { userId: BOB, kind: "user", code, count: 1 },
    ]);
    expect(await post("approve", { code })).toMatchObject({ status: 200, body: { ok: true, senderId: BOB } });
    await phone.inbound(BOB, { conversation: "SAY welcome" });
    await until(() => texts().includes("welcome"), "the reply");
  });

  it("a group is answered when it is allowed and the number is mentioned", async () => {
    await start({ accounts: [{ id: "default", groupAllowlist: [GROUP] }] });
    await link();
    phone.group(GROUP, ["15550009999@s.whatsapp.net", ALICE]);
    await phone.inbound(ALICE, { conversation: "SAY ignored" }, { group: GROUP });
    const contextInfo = { mentionedJid: ["15550009999@s.whatsapp.net"] };
    const extendedTextMessage = { text: "@15550009999 SAY heard", contextInfo };
    await phone.inbound(ALICE, { extendedTextMessage }, { group: GROUP, id: "G2" });
    await until(() => texts().length > 0, "the reply");
    expect(texts()).toEqual(["heard"]);
    const reply = phone.sent.find(({ message }) => message.extendedTextMessage)!;
    expect(reply.to).toBe(GROUP);
    expect(reply.message.extendedTextMessage?.contextInfo).toMatchObject({
      stanzaId: "G2",
    });
  });

  it("kill -9 and a restart: linked as before, nothing lost, nothing answered twice", async () => {
    const home = await mkdtemp(join(tmpdir(), "agent-gateway-test-"));
    const config = testConfig({
      agent: { devicechat: { waWebSocketUrl: phone.url, accounts: [{ id: "default", dmPolicy: "open" }] } },
    });
    await start({}, { home, config });
    await link();
    const count = 12;
    const sending = (async () => {
      for (let n = 0; n < count; n++) {
        await phone.inbound(ALICE, { conversation: `SAY answer-${n}` }, { id: `K${n}` });
        if (n === 5) await gateway!.kill();
      }
    })();
    await sending;
    await start({}, { home, config });
    const answers = () => texts().filter((text) => text!.startsWith("answer-"));
    await until(() => new Set(answers()).size === count, "all answers", 30_000);
    await until(() => phone.unconfirmed().length === 0, "the receipts");
    expect(answers()).toEqual(Array.from({ length: count }, (_, n) => `answer-${n}`));
  });

  it("the whole way against crabline, over a restart", async () => {
    const home = await mkdtemp(join(tmpdir(), "agent-gateway-test-"));
    const crabline = await startCrabline(join(home, "recorder.jsonl"));
    try {
      await mkdir(stateDir(home), { recursive: true });
      await seedCredentials(stateDir(home));
      const devicechat = {
        waWebSocketUrl: crabline.url,
        accounts: [{ id: "default", dmAllowlist: [ALICE] }],
      };
      const config = testConfig({ agent: { devicechat } });
      await start({}, { home, config });
      await until(async () => (await status()).status === "linked", "the connection");
      const message = { chatJid: ALICE, senderJid: ALICE };
      await crabline.inbound({ ...message, text: "SAY one" });
      await until(async () => (await crabline.sent()).length === 1, "the reply");
      expect(await gateway!.stop()).toBe(0);
      await crabline.inbound({ ...message, text: "SAY two" });
      await start({}, { home, config });
      await until(async () => (await crabline.sent()).length === 2, "the reply");
      expect((await crabline.sent()).map(({ chat, text }) => [chat, text])).toEqual([
        [ALICE, "one"],
        [ALICE, "two"],
      ]);
      expect(await readFile(join(stateDir(home), "creds.json"), "utf8")).toContain("15550009999");
    } finally {
      await crabline.close();
    }
  });

  it("no credential, token or text is in the log", async () => {
    await start({ accounts: [{ id: "default", dmPolicy: "open" }] });
    await link();
    await phone.inbound(ALICE, { conversation: "SAY nothing-to-log" });
    await until(() => texts().includes("nothing-to-log"), "the reply");
    const creds = JSON.parse(await readFile(join(stateDir(), "creds.json"), "utf8")) as Json;
    expect(gateway!.output()).not.toContain("nothing-to-log");
    expect(gateway!.output()).not.toContain(creds.advSecretKey);
    expect(gateway!.output()).not.toMatch(/privKey|SessionEntry|Closing|Opening|MAC/);
  });
});
