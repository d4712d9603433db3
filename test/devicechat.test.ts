import { access, mkdir, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { seedCredentials, startCrabline } from "./fixtures/crabline-device.ts";
import { type FakePhone, startFakePhone } from "./fixtures/fake-phone/index.ts";
import { type Gateway, KEYS, put, startGateway, testConfig, until } from "./harness.ts";

const ALICE = "15550001111@s.whatsapp.net";
const BOB = "15550002222@s.whatsapp.net";
const GROUP = "120363000000000001@g.us";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

type Json = Record<string, unknown>;
let phone: FakePhone;
let gateway: Gateway | undefined;
beforeEach(async () => {
  phone = await startFakePhone();
});
afterEach(async () => {
  await gateway?.[Symbol.asyncDispose]();
  gateway = undefined;
  await phone.close();
});

const start = async (devicechat: Json | undefined = {}, options: Json = {}) => {
  gateway = await startGateway({
    agent: devicechat && { devicechat: { waWebSocketUrl: phone.url, ...devicechat } },
    ...options,
  });
};
const base = "/api/v1/agents/assistant/devicechat";
const get = (path: string, options = {}) => gateway!.json("GET", `${base}/${path}`, options);
const post = (path: string, body?: unknown, options = {}) =>
  gateway!.json("POST", `${base}/${path}`, { ...(body !== undefined && { body }), ...options });
const remove = (path: string) => gateway!.json("DELETE", `${base}/${path}`);
const status = async (account?: string) =>
  (await get(`status${account ? `?account_id=${account}` : ""}`)).body as Json & { qr?: string };
const stateDir = (home = gateway!.home) => join(home, "agents/assistant/workspace/.devicechat-state");
const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

async function link(account?: string): Promise<void> {
  await post("link", account ? { account_id: account } : undefined);
  const qr = await until(async () => (await status(account)).qr, "the QR code");
  phone.scan(qr);
  await until(async () => (await status(account)).status === "linked", "the link");
}

const EMPTY = {
  label: null,
  connected: false,
  status: "unlinked",
  number: null,
  dm_policy: null,
  dm_allowlist: [],
  group_policy: null,
  group_allowlist: [],
  require_mention: null,
  pairing: true,
};

describe("linking", () => {
  it("status, link, scan, unlink [CH-DEVICE-14] [CH-DEVICE-15] [CH-DEVICE-17]", async () => {
    await start();
    expect(await get("status")).toMatchObject({ status: 200 });
    expect(await status()).toEqual({ account_id: "default", status: "unlinked", loggedOut: false });
    expect((await post("link")).body).toEqual({ ok: true, account_id: "default" });
    expect(await status()).toMatchObject({ account_id: "default", status: "pending_scan", loggedOut: false });
    await link();
    expect(await status()).toEqual({
      account_id: "default",
      status: "linked",
      loggedOut: false,
      phoneNumber: "+15550009999",
    });
    const channels = (await gateway!.json("GET", "/api/v1/agents/assistant/channels")).body
      .channels as Json[];
    expect(channels.find(({ channel }) => channel === "devicechat")).toMatchObject({
      enabled: true,
      connected: true,
    });
    expect(await exists(join(stateDir(), "creds.json"))).toBe(true);
    expect((await post("unlink", { account_id: "default" })).body).toEqual({
      ok: true,
      account_id: "default",
    });
    expect(await status()).toEqual({ account_id: "default", status: "unlinked", loggedOut: false });
    expect(await exists(stateDir())).toBe(false);
  });

  it("an agent that never had the channel is linked all the same [CH-DEVICE-12]", async () => {
    await start(undefined);
    expect(await status()).toEqual({ account_id: "default", status: "unlinked", loggedOut: false });
    expect((await get("accounts")).body).toEqual({ accounts: [{ id: "default", ...EMPTY }] });
    expect((await post("link", {})).status).toBe(200);
    expect((await gateway!.config()).agents).toMatchObject([{ devicechat: {} }, {}]);
    expect((await status()).status).toBe("pending_scan");
    expect((await post("unlink")).status).toBe(200);
  });

  it("a pairing code instead of a QR code [CH-DEVICE-16]", async () => {
    await start();
    const { status: code, body } = await post("pairing-code", { phoneNumber: "+15550009999" });
    expect([code, body]).toEqual([
      200,
      { pairingCode: expect.stringMatching(/^[0-9A-Z]{8}$/), account_id: "default" },
    ]);
    expect(await status()).toEqual({
      account_id: "default",
      status: "pending_scan",
      loggedOut: false,
      pairingCode: body.pairingCode,
    });
    await until(phone.asksForCode, "the device to ask");
    await phone.typeCode(body.pairingCode as string);
    await until(async () => (await status()).status === "linked", "the link");
    for (const bad of [
      {},
      { phoneNumber: "" },
      { phoneNumber: "  " },
      { phoneNumber: "abc" },
      { phoneNumber: 5 },
    ]) {
      expect(await post("pairing-code", bad)).toMatchObject({
        status: 400,
        body: { code: "INVALID_REQUEST" },
      });
    }
    expect((await post("pairing-code", { phoneNumber: "+15550009999" })).status).toBe(409);
  });

  it("an account that is not configured is 400, an unknown agent 404, a key without write 403 [CH-DEVICE-14] [CH-DEVICE-29]", async () => {
    await start();
    expect((await get("status?account_id=work")).status).toBe(400);
    expect((await post("link", { account_id: "work" })).status).toBe(400);
    expect((await post("unlink", { account_id: "work" })).status).toBe(400);
    expect((await post("pairing-code", { account_id: "work", phoneNumber: "+15550009999" })).status).toBe(
      400,
    );
    const body = { phoneNumber: "+15550009999", jid: ALICE, text: "x", id: "work" };
    const routes: [string, string][] = [
      ["GET", "status"],
      ["POST", "link"],
      ["POST", "pairing-code"],
      ["POST", "unlink"],
      ["POST", "send"],
      ["GET", "accounts"],
      ["POST", "accounts"],
      ["DELETE", "accounts/default"],
    ];
    for (const [method, path] of routes) {
      const options = method === "POST" ? { body } : {};
      for (const key of [KEYS.plain, KEYS.other]) {
        expect((await gateway!.json(method, `${base}/${path}`, { ...options, key })).status).toBe(403);
      }
      const nobody = await gateway!.json(method, `/api/v1/agents/nobody/devicechat/${path}`, options);
      expect(nobody).toMatchObject({ status: 404, body: { code: "AGENT_NOT_FOUND" } });
      expect((await gateway!.json(method, `${base}/${path}`, { ...options, key: null })).status).toBe(401);
    }
    expect((await get("status", { key: KEYS.write })).status).toBe(200);
  });

  it("a channel that is turned off is not linked", async () => {
    await start({ enabled: false });
    expect((await status()).status).toBe("unlinked");
    expect(await post("link")).toMatchObject({ status: 409, body: { code: "CONFLICT" } });
  });
});

describe("accounts", () => {
  it("an account is added beside default, which stays; ids and labels are checked [CH-DEVICE-18] [CH-DEVICE-19] [CH-DEVICE-20] [CH-DEVICE-21]", async () => {
    await start();
    const made = await post("accounts", { id: "work", label: "Work" });
    const work = { id: "work", ...EMPTY, label: "Work" };
    expect(made.status).toBe(201);
    expect(made.body).toEqual({ account: work, accounts: [{ id: "default", ...EMPTY }, work] });
    expect((await get("accounts")).body).toEqual({ accounts: made.body.accounts });
    const { agent } = (await gateway!.json("GET", "/api/v1/agents/assistant")).body as { agent: Json };
    expect(agent.devicechat_accounts).toEqual(made.body.accounts);
    expect((await gateway!.config()).agents).toMatchObject([
      { devicechat: { accounts: [{ id: "default" }, { id: "work", label: "Work", pairing: true }] } },
      {},
    ]);
    expect(await status("work")).toEqual({ account_id: "work", status: "unlinked", loggedOut: false });

    expect((await post("accounts", { id: "work" })).status).toBe(409);
    for (const id of ["default", "", "-a", "_a", "Work", "a b", "ä", "a".repeat(33), 5, undefined, "../x"]) {
      expect(await post("accounts", { id })).toMatchObject({
        status: 400,
        body: { code: "INVALID_REQUEST" },
      });
    }
    for (const label of [5, {}, "${GATEWAY_ADMIN_KEY}"]) {
      expect((await post("accounts", { id: "other", label })).status).toBe(400);
    }
    expect((await post("accounts", { id: "0-_".padEnd(32, "z"), label: null })).status).toBe(201);
  });

  it("deleting logs out, wipes the folder and drops it; the last one stays [CH-DEVICE-22] [CH-DEVICE-23]", async () => {
    await start();
    expect(await remove("accounts/default")).toMatchObject({ status: 409, body: { code: "CONFLICT" } });
    expect(await remove("accounts/work")).toMatchObject({ status: 404, body: { code: "NOT_FOUND" } });
    await post("accounts", { id: "work" });
    await link("work");
    expect(await exists(join(stateDir(), "work/creds.json"))).toBe(true);
    expect(await remove("accounts/work")).toEqual({
      status: 200,
      body: { ok: true, accounts: [{ id: "default", ...EMPTY }] },
      headers: expect.anything(),
    });
    expect(await exists(join(stateDir(), "work"))).toBe(false);
    await until(() => phone.open() === 0, "the end of the connection");
    expect((await get("status?account_id=work")).status).toBe(400);
    expect((await gateway!.config()).agents).toMatchObject([
      { devicechat: { accounts: [{ id: "default" }] } },
      {},
    ]);
    const removed = (content: unknown) => JSON.stringify(content ?? "").includes("remove-companion-device");
    expect(phone.stanzas.some(({ content }) => removed(content))).toBe(true);
  });

  it("of two accounts default can be deleted, too, and is not there any more then", async () => {
    await start();
    await post("accounts", { id: "work" });
    expect((await remove("accounts/default")).status).toBe(200);
    expect((await get("accounts")).body).toEqual({ accounts: [{ id: "work", ...EMPTY }] });
    expect((await get("status?account_id=default")).status).toBe(400);
    expect((await status()).account_id).toBe("work");
    expect((await remove("accounts/work")).status).toBe(409);
  });

  it("older flat configuration becomes the list of accounts [CH-DEVICE-13]", async () => {
    const flat = { dmPolicy: "pairing", dmAllowlist: ["15550001111"], requireMention: false, label: "Old" };
    const config = testConfig({ agent: { devicechat: { waWebSocketUrl: phone.url, ...flat } } });
    await start({}, { config: { ...config, configVersion: "1.0.20" } });
    expect((await get("accounts")).body.accounts).toEqual([
      {
        id: "default",
        ...EMPTY,
        label: "Old",
        dm_policy: "allowlist",
        dm_allowlist: ["15550001111"],
        require_mention: false,
      },
    ]);
    const [{ devicechat }] = (await gateway!.config()).agents as [{ devicechat: Json }];
    expect(devicechat).toEqual({ waWebSocketUrl: phone.url, accounts: [{ id: "default", ...flat }] });
  });
});

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
    expect(phone.sent.map(({ message }) => message.extendedTextMessage?.text)).toEqual([
      "refused",
      "dropped",
      "last",
    ]);
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
    expect(await send(join(workspace, ".devicechat-state/creds.json"))).toEqual([400, "INVALID_REQUEST"]);
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
