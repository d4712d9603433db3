import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { openConnection } from "../../../fixtures/connection.ts";
import { GUILD_TOKEN } from "../../../fixtures/fake-guildchat.ts";
import { until } from "../../../harness.ts";
import { adapterFor, DM, GUILD, ROOM, startFake } from "./rig.ts";

/** Connected, with one message taken. */
async function connected(options?: Parameters<typeof startFake>[0]) {
  const fake = await startFake(options);
  const { adapter } = await adapterFor(fake);
  const link = openConnection(adapter);
  await until(() => fake.state.logins === 1 && link.state.alive > 0, "the login");
  fake.say({ channel: DM, content: "one" });
  await until(() => link.kept.inbox.size === 1, "the first message");
  await until(() => link.kept.position?.includes(DM) === true, "its position");
  return { fake, adapter, link };
}

describe("the socket", () => {
  it("logs in with the intents for guild and direct messages, and takes messages [CH-GUILDCHAT-1]", async () => {
    const { fake, link } = await connected();
    const login = fake.frames.find(({ op }) => op === 2)!.d as Record<string, unknown>;
    // GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT
    expect(login).toMatchObject({ token: GUILD_TOKEN, intents: 1 | 512 | 4096 | 32768, shard: [0, 1] });
    expect([...link.kept.inbox.values()]).toMatchObject([
      { chatId: DM, kind: "dm", text: "one", mentioned: true, senderName: "Ann" },
    ]);
    expect(await link.end()).toBe("ended");
    await until(() => fake.sockets.size === 0, "the socket's end");
  });

  it("finds the socket's address by itself [CH-GUILDCHAT-1]", async () => {
    const fake = await startFake();
    const { adapter } = await adapterFor({ apiBaseUrl: `${fake.apiBaseUrl}/v10/` });
    openConnection(adapter);
    await until(() => fake.state.logins === 1, "the login");
    expect(fake.requests.map(({ path }) => path)).toContain("/gateway/bot");
  });

  it("takes the session up after a cut, with all that came meanwhile, each once [CH-GUILDCHAT-2]", async () => {
    const { fake, link } = await connected();
    for (let round = 0; round < 3; round++) {
      fake.cut();
      fake.say({ channel: DM, content: `while away ${round}` });
      await until(() => fake.state.resumed === round + 1, "the session");
      await until(() => link.kept.inbox.size === round + 2, "the missed message");
    }
    expect(link.texts()).toEqual(["one", "while away 0", "while away 1", "while away 2"]);
    expect(fake.state).toMatchObject({ logins: 1, mostOpen: 1 });
  });

  it("opens another socket when it is told to, never two at a time [CH-GUILDCHAT-2]", async () => {
    const { fake, link } = await connected();
    fake.send({ op: 7, d: null });
    await until(() => fake.state.resumed === 1, "the session");
    fake.say({ channel: DM, content: "two" });
    await until(() => link.kept.inbox.size === 2, "the second message");
    expect(fake.state).toMatchObject({ logins: 1, opened: 2, mostOpen: 1 });
  });

  it("leaves a connection whose heartbeats are not answered [CH-GUILDCHAT-3]", async () => {
    const { fake, link } = await connected({ heartbeatMs: 100 });
    const before = link.state.alive;
    await until(() => link.state.alive > before + 2, "answered heartbeats");
    fake.state.beats = false;
    await until(() => fake.state.opened === 2, "another socket");
    fake.state.beats = true;
    await until(() => fake.state.resumed === 1, "the session");
    expect(fake.state.mostOpen).toBe(1);
  });

  it("fetches what it missed when the session is gone, oldest first [CH-GUILDCHAT-4]", async () => {
    const { fake, link } = await connected();
    fake.say({ channel: ROOM, guild: GUILD, content: "hello room" });
    await until(() => link.kept.inbox.size === 2, "the room's message");
    fake.cut();
    fake.forgetSessions();
    for (let n = 0; n < 60; n++) fake.say({ channel: DM, content: `missed ${n}` });
    fake.say({ channel: ROOM, guild: GUILD, content: "missed in the room" });
    await until(() => fake.state.logins === 2, "the second login");
    await until(() => link.kept.inbox.size === 63, "the missed messages");
    const direct = [...link.kept.inbox.values()].filter(({ chatId }) => chatId === DM);
    expect(direct.map(({ text }) => text)).toEqual([
      "one",
      ...Array.from({ length: 60 }, (_, n) => `missed ${n}`),
    ]);
    expect([...link.kept.inbox.values()].find(({ text }) => text === "missed in the room")).toMatchObject({
      kind: "group",
      groupId: GUILD,
      mentioned: false,
    });
    expect(fake.state.mostOpen).toBe(1);
  });

  it("asks again later where it could not ask, and loses nothing meanwhile [CH-GUILDCHAT-4]", async () => {
    const { fake, link } = await connected({ heartbeatMs: 200 });
    fake.fail(`GET /channels/${DM}/messages`, { status: 500 });
    fake.fail(`GET /channels/${DM}/messages`, "drop");
    fake.cut();
    fake.forgetSessions();
    fake.say({ channel: DM, content: "missed" });
    await until(() => fake.state.logins === 2, "the second login");
    fake.say({ channel: DM, content: "live" });
    await until(() => link.kept.inbox.size === 3, "both messages");
    expect(link.texts().sort()).toEqual(["live", "missed", "one"]);
  });

  it("does not ask again where it is told that a channel cannot be read [CH-GUILDCHAT-4]", async () => {
    const { fake, link } = await connected();
    fake.fail(`GET /channels/${DM}/messages`, { status: 405 });
    fake.cut();
    fake.forgetSessions();
    await until(() => fake.state.logins === 2, "the second login");
    fake.say({ channel: DM, content: "live" });
    await until(() => link.kept.inbox.size === 2, "the message");
    expect(
      fake.requests.filter(({ method, path }) => method === "GET" && path.endsWith("/messages")),
    ).toHaveLength(1);
  });

  it("goes on after a restart where it stopped [CH-GUILDCHAT-5]", async () => {
    const { fake, adapter, link } = await connected();
    expect(await link.end()).toBe("ended");
    fake.say({ channel: DM, content: "while down" });
    const next = openConnection(adapter, link.kept);
    await until(() => link.kept.inbox.size === 2, "the missed message");
    expect(link.texts()).toEqual(["one", "while down"]);
    expect(fake.state).toMatchObject({ logins: 1, resumed: 1 });
    await next.end();
    expect(JSON.parse(link.kept.position!)).toMatchObject({ session: { id: "session-1" } });
  });

  it("moves on only when a message is stored [CH-GUILDCHAT-5]", async () => {
    const { fake, adapter, link } = await connected();
    link.state.failing = true;
    fake.say({ channel: DM, content: "two" });
    expect(await link.done).toBe("Could not store messages; see the log for details.");
    openConnection(adapter, link.kept);
    await until(() => link.kept.inbox.size === 2, "the message");
    expect(fake.state).toMatchObject({ logins: 1, resumed: 1 });
  });

  it("takes an event once however often it comes [CH-GUILDCHAT-5]", async () => {
    const { fake, link } = await connected();
    const message = fake.say({ channel: DM, content: "again" });
    fake.dispatch("MESSAGE_CREATE", message);
    fake.dispatch("MESSAGE_CREATE", message);
    await until(() => link.state.received >= 4, "all three");
    expect(link.texts()).toEqual(["one", "again"]);
  });

  it("begins a new session where nobody answers to the old one [CH-GUILDCHAT-3]", async () => {
    const { fake, link } = await connected();
    fake.state.answersResume = false;
    fake.cut();
    await until(() => fake.state.logins === 2, "the second login", 3_000);
    fake.say({ channel: DM, content: "hello again" });
    await until(() => link.texts().includes("hello again"), "the message");
  });

  it("ends at once while the provider does not answer [CH-GUILDCHAT-3]", async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as AddressInfo;
    const fake = await startFake();
    const handshake = await adapterFor({ ...fake, gatewayUrl: `ws://127.0.0.1:${port}` });
    const stuck = openConnection(handshake.adapter);
    await until(() => fake.requests.length > 0, "the question for the address");
    expect(await stuck.end()).toBe("ended");
    fake.state.greets = false;
    const { adapter } = await adapterFor(fake);
    const ungreeted = openConnection(adapter);
    await until(() => fake.sockets.size === 1, "the socket");
    expect(await ungreeted.end()).toBe("ended");
    await until(() => fake.sockets.size === 0, "the socket's end");
  });
});

