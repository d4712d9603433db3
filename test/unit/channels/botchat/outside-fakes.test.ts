import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { startTelegramServer } from "@openclaw/crabline";
import { describe, expect, it, onTestFinished } from "vitest";
import { webhook } from "../../../../packages/gateway/src/channels/botchat/webhook.ts";
import type { InboundMessage } from "../../../../packages/gateway/src/channels/types.ts";
import { openConnection } from "../../../fixtures/connection.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { put, until } from "../../../harness.ts";
import { adapterFor, agentWith, never, outgoing } from "./harness.ts";

// The package says that the class is its default export, and exports the class itself.
const TelegramServer = createRequire(import.meta.url)(
  "telegram-test-api",
) as typeof import("telegram-test-api")["default"];

interface Recorded {
  path: string;
  accepted?: boolean;
  body: Record<string, unknown>;
}

async function crabline() {
  const events: Recorded[] = [];
  const server = await startTelegramServer({
    recorderPath: join(await tempFolder(), "telegram.jsonl"),
    onEvent: (event) => void events.push(event as unknown as Recorded),
  });
  onTestFinished(() => server.close());
  const { botToken, adminToken, endpoints } = server.manifest;
  return {
    botToken,
    url: endpoints.apiRoot,
    events,
    sent: (method: string) => events.filter(({ path, accepted }) => accepted && path.endsWith(`/${method}`)),
    async say(body: object) {
      const response = await fetch(endpoints.adminInboundUrl, {
        method: "POST",
        headers: { "content-type": "application/json", "x-crabline-admin-token": adminToken },
        body: JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`crabline answered ${response.status}: ${await response.text()}`);
    },
  };
}

describe("crabline's Telegram", () => {
  it("is polled and answered [CH-BOTCHAT-19]", async () => {
    const api = await crabline();
    const { adapter } = await adapterFor({ botchat: { botToken: api.botToken, apiBaseUrl: api.url } });
    const { kept, state, end, done } = openConnection(adapter);
    await until(() => state.alive > 0, "the first poll");
    await api.say({ chatId: 42, fromId: 42, fromName: "Ada", text: "hello" });
    await until(() => kept.inbox.size === 1, "the message");
    const mention = { type: "mention", offset: 3, length: 13 };
    await api.say({ chatId: -100500, fromId: 42, text: "hi @crabline_bot", entities: [mention] });
    await until(() => kept.inbox.size === 2, "the group's message");
    const [direct, grouped] = [...kept.inbox.values()];
    expect(direct).toMatchObject({ chatId: "42", kind: "dm", senderName: "Ada", text: "hello" });
    expect(grouped).toMatchObject({ chatId: "-100500", kind: "group", mentioned: true, text: "hi" });

    expect(
      await adapter.send(outgoing({ kind: "text", text: "**yes** <b>" }, { chatId: "42" }), never),
    ).toMatchObject({
      status: "sent",
    });
    expect(api.sent("sendMessage")[0]!.body).toMatchObject({
      text: "<b>yes</b> &lt;b&gt;",
      parse_mode: "HTML",
    });
    const path = await put(await tempFolder(), "a.png", "not really");
    const file = { kind: "file", path, name: "a b.png", caption: "*see*" } as const;
    const image = await adapter.send(outgoing({ ...file, mime: "image/png" }, { chatId: "42" }), never);
    expect(image).toMatchObject({ status: "sent" });
    const document = await adapter.send(outgoing({ ...file, mime: "text/plain" }, { chatId: "42" }), never);
    expect(document).toMatchObject({ status: "sent" });
    expect(api.sent("sendPhoto")).toHaveLength(1);
    expect(api.sent("sendDocument")[0]!.body).toMatchObject({ caption: "<i>see</i>" });
    adapter.working!({ chatId: "42", reply: {}, receivedAt: 0 })();
    await until(() => api.sent("sendChatAction").length > 0, "the action");
    end();
    expect(await done).toBe("ended");
  });

  it("keeps what comes while nobody polls [CH-BOTCHAT-19]", async () => {
    const api = await crabline();
    const { adapter } = await adapterFor({ botchat: { botToken: api.botToken, apiBaseUrl: api.url } });
    const first = openConnection(adapter);
    await api.say({ chatId: 42, fromId: 42, text: "one" });
    await until(() => first.kept.inbox.size === 1, "the first message");
    first.end();
    await first.done;
    for (const text of ["two", "three"]) await api.say({ chatId: 42, fromId: 42, text });
    const second = openConnection(adapter, first.kept);
    await until(() => second.kept.inbox.size === 3, "the others");
    expect([...second.kept.inbox.values()].map(({ text }) => text)).toEqual(["one", "two", "three"]);
  });

  it("delivers by webhook, with the secret [CH-BOTCHAT-19]", async () => {
    const api = await crabline();
    const botchat = {
      mode: "webhook",
      botToken: api.botToken,
      apiBaseUrl: api.url,
      webhookSecret: "the_secret",
    };
    const got: InboundMessage[] = [];
    const statuses: number[] = [];
    const server = createServer(async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      const verdict = webhook.handle(
        { method: "POST", headers: req.headers, query: new URLSearchParams(), body: Buffer.concat(chunks) },
        agentWith(botchat),
        0,
      );
      if (verdict.status === 200 && "json" in verdict) got.push(...(verdict.messages ?? []));
      statuses.push(verdict.status);
      res.writeHead(verdict.status).end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const publicUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/gateway`;
    const { adapter } = await adapterFor({ botchat, publicUrl });
    const { state } = openConnection(adapter);
    await until(() => state.alive > 0, "the webhook");
    for (const text of ["one", "two", "three"]) await api.say({ chatId: 42, fromId: 42, text });
    await until(() => got.length === 3, "the deliveries");
    expect(got.map(({ text }) => text)).toEqual(["one", "two", "three"]);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});

describe("telegram-test-api", () => {
  it("is polled and answered, although it never waits [CH-BOTCHAT-19]", async () => {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    const server = new TelegramServer({ port, host: "127.0.0.1" });
    await server.start();
    onTestFinished(() => server.stop().then(() => undefined));
    const token = "sampleToken";
    const client = server.getClient(token, { timeout: 5_000 });
    const { adapter } = await adapterFor({ botchat: { botToken: token, apiBaseUrl: server.config.apiURL } });
    const { kept } = openConnection(adapter);
    await client.sendMessage(client.makeMessage("hello"));
    await client.sendCommand(client.makeCommand("/session"));
    await client.sendCallback(client.makeCallbackQuery("/model opus"));
    await until(() => kept.inbox.size === 3, "the updates");
    const received = [...kept.inbox.values()];
    expect(received.map(({ text }) => text)).toEqual(["hello", "/session", "/model opus"]);
    expect(received[0]).toMatchObject({ chatId: "1", senderId: "1", kind: "dm", senderName: "TestName" });
    const { chatId } = received[0]!;
    expect(await adapter.send(outgoing({ kind: "text", text: "hi" }, { chatId }), never)).toMatchObject({
      status: "sent",
    });
    const { result } = await client.getUpdates();
    expect(result.map(({ message }: { message: unknown }) => message)).toMatchObject([
      { text: "hi", chat_id: "1", parse_mode: "HTML" },
    ]);
  });
});
