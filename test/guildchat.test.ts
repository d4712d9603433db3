import { describe, expect, it } from "vitest";
import { GUILD_BOT, GUILD_TOKEN, type Said, startFakeGuildchat } from "./fixtures/fake-guildchat.ts";
import { rowsOf } from "./fixtures/rows.ts";
import { type Gateway, type GatewayOptions, startGateway, until } from "./harness.ts";

const API = "/api/v1/agents/assistant";
const DM = "700000000000000001";
const ROOM = "700000000000000002";
const THREAD = "700000000000000003";
const GUILD = "800000000000000001";
const ANN = "500000000000000001";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

async function startRig(options: GatewayOptions = {}) {
  const discord = await startFakeGuildchat();
  const { apiBaseUrl, gatewayUrl } = discord;
  let gateway = await startGateway({
    ...options,
    agent: { ...options.agent, guildchat: { botToken: GUILD_TOKEN, apiBaseUrl, gatewayUrl } },
  });
  const rows = (sql: string) => rowsOf(gateway, sql);
  const texts = (channel: string) => discord.shown(channel);
  const rig = {
    discord,
    rows,
    texts,
    get gateway(): Gateway {
      return gateway;
    },
    /** Somebody writes, in the direct channel unless told. */
    say: (content: string, more: Partial<Said> = {}) => discord.say({ channel: DM, content, ...more }),
    post: (path: string, body: object = {}) => gateway.json("POST", `${API}/guildchat/${path}`, { body }),
    policy: (body: object) => gateway.json("PATCH", `${API}/guildchat/policy`, { body }),
    async pending(): Promise<Array<Record<string, unknown>>> {
      const { body } = await gateway.json("GET", `${API}/guildchat/pending`);
      return body.pending as Array<Record<string, unknown>>;
    },
    health: async () => {
      const { body } = await gateway.json("GET", `${API}/channels`);
      const channels = body.channels as Array<Record<string, unknown>>;
      return channels.find(({ channel }) => channel === "guildchat")!;
    },
    async said(count: number, what: string, channel = DM): Promise<string[]> {
      await until(() => texts(channel).length >= count, what, 20_000);
      return texts(channel);
    },
    connected: () => until(async () => (await rig.health()).connected, "the connection", 20_000),
    /** All that came is answered, as far as it ever will be. */
    async settled(): Promise<void> {
      await until(
        () =>
          rows("SELECT 1 FROM channel_inbox WHERE state IN ('waiting', 'command', 'turn')").length === 0 &&
          rows("SELECT 1 FROM channel_outbox WHERE state IN ('pending', 'sending')").length === 0,
        "the end of all turns and deliveries",
        30_000,
      );
    },
    async restart(more: GatewayOptions = {}, end: "kill" | "stop" = "kill") {
      await gateway[end]();
      gateway = await startGateway({ home: gateway.home, ...more });
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await discord[Symbol.asyncDispose]();
    },
  };
  return rig;
}

/** A rig where everybody may write, connected. */
async function startOpenRig(options: GatewayOptions = {}) {
  const rig = await startRig(options);
  expect((await rig.policy({ dmPolicy: "open", groupPolicy: "open" })).status).toBe(200);
  await rig.connected();
  return rig;
}

const mention = `<@${GUILD_BOT.id}>`;
const mentions = [{ id: GUILD_BOT.id, username: GUILD_BOT.username }];