describe("logging in", () => {
  it("waits five seconds between logins and keeps the last ones of the day [CH-GUILDCHAT-6]", async () => {
    const { fake, adapter, link } = await connected();
    fake.cut();
    fake.forgetSessions();
    await until(() => fake.state.logins === 2, "the second login");
    const [first, second] = fake.frames.filter(({ op }) => op === 2).map(({ at }) => at);
    // The clock runs twenty times as fast.
    expect(second! - first!).toBeGreaterThan(240);
    await link.end();
    fake.state.remaining = 1;
    link.kept.position = undefined;
    const next = openConnection(adapter, link.kept);
    expect(await next.done).toBe("Discord does not allow the bot to log in again for 1 minutes.");
    expect(fake.state.logins).toBe(2);
  });

  it.each([
    [4004, /does not know this bot token/],
    [4014, /Message Content intent/],
    [4011, /too many servers/],
  ])("says why Discord refuses the bot with %i [CH-GUILDCHAT-6]", async (code, sentence) => {
    const fake = await startFake();
    fake.state.refuseLogin = code;
    const { adapter } = await adapterFor(fake);
    expect(await openConnection(adapter).done).toMatch(sentence);
    expect(fake.state.logins).toBe(1);
  });

  it("says that the token is wrong, or that nobody answers [CH-GUILDCHAT-6]", async () => {
    const fake = await startFake();
    const wrong = await adapterFor(fake, { botToken: "wrong" });
    expect(await openConnection(wrong.adapter).done).toMatch(/does not know this bot token/);
    const gone = await startFake();
    await gone[Symbol.asyncDispose]();
    const nobody = await adapterFor({ apiBaseUrl: gone.apiBaseUrl });
    expect(await openConnection(nobody.adapter).done).toBe("Discord cannot be reached (ECONNREFUSED).");
    const half = await adapterFor({ ...fake, gatewayUrl: gone.gatewayUrl });
    expect(await openConnection(half.adapter).done).toBe("Discord's gateway cannot be reached.");
  });
});

