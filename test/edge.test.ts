import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { runCli } from "./fixtures/cli.ts";
import { BOT, chatOf, person, startFakeBotchat } from "./fixtures/fake-botchat.ts";
import { slackEvent } from "./fixtures/fake-teamchat.ts";
import { startTeamchatRig } from "./fixtures/teamchat-rig.ts";
import { allFrames, type Gateway, KEYS, startGateway, testConfig, until } from "./harness.ts";

describe("a key that is taken away", () => {
  it("loses its open stream and its waiting request; the turns go on [EDGE-5]", async () => {
    await using gateway = await startGateway({ agentArgs: [] });
    const body = { message: "SLOW 20 100", chat_id: "me" };
    const path = "/api/v1/agents/assistant/messages";
    const stream = await gateway.request("POST", path, { key: KEYS.plain, body: { ...body, stream: true } });
    const waiting = gateway.json("POST", path, { key: KEYS.plain, body: { ...body, chat_id: "other" } });
    await until(
      async () =>
        /live_sessions\{agent="assistant",state="busy"\} 2/.test(
          await (await gateway.request("GET", "/metrics")).text(),
        ),
      "both turns",
    );
    const config = testConfig() as { gateway: { api: { keys: { key: string }[] } } };
    config.gateway.api.keys = config.gateway.api.keys.filter(({ key }) => key !== KEYS.plain);
    await gateway.writeConfig(config);
    const frames = await allFrames(stream);
    expect(frames.at(-2)?.data).toMatchObject({ type: "error", code: "API_KEY_INVALID" });
    expect(frames.at(-1)?.data).toEqual({ type: "[DONE]" });
    expect(await waiting).toMatchObject({ status: 403, body: { code: "API_KEY_INVALID" } });
    await until(async () => {
      const { body } = await gateway.json("GET", "/api/v1/agents/assistant/chats/api-me/messages");
      return (body.messages as unknown[]).length === 2;
    }, "the reply in the history");
  });
});

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const upload = (gateway: Gateway, key: string = KEYS.admin, raw: Uint8Array<ArrayBuffer> = PNG) =>
  gateway.json("POST", "/api/v1/agents/assistant/media", {
    key,
    raw,
    headers: { "content-type": "image/png" },
  });

describe("space", () => {
  it("an agent's uploads end at its quota, after a restart too; a key's at its rate [SPACE-1, LIM-3]", async () => {
    const options = { gateway: { media: { quotaBytes: PNG.length * 3 } } };
    await using gateway = await startGateway(options);
    for (let count = 0; count < 3; count++) expect((await upload(gateway)).status).toBe(200);
    const full = await upload(gateway);
    expect([full.status, full.body.code]).toEqual([507, "QUOTA_EXCEEDED"]);
    expect(await gateway.stop()).toBe(0);
    await using again = await startGateway({ home: gateway.home });
    expect((await upload(again)).status).toBe(507);
    const all = await Promise.all(Array.from({ length: 25 }, () => upload(again, KEYS.plain)));
    const limited = all.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(0);
    expect(limited[0]?.body.code).toBe("RATE_LIMITED");
    expect(Number(limited[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await again.send("SAY still answering")).status).toBe(200);
  });

  it("below the floor nothing new is stored; everything else continues [SPACE-2]", async () => {
    await using gateway = await startGateway();
    const first = await gateway.send("SAY before");
    const running = gateway.send("SLOW 20 100", { session_id: first.body.session_id });
    await until(
      async () => /"busy":true/.test(await (await gateway.request("GET", "/status")).text()),
      "the turn to run",
    );
    const config = testConfig() as { gateway: Record<string, unknown> };
    config.gateway.minFreeBytes = 2 ** 52;
    await gateway.writeConfig(config);
    const health = async () => (await gateway.json("GET", "/health")).body;
    await until(async () => (await health()).disk === "low", "the disk to be low");
    expect(await gateway.json("GET", "/health")).toMatchObject({ status: 200, body: { status: "ok" } });

    const agents = "/api/v1/agents";
    const session = { session_id: first.body.session_id, chat_id: "me" };
    const refused = [
      await gateway.send("SAY more"),
      await upload(gateway),
      await gateway.json("POST", `${agents}/assistant/sessions`, { body: { chat_id: "me" } }),
      await gateway.json("POST", `${agents}/assistant/greeting`, { body: session }),
      await gateway.json(
        "POST",
        `${agents}/assistant/chats/api-me/sessions/${first.body.session_id}/messages`,
        {
          body: { content: "hello" },
        },
      ),
      await gateway.json("POST", `${agents}/assistant/history/import`, {
        raw: '{"chatId":"api-x"}\n',
        headers: { "content-type": "application/x-ndjson" },
      }),
      await gateway.json("POST", agents, { body: { id: "third", description: "x" } }),
    ];
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
      refused.map(() => [503, "UNAVAILABLE"]),
    );
    const reply = await running;
    expect(reply.status).toBe(200);
    const { body } = await gateway.json(
      "GET",
      `${agents}/assistant/chats/api-me/messages?order=desc&limit=1`,
    );
    expect((body.messages as { content: string }[])[0]?.content).toBe(reply.body.response);
    expect((await gateway.send("/session", { session_id: first.body.session_id })).status).toBe(200);
    expect((await gateway.send("/clear", { session_id: first.body.session_id })).status).toBe(200);
    expect(await readFile(`${gateway.home}/logs/gateway.log`, "utf8")).toContain("the disk is nearly full");
  });
});

