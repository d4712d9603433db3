import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOfStream } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkToken } from "../../../../packages/gateway/src/channels/guildchat/check.ts";
import { isFileUrl } from "../../../../packages/gateway/src/channels/guildchat/media.ts";
import type { SendOutcome } from "../../../../packages/gateway/src/channels/types.ts";
import { outgoing, unending } from "../../../fixtures/adapter.ts";
import { GUILD_TOKEN, type GuildFault } from "../../../fixtures/fake-guildchat.ts";
import { until } from "../../../harness.ts";
import { adapterFor, DM, GUILD, ROOM, startFake } from "./rig.ts";

const ROUTE = `POST /channels/${DM}/messages`;

async function ready() {
  const fake = await startFake();
  const { adapter } = await adapterFor(fake);
  return { fake, adapter };
}

describe("a reply", () => {
  it("goes to the channel as Discord's Markdown, pings nobody, and quotes in guilds [CH-GUILDCHAT-8]", async () => {
    const { fake, adapter } = await ready();
    const direct = outgoing(DM, "**hello** @everyone");
    const sent = await adapter.send(direct, unending);
    expect(sent).toEqual({ status: "sent", messageId: expect.stringMatching(/^\d+$/) });
    const [first] = fake.posted(DM);
    expect(first!.body).toMatchObject({
      content: "**hello** @everyone",
      allowed_mentions: { parse: [], replied_user: true },
      enforce_nonce: true,
    });
    expect(first!.body).not.toHaveProperty("message_reference");
    const quoted = outgoing(ROOM, "hi");
    quoted.target = { ...quoted.target, reply: { guild: GUILD }, messageId: "111" };
    await adapter.send(quoted, unending);
    expect(fake.posted(ROOM)[0]!.body).toMatchObject({
      message_reference: { message_id: "111", fail_if_not_exists: false },
    });
  });

  it("has the same nonce at every attempt, and another one than other messages [CH-GUILDCHAT-8]", async () => {
    const { fake, adapter } = await ready();
    const one = outgoing(DM, "one");
    await adapter.send(one, unending);
    await adapter.send(one, unending);
    await adapter.send(outgoing(DM, "two"), unending);
    const [a, b, c] = fake.posted(DM).map(({ body }) => String(body.nonce));
    expect(a).toBe(b);
    expect(a).not.toBe(c);
    expect(a!.length).toBeLessThanOrEqual(25);
  });

  it("shows buttons in rows of five [CH-GUILDCHAT-8]", async () => {
    const { fake, adapter } = await ready();
    const buttons = Array.from({ length: 7 }, (_, n) => ({ label: `model ${n}`, command: `/model m${n}` }));
    buttons.push({ label: "too long", command: `/model ${"x".repeat(100)}` });
    await adapter.send(outgoing(DM, { kind: "text", text: "Pick one:", buttons }), unending);
    const rows = fake.posted(DM)[0]!.body.components as Array<{ type: number; components: unknown[] }>;
    expect(rows.map(({ type, components }) => [type, components.length])).toEqual([
      [1, 5],
      [1, 2],
    ]);
    expect(rows[0]!.components[0]).toEqual({ type: 2, style: 2, label: "model 0", custom_id: "/model m0" });
  });

  it("takes a file along [CH-GUILDCHAT-9]", async () => {
    const { fake, adapter } = await ready();
    const folder = await mkdtemp(join(tmpdir(), "guildchat-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, "stored");
    await writeFile(path, "some text");
    const content = { kind: "file" as const, path, mime: "text/plain", name: "notes.txt", caption: "Here." };
    expect(await adapter.send(outgoing(DM, content), unending)).toMatchObject({ status: "sent" });
    expect(fake.posted(DM)[0]).toMatchObject({
      body: { content: "Here.", attachments: [{ id: 0, filename: "notes.txt" }], enforce_nonce: true },
      files: [{ field: "files[0]", name: "notes.txt", type: "text/plain", text: "some text" }],
    });
    const gone = outgoing(DM, { ...content, path: join(folder, "gone") });
    expect(await adapter.send(gone, unending)).toMatchObject({ status: "failed" });
  });

  it("can take the place of a message, and change one [CH-GUILDCHAT-10]", async () => {
    const { fake, adapter } = await ready();
    const sent = (await adapter.send(outgoing(DM, "working"), unending)) as { messageId: string };
    const path = `/channels/${DM}/messages/${sent.messageId}`;
    const target = { chatId: DM, reply: {}, receivedAt: 0 };
    await adapter.edit!(target, sent.messageId, "still working");
    const final = outgoing(DM, "done", { replaces: sent.messageId });
    expect(await adapter.send(final, unending)).toEqual({ status: "sent", messageId: sent.messageId });
    const changes = fake.requests.filter((request) => request.method === "PATCH" && request.path === path);
    expect(changes.map(({ body }) => body.content)).toEqual(["still working", "done"]);
    const lost = outgoing(DM, "done", { replaces: "123" });
    expect(await adapter.send(lost, unending)).toMatchObject({ status: "failed" });
  });

  it("shows typing until it is there [CH-GUILDCHAT-10]", async () => {
    const { fake, adapter } = await ready();
    const typing = () => fake.requests.filter(({ path }) => path === `/channels/${DM}/typing`).length;
    const stop = adapter.working!({ chatId: DM, reply: {}, receivedAt: 0 });
    await until(() => typing() >= 2, "typing, again");
    stop();
    const before = typing();
    await adapter.send(outgoing(DM, "there"), unending);
    expect(typing()).toBe(before);
  });
});

describe("an attempt that fails", () => {
  const cases: Array<[string, GuildFault, Partial<SendOutcome> & { afterMs?: unknown }]> = [
    [
      "is tried again after the wait that a 429 tells in its body",
      { status: 429, body: { message: "slow", retry_after: 1.5, global: false } },
      { status: "retry", afterMs: 1_550 },
    ],
    [
      "is tried again after the wait that a 429 tells in its header",
      { status: 429, headers: { "retry-after": "3" } },
      { status: "retry", afterMs: 3_050 },
    ],
    ["is tried again after a 500", { status: 500 }, { status: "retry" }],
    [
      "is tried again after the wait that a 503 tells",
      { status: 503, headers: { "retry-after": "7" } },
      { status: "retry", afterMs: 7_000 },
    ],
    ["is uncertain when the connection broke", "drop", { status: "unknown" }],
    ["is uncertain when the answer broke off", "half", { status: "unknown" }],
    ["is uncertain when no answer comes", "hang", { status: "unknown" }],
    [
      "is over when the user takes no messages",
      { status: 403, body: { code: 50_007, message: "Cannot send messages to this user" } },
      { status: "failed", reason: expect.stringContaining("closed direct messages") as unknown as string },
    ],
    [
      "is over when the channel is gone",
      { status: 404, body: { code: 10_003, message: "Unknown Channel" } },
      { status: "failed", reason: expect.stringContaining("no longer exists") as unknown as string },
    ],
    [
      "is over when Discord does not take the text",
      { status: 400, body: { code: 50_035, message: "Invalid Form Body" } },
      { status: "failed", reason: "Discord answered 400 (code 50035): Invalid Form Body" },
    ],
    ["is over when the token is refused", { status: 401 }, { status: "failed" }],
    ["is over when the answer is no JSON", { status: 418, body: null }, { status: "failed" }],
  ];
  it.each(cases)("%s [CH-GUILDCHAT-11]", async (_, fault, expected) => {
    const { fake, adapter } = await ready();
    fake.fail(ROUTE, fault);
    expect(await adapter.send(outgoing(DM, "one"), unending)).toMatchObject(expected);
    expect(fake.posted(DM)).toHaveLength(1);
    // The next one is none the worse for it.
    if (!("afterMs" in expected)) {
      expect(await adapter.send(outgoing(DM, "two"), unending)).toMatchObject({ status: "sent" });
    }
  });

  it("was surely not made when nobody listens [CH-GUILDCHAT-11]", async () => {
    const fake = await startFake();
    await fake[Symbol.asyncDispose]();
    const { adapter } = await adapterFor(fake);
    expect(await adapter.send(outgoing(DM, "one"), unending)).toMatchObject({ status: "retry" });
    expect(await adapter.send(outgoing("no id/..", "one"), unending)).toMatchObject({ status: "failed" });
  });

  it("is held back while the channel's limit is used up [CH-GUILDCHAT-11]", async () => {
    const { fake, adapter } = await ready();
    const headers = {
      "x-ratelimit-limit": "5",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset-after": "2",
    };
    fake.fail(ROUTE, { status: 200, body: { id: "1" }, headers });
    expect(await adapter.send(outgoing(DM, "one"), unending)).toMatchObject({ status: "sent" });
    const held = await adapter.send(outgoing(DM, "two"), unending);
    expect(held).toMatchObject({ status: "retry" });
    expect((held as { afterMs: number }).afterMs).toBeGreaterThan(1_000);
    expect(fake.posted(DM)).toHaveLength(1);
    expect(await adapter.send(outgoing(ROOM, "elsewhere"), unending)).toMatchObject({ status: "sent" });
  });

  it("is made without the quote where the bot may not read what was written [CH-GUILDCHAT-11]", async () => {
    const { fake, adapter } = await ready();
    fake.fail(`POST /channels/${ROOM}/messages`, { status: 400, body: { code: 160_002, message: "no" } });
    const quoted = outgoing(ROOM, "hi");
    quoted.target = { ...quoted.target, reply: { guild: GUILD }, messageId: "111" };
    expect(await adapter.send(quoted, unending)).toMatchObject({ status: "sent" });
    expect(fake.posted(ROOM)[1]!.body).not.toHaveProperty("message_reference");
  });

  it("ends when it is told to [CH-GUILDCHAT-11]", async () => {
    const { fake, adapter } = await ready();
    fake.fail(ROUTE, "hang");
    const controller = new AbortController();
    const sending = adapter.send(outgoing(DM, "one"), controller.signal);
    await until(() => fake.posted(DM).length === 1, "the request");
    controller.abort();
    expect(await sending).toMatchObject({ status: "unknown" });
  });
});

describe("a file of a message", () => {
  it("is fetched, by a new link when the old one has ended [CH-GUILDCHAT-12]", async () => {
    const { fake, adapter } = await ready();
    const url = (path: string) => `${fake.base}${path}`;
    fake.files.set("/attachments/new/a.txt", {
      status: 200,
      type: "text/plain",
      bytes: Buffer.from("hello"),
    });
    fake.files.set("/attachments/old/a.txt", { status: 404, type: "text/plain", bytes: Buffer.alloc(0) });
    const message = fake.say({
      channel: DM,
      content: "",
      more: { attachments: [{ id: "77", url: url("/attachments/new/a.txt") }] },
    });
    const open = async (path: string) =>
      textOfStream(
        await adapter.fetchMedia!(
          {
            kind: "document",
            ref: { url: url(path), channel: DM, message: String(message.id), attachment: "77" },
          },
          unending,
        ),
      );
    expect(await open("/attachments/new/a.txt")).toBe("hello");
    expect(await open("/attachments/old/a.txt")).toBe("hello");
    expect(await open("/attachments/ended/a.txt?ex=65000000")).toBe("hello");
    fake.files.delete("/attachments/new/a.txt");
    await expect(open("/attachments/old/a.txt")).rejects.toThrow();
  });

  it("is fetched from Discord's hosts alone [CH-GUILDCHAT-12]", async () => {
    const own = "http://127.0.0.1:8080/api";
    expect(isFileUrl("https://cdn.discordapp.com/attachments/1/2/a.png", undefined)).toBe(true);
    expect(isFileUrl("https://media.discordapp.net/attachments/1/2/a.png", undefined)).toBe(true);
    expect(isFileUrl("http://127.0.0.1:8080/attachments/a.png", own)).toBe(true);
    expect(isFileUrl("https://chat.example/files/a.png", "https://chat.example/api/v10")).toBe(true);
    for (const [url, api] of [
      ["http://cdn.discordapp.com/a.png", undefined],
      ["https://cdn.discordapp.com.evil.example/a.png", undefined],
      ["https://cdn.discordapp.com@evil.example/a.png", undefined],
      ["https://cdn.discordapp.com:8443/a.png", undefined],
      ["https://evil.example/a.png", undefined],
      ["http://127.0.0.1:8081/a.png", own],
      ["http://169.254.169.254/latest", own],
      ["http://chat.example/a.png", "http://chat.example/api"],
      ["file:///etc/passwd", own],
      ["nonsense", own],
    ] as const) {
      expect(isFileUrl(url, api), url).toBe(false);
    }
  });
});

describe("a token", () => {
  it("is judged by the provider [CH-GUILDCHAT-13]", async () => {
    const fake = await startFake();
    const { apiBaseUrl } = fake;
    expect(await checkToken({ botToken: GUILD_TOKEN, apiBaseUrl }, unending)).toEqual({ ok: true });
    const refused = { refused: expect.stringMatching(/does not know this bot token/) };
    expect(await checkToken({ botToken: "wrong", apiBaseUrl }, unending)).toEqual(refused);
    expect(await checkToken({ botToken: "wr\nong", apiBaseUrl }, unending)).toEqual(refused);
    fake.fail("GET /users/@me", { status: 502 });
    expect(await checkToken({ botToken: GUILD_TOKEN, apiBaseUrl }, unending)).toEqual({ unreachable: true });
    await fake[Symbol.asyncDispose]();
    expect(await checkToken({ botToken: GUILD_TOKEN, apiBaseUrl }, unending)).toEqual({ unreachable: true });
  });
});