describe("commands", () => {
  it("are registered when they changed [CH-GUILDCHAT-7]", async () => {
    const { fake, adapter, link } = await connected();
    const puts = () => fake.requests.filter(({ method }) => method === "PUT");
    await until(() => puts().length === 1, "the commands");
    expect(puts()[0]).toMatchObject({
      path: "/applications/900000000000000009/commands",
      body: [{ name: "session", description: "Shows the session.", type: 1 }],
    });
    await link.end();
    const next = openConnection(adapter, link.kept);
    await until(() => fake.state.resumed === 1, "the session");
    fake.say({ channel: DM, content: "two" });
    await until(() => next.kept.inbox.size === 2, "the next message");
    expect(puts()).toHaveLength(1);
  });

  it("and pressed buttons become messages, and are acknowledged once stored [CH-GUILDCHAT-7]", async () => {
    const { fake, link } = await connected();
    const user = { id: "500000000000000002", username: "bo" };
    fake.dispatch("INTERACTION_CREATE", {
      id: "600000000000000001",
      token: "token-1",
      type: 2,
      channel_id: ROOM,
      guild_id: GUILD,
      member: { user, nick: "Bo" },
      data: { name: "model", type: 1, options: [{ name: "input", value: "opus" }] },
    });
    fake.dispatch("INTERACTION_CREATE", {
      id: "600000000000000002",
      token: "token-2",
      type: 3,
      channel_id: DM,
      user,
      data: { custom_id: "/model sonnet", component_type: 2 },
    });
    const acks = () => fake.requests.filter(({ path }) => path.startsWith("/interactions/"));
    await until(() => acks().length === 2, "the acknowledgements");
    expect(acks().map(({ path, body }) => [path, body.type])).toEqual([
      ["/interactions/600000000000000001/token-1/callback", 4],
      ["/interactions/600000000000000002/token-2/callback", 6],
    ]);
    expect(link.kept.inbox.get("600000000000000001")).toMatchObject({
      text: "/model opus",
      kind: "group",
      groupId: GUILD,
      mentioned: true,
      senderId: user.id,
    });
    expect(link.kept.inbox.get("600000000000000002")).toMatchObject({ text: "/model sonnet", kind: "dm" });
  });
});