describe("a channel's message below the floor", () => {
  const floor = async (gateway: Gateway, minFreeBytes: number) => {
    const config = (await gateway.config()) as { gateway: Record<string, unknown> };
    config.gateway.minFreeBytes = minFreeBytes;
    await gateway.writeConfig(config);
    const disk = minFreeBytes === 0 ? undefined : "low";
    await until(
      async () => (await gateway.json("GET", "/health")).body.disk === disk,
      `the disk to be ${disk}`,
    );
  };

  it("is not acknowledged to a webhook's sender, and taken when it comes again [SPACE-3]", async () => {
    await using rig = await startTeamchatRig();
    await floor(rig.gateway, 2 ** 52);
    const event = slackEvent({ text: "SAY hello" });
    expect((await rig.deliver(event)).status).toBe(503);
    expect(rig.rows("SELECT * FROM channel_inbox")).toEqual([]);
    await floor(rig.gateway, 0);
    expect((await rig.deliver(event)).status).toBe(200);
    await until(() => rig.slack.texts().includes("hello"), "the answer");
  });

  it("stays with a provider that is polled, and is answered once there is space [SPACE-3]", async () => {
    await using telegram = stopping(await startFakeBotchat());
    const agent = { botchat: { botToken: BOT.token, apiBaseUrl: telegram.url } };
    await using gateway = await startGateway({ agent });
    const policy = "/api/v1/agents/assistant/botchat/policy";
    expect((await gateway.json("PATCH", policy, { body: { dmPolicy: "open" } })).status).toBe(200);
    await floor(gateway, 2 ** 52);
    telegram.message("SAY hello");
    const polls = telegram.callsOf("getUpdates").length;
    await until(() => telegram.callsOf("getUpdates").length > polls + 1, "two more polls", 20_000);
    expect(telegram.texts()).toEqual([]);
    await floor(gateway, 0);
    await until(() => telegram.texts().includes("hello"), "the answer", 20_000);
    expect(telegram.texts()).toEqual(["hello"]);
  });
});