describe("Discord", () => {
  it("a stranger knocks, is approved, is notified, and gets an answer [CH-GUILDCHAT-18]", async () => {
    await using rig = await startRig();
    await rig.connected();
    rig.say("hello?");
    const [told] = await rig.said(1, "the code");
    const knock = await until(async () => (await rig.pending())[0], "the knock");
    expect(knock).toMatchObject({ senderId: ANN, channelId: DM, kind: "dm", guildId: null });
    expect(told).toContain(knock.code);
    const { status, body } = await rig.post("approve", { code: knock.code });
    expect({ status, body }).toMatchObject({ status: 200, body: { ok: true, senderId: ANN } });
    await rig.said(2, "the confirmation");
    rig.say("SAY hello **Ann**");
    const texts = await rig.said(3, "the answer");
    expect(texts[2]).toBe("hello **Ann**");
    const { body: history } = await rig.gateway.json(
      "GET",
      `${API}/chats/guildchat-${DM}/messages?order=asc`,
    );
    expect((history.messages as Array<{ role: string }>).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
    ]);
  });

  it("a guild's knock opens the guild, where mentions are answered, in threads too [CH-GUILDCHAT-18]", async () => {
    await using rig = await startRig();
    await rig.connected();
    const inRoom = { channel: ROOM, guild: GUILD };
    rig.say("not to the bot", inRoom);
    rig.say(`${mention} let me in`, { ...inRoom, more: { mentions } });
    const knock = await until(async () => (await rig.pending())[0], "the knock");
    expect(knock).toMatchObject({ kind: "guild", guildId: GUILD, channelId: ROOM, senderId: ANN });
    const { body } = await rig.post("approve", { code: knock.code });
    expect(body).toMatchObject({ ok: true, guildId: GUILD });
    const before = rig.texts(ROOM).length;
    rig.say("SAY nobody asked", inRoom);
    const asked = rig.say(`${mention} SAY asked`, { ...inRoom, more: { mentions } });
    const texts = await rig.said(before + 1, "the answer", ROOM);
    expect(texts.at(-1)).toBe("asked");
    expect(rig.discord.posted(ROOM).at(-1)!.body).toMatchObject({
      message_reference: { message_id: asked.id, fail_if_not_exists: false },
    });
    const thread = { channel: THREAD, guild: GUILD };
    rig.say("SAY by reply", {
      ...thread,
      more: { type: 19, referenced_message: { id: "1", author: GUILD_BOT, content: "asked" } },
    });
    expect(await rig.said(1, "the answer in the thread", THREAD)).toEqual(["by reply"]);
    rig.say("SAY direct");
    expect((await rig.said(1, "the code"))[0]).not.toBe("direct");
  });

  it("images and documents reach the agent, its images reach the channel [CH-GUILDCHAT-17]", async () => {
    await using rig = await startOpenRig();
    const { files, base } = rig.discord;
    files.set("/attachments/1/a.png", { status: 200, type: "image/png", bytes: PNG });
    files.set("/attachments/2/b.pdf", {
      status: 200,
      type: "application/pdf",
      bytes: Buffer.from("%PDF-1.4 a document"),
    });
    const attached = (id: string, name: string, content_type: string) => ({
      attachments: [{ id, filename: name, content_type, size: 20, url: `${base}/attachments/${id}/${name}` }],
    });
    rig.say("look at this", { more: attached("1", "a.png", "image/png") });
    expect((await rig.said(1, "the answer to the image"))[0]).toContain("img=1");
    rig.say("", { more: attached("2", "b.pdf", "application/pdf") });
    await rig.said(2, "the answer to the document");
    rig.say("RAW", { more: attached("3", "gone.pdf", "application/pdf") });
    expect((await rig.said(3, "the answer to the missing file"))[2]).toContain("unavailable");
    rig.say("IMAGE");
    const sent = () => rig.discord.posted(DM).flatMap((request) => request.files);
    await until(() => sent().length === 1, "the agent's image");
    expect(sent()[0]).toMatchObject({ field: "files[0]", type: "image/png" });
  });

  it("slash commands and buttons work in the channel [CH-GUILDCHAT-7]", async () => {
    await using rig = await startOpenRig();
    const user = { id: ANN, username: "ann" };
    const event = { id: "600000000000000001", token: "t1", channel_id: DM, user };
    const registered = await until(
      () => rig.discord.requests.find(({ path }) => path.endsWith("/commands")),
      "the commands",
    );
    expect((registered.body as unknown as Array<{ name: string }>).map(({ name }) => name)).toContain(
      "session",
    );
    rig.discord.dispatch("INTERACTION_CREATE", { ...event, type: 2, data: { name: "session", type: 1 } });
    await rig.said(1, "the command's reply");
    expect(
      rig.discord.requests.some(({ path }) => path === "/interactions/600000000000000001/t1/callback"),
    ).toBe(true);
    expect(rig.rows("SELECT count(*) AS n FROM turns")).toEqual([{ n: 0 }]);
  });

  it("the same event three times is answered once, also after a kill [CH-GUILDCHAT-19]", async () => {
    await using rig = await startOpenRig();
    const message = rig.say("SAY once");
    rig.discord.dispatch("MESSAGE_CREATE", message);
    rig.discord.dispatch("MESSAGE_CREATE", message);
    await rig.said(1, "the answer");
    await rig.restart();
    await rig.connected();
    rig.discord.dispatch("MESSAGE_CREATE", message);
    rig.say("SAY after");
    expect(await rig.said(2, "the answer after the restart")).toEqual(["once", "after"]);
    expect(rig.discord.state).toMatchObject({ logins: 1, resumed: 1 });
  });

  it("forced disconnects lose and repeat nothing, whether the session continues or not [CH-GUILDCHAT-19]", async () => {
    await using rig = await startOpenRig();
    rig.say("SAY first");
    await rig.said(1, "the first answer");
    const wanted = ["first"];
    const write = (word: string) => {
      wanted.push(word);
      rig.say(`SAY ${word}`);
    };
    for (let round = 0; round < 4; round++) {
      write(`before ${round}`);
      if (round === 1) rig.discord.forgetSessions();
      if (round === 3) rig.discord.closeSockets(4000);
      else rig.discord.cut();
      write(`while ${round}`);
      write(`meanwhile ${round}`);
      await until(() => rig.discord.sockets.size > 0, "another socket", 20_000);
      await rig.said(wanted.length, "all answers so far");
    }
    expect(rig.texts(DM)).toEqual(wanted);
    expect(rig.discord.state.mostOpen).toBe(1);
    expect(await rig.health()).toMatchObject({ connected: true, lastError: null });
  });

  it("stopped or killed in mid-conversation, it continues where it was [CH-GUILDCHAT-19]", async () => {
    await using rig = await startOpenRig();
    const wanted: string[] = [];
    for (let round = 0; round < 4; round++) {
      for (let n = 0; n < 5; n++) {
        const word = `r${round}n${n}`;
        wanted.push(word);
        rig.say(`SAY ${word}`, { channel: `70000000000000010${n}` });
      }
      const before = rig.discord.requests.length;
      await until(() => rig.discord.requests.length > before + 3, "some work on them");
      await rig.restart({}, round % 2 === 0 ? "kill" : "stop");
    }
    await until(
      () => rig.rows("SELECT 1 FROM channel_inbox").length === wanted.length,
      "all messages in the inbox",
      30_000,
    );
    await rig.settled();
    const posted = [0, 1, 2, 3, 4].flatMap((n) => rig.texts(`70000000000000010${n}`));
    const answers = posted.filter((text) => /^r\dn\d$/.test(text));
    expect(answers.length).toBe(new Set(answers).size);
    // A send that was cut off by the kill is uncertain, and a turn that had said something is told to be interrupted.
    const uncertain = rig.rows("SELECT 1 FROM channel_outbox WHERE state <> 'sent'").length;
    const interrupted = posted.length - answers.length;
    expect(answers.length + uncertain + interrupted).toBeGreaterThanOrEqual(wanted.length);
    expect(rig.discord.state).toMatchObject({ logins: 1, mostOpen: 1 });
  });

  it("what the provider limits or breaks is sent later, and shown once [CH-GUILDCHAT-11]", async () => {
    await using rig = await startOpenRig();
    const route = `POST /channels/${DM}/messages`;
    rig.discord.fail(route, { status: 429, body: { message: "slow", retry_after: 0.2 } });
    rig.discord.fail(route, { status: 502 });
    const attempts = () => rig.discord.posted(DM).map(({ body }) => String(body.content));
    rig.say("SAY patient");
    await rig.said(1, "the third attempt");
    expect(attempts()).toEqual(["patient", "patient", "patient"]);
    rig.discord.fail(route, "drop");
    rig.say("SAY uncertain");
    await until(() => attempts().length >= 4, "the attempt that breaks");
    rig.say("SAY next");
    expect(await rig.said(3, "the next answer")).toEqual(["patient", "uncertain", "next"]);
    // Discord takes a message with the same nonce once.
    expect(attempts()).toEqual(["patient", "patient", "patient", "uncertain", "uncertain", "next"]);
    await until(
      () => rig.rows("SELECT 1 FROM channel_outbox WHERE settled_at IS NULL").length === 0,
      "every outcome to be stored",
    );
    expect(rig.rows("SELECT state, attempts FROM channel_outbox ORDER BY id")).toEqual([
      { state: "sent", attempts: 3 },
      { state: "sent", attempts: 2 },
      { state: "sent", attempts: 1 },
    ]);
  });

  it("a refused token is shown, and reported as not connected [CH-GUILDCHAT-6]", async () => {
    await using rig = await startRig();
    await rig.connected();
    rig.discord.state.resumes = false;
    rig.discord.state.refuseLogin = 4014;
    rig.discord.cut();
    const health = await until(async () => {
      const found = await rig.health();
      return found.lastError !== null && !found.connected ? found : undefined;
    }, "the error");
    expect(health.lastError).toContain("Message Content intent");
  });
});
