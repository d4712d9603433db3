import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { nothingKept, openConnection } from "../../../fixtures/connection.ts";
import { BOT, startFakeBotchat } from "../../../fixtures/fake-botchat.ts";
import { manualClock } from "../../../fixtures/manual-clock.ts";
import { until } from "../../../harness.ts";
import { adapterFor } from "./harness.ts";

async function fake(options?: { longPoll?: boolean }) {
  const server = await startFakeBotchat(options);
  onTestFinished(() => server.stop());
  return server;
}
const settings = (api: { url: string }) => ({ botToken: BOT.token, apiBaseUrl: `${api.url}/` });
const sourceAt = ({ url }: { url: string }) => `${BOT.id}@${new URL(url).host}`;

describe("polling", () => {
  it("stores messages, then confirms them [CH-BOTCHAT-8]", async () => {
    const api = await fake();
    const { adapter } = await adapterFor({ botchat: settings(api) });
    const { kept, state } = openConnection(adapter);
    const first = api.message("one");
    await until(() => kept.inbox.size === 1, "the first message");
    await until(() => api.confirmed() === first + 1, "its confirmation");
    api.message("two");
    await until(() => kept.inbox.size === 2, "the second message");
    expect([...kept.inbox.values()].map(({ text }) => text)).toEqual(["one", "two"]);
    expect(kept.position).toBe(`${sourceAt(api)}:${first + 2}`);
    expect([...kept.inbox.keys()]).toEqual([first, first + 1].map((id) => `${sourceAt(api)}:${id}`));
    expect(state.alive).toBeGreaterThan(1);
    expect(api.callsOf("deleteWebhook")[0]!.params).toEqual({ drop_pending_updates: false });
    const asked = { allowed_updates: ["message", "callback_query"] };
    expect(api.callsOf("getUpdates")[0]!.params).toMatchObject({ timeout: 0, ...asked });
    expect(api.callsOf("getUpdates")[1]!.params).toMatchObject({ timeout: 25, ...asked });
    expect(api.callsOf("setMyCommands")[0]!.params).toEqual({
      commands: [
        { command: "session", description: "Shows the session." },
        { command: "model", description: "Shows or changes the model." },
      ],
    });
  });

  it("confirms nothing that could not be stored [CH-BOTCHAT-8]", async () => {
    const api = await fake();
    const id = api.message("keep me");
    const { adapter } = await adapterFor({ botchat: settings(api) });
    const broken = openConnection(adapter);
    broken.state.failing = true;
    expect(await broken.done).toBe("the disk is full");
    expect(broken.kept.position).toBeUndefined();
    const { kept } = openConnection(adapter, broken.kept);
    await until(() => kept.inbox.size === 1, "the message");
    await until(() => api.confirmed() === id + 1, "its confirmation");
    expect(api.callsOf("setMyCommands")).toHaveLength(1);
  });

  it("goes on where it stopped, and takes an update once however often it comes [CH-BOTCHAT-8]", async () => {
    const api = await fake();
    const { adapter } = await adapterFor({ botchat: settings(api) });
    const first = openConnection(adapter);
    for (let time = 0; time < 3; time++) api.push({ update_id: 5000, ...textUpdate("thrice") });
    await until(() => first.kept.inbox.size === 1, "the message");
    first.end();
    expect(await first.done).toBe("ended");
    api.message("while away");
    const second = openConnection(adapter, first.kept);
    await until(() => second.kept.inbox.size === 2, "what came meanwhile");
    const polls = api.callsOf("getUpdates");
    expect(polls.some(({ params }) => params.offset === 5001)).toBe(true);
  });

  it("forgets the position of another bot [CH-BOTCHAT-8]", async () => {
    const api = await fake();
    api.message("hello");
    const { adapter } = await adapterFor({ botchat: settings(api) });
    const { kept } = openConnection(adapter, { ...nothingKept(), position: "1:99999" });
    await until(() => kept.inbox.size === 1, "the message");
    expect(api.callsOf("getUpdates")[0]!.params.offset).toBeUndefined();
  });

  it("follows Telegram when its numbers begin anew [CH-BOTCHAT-8]", async () => {
    // A server that answers an offset in the future from its first update, as the real one does.
    const asked: number[] = [];
    const updates = [
      { update_id: 17, ...textUpdate("the later one") },
      { update_id: 16, ...textUpdate("after a silent week") },
    ];
    const server = createServer(async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      let result: unknown = true;
      if (req.url!.endsWith("getMe")) result = { id: BOT.id, username: BOT.username };
      if (req.url!.endsWith("getUpdates")) {
        const { offset } = JSON.parse(Buffer.concat(chunks).toString()) as { offset: number };
        asked.push(offset);
        result = offset === 18 ? [] : updates;
      }
      res.setHeader("content-type", "application/json");
      res.end(JSON.stringify({ ok: true, result }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { adapter } = await adapterFor({ botchat: settings({ url }) });
    const { kept } = openConnection(adapter, { ...nothingKept(), position: `${sourceAt({ url })}:5000` });
    await until(() => asked.includes(18), "the new offset");
    expect([...kept.inbox.values()].map(({ text }) => text)).toEqual([
      "after a silent week",
      "the later one",
    ]);
    expect(asked[0]).toBe(5000);
  });

  it.each([
    [["deleteWebhook", "setMyCommands"], true],
    [["getMe", "deleteWebhook", "setMyCommands"], false],
  ])(
    "does with a server that knows little more than polling: not %j [CH-BOTCHAT-24]",
    async (unknown, named) => {
      const api = await fake();
      for (const method of unknown) api.fault(method, { kind: "status", status: 404, body: "no" }, 100);
      const { adapter } = await adapterFor({ botchat: settings(api) });
      const { kept } = openConnection(adapter);
      api.message("hello");
      await until(() => kept.inbox.size === 1, "the message");
      expect(kept.position).toMatch(named ? `${BOT.id}@` : `${BOT.token.split(":")[0]}@`);
    },
  );

  it("proves at once that it is alive [CH-BOTCHAT-8]", async () => {
    const api = await fake();
    const { adapter } = await adapterFor({ botchat: settings(api) });
    const { state } = openConnection(adapter);
    await until(() => state.alive === 1, "the first proof", 2_000);
  });

  it("ends at once when it has to [CH-BOTCHAT-8]", async () => {
    const api = await fake();
    const { adapter } = await adapterFor({ botchat: settings(api) });
    const { end, done } = openConnection(adapter);
    await until(() => api.callsOf("getUpdates").length > 1, "the poll");
    const started = performance.now();
    end();
    expect(await done).toBe("ended");
    expect(performance.now() - started).toBeLessThan(500);
  });

  it("does not hammer a server that never waits [CH-BOTCHAT-8]", async () => {
    const api = await fake({ longPoll: false });
    const { adapter } = await adapterFor({ botchat: settings(api) });
    const { state } = openConnection(adapter);
    await until(() => state.alive >= 3, "three polls");
    const before = api.callsOf("getUpdates").length;
    const started = performance.now();
    await until(() => state.alive >= 6, "six polls");
    expect(performance.now() - started).toBeGreaterThan(500);
    expect(api.callsOf("getUpdates").length - before).toBeLessThan(6);
  });

  it("says which gateway to stop when another one polls [CH-BOTCHAT-9]", async () => {
    const api = await fake();
    const one = openConnection((await adapterFor({ botchat: settings(api) })).adapter);
    await until(() => api.callsOf("getUpdates").length === 2, "the first long poll");
    openConnection((await adapterFor({ botchat: settings(api) })).adapter);
    expect(await one.done).toBe(
      "Another program polls with this bot's token: stop it, or give this agent a bot of its own.",
    );
  });

  it.each([
    [401, "Telegram refused the bot token (401): check botchat.botToken."],
    [404, "Telegram refused the bot token (404): check botchat.botToken."],
    [502, "Telegram answered 502."],
  ])("says what is wrong with %i [CH-BOTCHAT-9]", async (status, sentence) => {
    const api = await fake();
    api.fault("*", { kind: "status", status, body: "<html>no</html>" }, 10);
    const { adapter } = await adapterFor({ botchat: settings(api) });
    expect(await openConnection(adapter).done).toBe(sentence);
  });

  it("says that Telegram cannot be reached, without its address [CH-BOTCHAT-9]", async () => {
    const api = await fake();
    await api.stop();
    const { adapter, log } = await adapterFor({ botchat: settings(api) });
    expect(await openConnection(adapter).done).toBe("Telegram cannot be reached (ECONNREFUSED).");
    expect(log.text()).not.toContain(BOT.token);
    await api.start();
    const { state } = openConnection(adapter);
    await until(() => state.alive > 0 || api.callsOf("getUpdates").length > 0, "the next connection");
  });

  it.each(["drop", "cut"] as const)("breaks when the connection does: %s [CH-BOTCHAT-9]", async (kind) => {
    const api = await fake();
    api.fault("getUpdates", { kind }, 2);
    const { adapter } = await adapterFor({ botchat: settings(api) });
    expect(await openConnection(adapter).done).toMatch(/^Telegram cannot be reached/);
  });

  it("asks once more when a poll breaks off [CH-BOTCHAT-9]", async () => {
    const api = await fake();
    api.fault("getUpdates", { kind: "cut" });
    api.message("hello");
    const { adapter } = await adapterFor({ botchat: settings(api) });
    const { kept } = openConnection(adapter);
    await until(() => kept.inbox.size === 1, "the message");
    expect(api.callsOf("getMe")).toHaveLength(1);
  });

  it("gives up a poll that is never answered [CH-BOTCHAT-9]", async () => {
    const api = await fake();
    const clock = manualClock();
    api.fault("getUpdates", { kind: "hang" });
    const { adapter } = await adapterFor({ botchat: settings(api), clock });
    const { done } = openConnection(adapter);
    await until(() => api.callsOf("getUpdates").length === 1, "the poll");
    clock.advance(40_000);
    expect(await done).toMatch(/^Telegram cannot be reached/);
  });

  it("waits as long as a 429 asks for, also in the next connection [CH-BOTCHAT-10]", async () => {
    const api = await fake();
    const clock = manualClock();
    const body = {
      ok: false,
      error_code: 429,
      description: "Too Many Requests",
      parameters: { retry_after: 120 },
    };
    api.fault("getUpdates", { kind: "status", status: 429, body });
    const { adapter } = await adapterFor({ botchat: settings(api), clock });
    expect(await openConnection(adapter).done).toMatch(/^Telegram's rate limit is reached/);
    const calls = api.calls.length;
    const { state } = openConnection(adapter);
    clock.advance(119_000);
    expect(api.calls.length).toBe(calls);
    clock.advance(1_000);
    api.message("hello");
    await until(() => state.alive > 0, "the poll");
  });

  it("acknowledges a pressed button once it is stored [CH-BOTCHAT-7]", async () => {
    const api = await fake();
    const { adapter } = await adapterFor({ botchat: settings(api) });
    const { kept } = openConnection(adapter);
    api.press("/model opus");
    await until(() => api.callsOf("answerCallbackQuery").length > 0, "the acknowledgement");
    const [message] = [...kept.inbox.values()];
    expect(api.callsOf("answerCallbackQuery")[0]!.params.callback_query_id).toBe(message!.reply!.callback);
    adapter.working!({ chatId: "501", reply: message!.reply!, receivedAt: 0 })();
    await until(() => api.callsOf("sendChatAction").length > 0, "the action");
    expect(api.callsOf("answerCallbackQuery")).toHaveLength(1);
  });

  it("takes a hundred long messages in one answer [CH-BOTCHAT-8]", async () => {
    const api = await fake();
    const text = "漢".repeat(4096);
    for (let n = 0; n < 100; n++) api.message(text);
    const { adapter } = await adapterFor({ botchat: settings(api) });
    const { kept } = openConnection(adapter);
    await until(() => kept.inbox.size === 100, "all messages");
  });
});

const textUpdate = (text: string) => ({
  message: {
    message_id: 77,
    date: 1_700_000_000,
    chat: { id: 501, type: "private" },
    from: { id: 501, is_bot: false, first_name: "Ada" },
    text,
  },
});