describe("names for people", () => {
  const NASTY = ["two\nlines", "\u001b[2Jclear", "a\u202eb", "a\u2066b", "nul\u0000"];

  it("are refused with control characters or bidirectional overrides, and kept in any script [NAME-1]", async () => {
    await using gateway = await startGateway();
    const sessions = "/api/v1/agents/assistant/sessions";
    const make = (name: string) => gateway.json("POST", sessions, { body: { chat_id: "me", name } });
    const { body } = await make("سلام — שלום 👩‍👩‍👧 ok");
    expect(body.sessionName).toBe("سلام — שלום 👩‍👩‍👧 ok");
    const id = body.sessionId as string;
    for (const name of NASTY) {
      const refused = [
        await make(name),
        await gateway.json("PATCH", `${sessions}/${id}`, { body: { chat_id: "me", session_name: name } }),
        await gateway.json("POST", `/api/v1/agents/assistant/chats/api-me/sessions/${id}/messages`, {
          body: { content: "hello", senderName: name },
        }),
        await gateway.json("PATCH", "/api/v1/agents/assistant", { body: { name } }),
      ];
      expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
        refused.map(() => [400, "INVALID_REQUEST"]),
      );
    }
    const made = await gateway.json("POST", sessions, {
      body: { chat_id: "me", prompt: "a\u202eb\u001b[2J c" },
    });
    expect(made.body.sessionName).toBe("a b [2J c");
  });

  it("of channels' senders lose them [NAME-1]", async () => {
    await using telegram = stopping(await startFakeBotchat());
    const agent = { botchat: { botToken: BOT.token, apiBaseUrl: telegram.url } };
    await using gateway = await startGateway({ agent });
    const from = { ...person(5), first_name: "Eve\u202e\u001b[2J" };
    telegram.push({ message: { message_id: 1, date: 1, chat: chatOf(5), from, text: "/start" } });
    const pending = async () =>
      (await gateway.json("GET", "/api/v1/agents/assistant/botchat/pending")).body.pending as {
        senderName: string;
      }[];
    await until(async () => (await pending()).length === 1, "the knock", 20_000);
    expect((await pending())[0]?.senderName).toBe("Eve [2J L5");
  });
});

describe("secrets on the command line", () => {
  it("are read from standard input for -, and warned of as arguments [CLI-SECRET-1]", async () => {
    await using telegram = stopping(await startFakeBotchat());
    await using gateway = await startGateway({ agent: { botchat: { apiBaseUrl: telegram.url } } });
    const env = { GATEWAY_URL: gateway.url, GATEWAY_API_KEY: KEYS.admin };
    const update = (token: string, input?: string) =>
      runCli(["agents", "update", "assistant", "--botchat-bot-token", token], {
        env,
        ...(input !== undefined && { input }),
      });
    const typed = await update("-", `${BOT.token}\n`);
    expect([typed.code, typed.stderr]).toEqual([0, ""]);
    expect(await readFile(`${gateway.home}/agents/assistant/.env`, "utf8")).toContain(BOT.token);
    for (const input of ["", "\n", "one\ntwo\n"]) {
      const { code, stderr } = await update("-", input);
      expect([code, stderr.includes("one line for each of: botchat-bot-token")]).toEqual([2, true]);
    }
    const shown = await update(BOT.token);
    expect(shown.code).toBe(0);
    expect(shown.stderr).toContain("can read a program's arguments");
  });
});

describe("a chat on the command line", () => {
  it("is found by its caller's name and by its stored one; an unknown one is reported with the nearest names [CLI-CHAT-1]", async () => {
    await using gateway = await startGateway();
    const first = await gateway.send("SAY hello");
    await gateway.send("SAY hello", { chat_id: "melanie" });
    const env = { GATEWAY_URL: gateway.url, GATEWAY_API_KEY: KEYS.plain };
    const run = (...args: string[]) => runCli([...args, "--json"], { env });
    for (const chat of ["me", "api-me"]) {
      for (const command of [
        ["history", "messages", "assistant", "--chat", chat],
        ["history", "messages", "assistant", chat],
        ["history", "sessions", "assistant", chat],
        ["history", "search", "assistant", chat, "hello"],
        ["sessions", "list", "assistant", "--chat", chat],
        ["sessions", "info", "assistant", first.body.session_id as string, "--chat", chat],
      ]) {
        const { code, stdout, stderr } = await run(...command);
        expect([code, stderr], command.join(" ")).toEqual([0, ""]);
        expect(stdout, command.join(" ")).toContain(first.body.session_id as string);
      }
    }
    const unknown = await run("history", "messages", "assistant", "--chat", "melani");
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toContain(
      'There is no chat "melani" with assistant. Did you mean: api-melanie, api-me?',
    );
    const sent = await run("messages", "send", "assistant", "SAY again", "--chat", "api-me");
    expect(sent.code).toBe(0);
    const { body } = await gateway.json("GET", "/api/v1/agents/assistant/chats");
    expect((body.chats as { chatId: string }[]).map(({ chatId }) => chatId).sort()).toEqual([
      "api-me",
      "api-melanie",
    ]);
  });
});

const stopping = <T extends { stop(): Promise<unknown> }>(fake: T) =>
  Object.assign(fake, { [Symbol.asyncDispose]: async () => void (await fake.stop()) });
