import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { startSlackServer } from "@openclaw/crabline";
import { createEmulator } from "emulate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkToken } from "../../../../packages/gateway/src/channels/teamchat/check.ts";
import { createAdapter } from "../../../../packages/gateway/src/channels/teamchat/index.ts";
import type { InboundMessage } from "../../../../packages/gateway/src/channels/types.ts";
import { openAdapter, outgoing, unending } from "../../../fixtures/adapter.ts";
import { until } from "../../../harness.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "slack-fakes-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("against emulate's Slack", () => {
  const botToken = "xoxb-emulated";
  let emulator: { url: string; close(): Promise<void> };
  let base: string;
  beforeAll(async () => {
    emulator = await createEmulator({
      service: "slack",
      port: 0,
      seed: {
        slack: { users: [{ name: "ann", real_name: "Ann Example" }], channels: [{ name: "general" }] },
        tokens: { [botToken]: { login: "ann", scopes: [] } },
      },
    });
    base = `${emulator.url}/api`;
  });
  afterAll(() => emulator.close());

  /** A call to the emulator by hand. */
  const ask = async (method: string, body: Record<string, string> = {}) => {
    const headers = { authorization: `Bearer ${botToken}` };
    const answer = await fetch(`${base}/${method}`, {
      method: "POST",
      headers,
      body: new URLSearchParams(body),
    });
    return (await answer.json()) as Record<string, never> & {
      channels: Array<{ id: string; name: string }>;
      members: Array<{ id: string; name: string }>;
      messages: Array<Record<string, unknown>>;
      files: Array<{ name: string; url_private: string }>;
    };
  };
  const open = () => openAdapter(createAdapter, "teamchat", { botToken, apiBaseUrl: base });
  const general = async () =>
    (await ask("conversations.list")).channels.find(({ name }) => name === "general")!.id;

  it("messages are posted, answered in threads, changed and reacted to [CH-TEAM-1, CH-TEAM-3, CH-TEAM-9]", async () => {
    const { adapter } = await open();
    const channel = await general();
    const first = await adapter.send(outgoing(channel, "**hello**"), unending);
    const { messageId } = first as { messageId: string };
    expect(first).toEqual({ status: "sent", messageId: expect.stringMatching(/^\d+\.\d+$/) });
    const reply = outgoing(channel, "in the thread", { reply: { thread_ts: messageId } });
    expect(await adapter.send(reply, unending)).toMatchObject({ status: "sent" });
    expect(await adapter.send(outgoing(channel, "changed", { replaces: messageId }), unending)).toMatchObject(
      {
        status: "sent",
      },
    );
    const { messages } = await ask("conversations.replies", { channel, ts: messageId });
    expect(messages.map((message) => message.text)).toEqual(["changed", "in the thread"]);

    const end = adapter.working!({ chatId: channel, reply: {}, receivedAt: 0, messageId });
    const reactions = async () =>
      JSON.stringify((await ask("reactions.get", { channel, timestamp: messageId })).message);
    await until(async () => (await reactions()).includes("hourglass_flowing_sand"), "the hourglass");
    end();
    await until(async () => !(await reactions()).includes("hourglass_flowing_sand"), "it to go");
  });

  it("buttons are kept as blocks [CH-TEAM-2]", async () => {
    const { adapter } = await open();
    const channel = await general();
    const buttons = [{ label: "Fast", command: "/model fast" }];
    await adapter.send(outgoing(channel, { kind: "text", text: "Which?", buttons }), unending);
    const { messages } = await ask("conversations.history", { channel, limit: "1" });
    expect(messages[0]).toMatchObject({
      text: "Which?",
      blocks: [{ type: "section" }, { type: "actions", elements: [{ value: "/model fast" }] }],
    });
  });

  it("files go up and come down [CH-TEAM-7, CH-TEAM-8]", async () => {
    const { adapter } = await open();
    const channel = await general();
    const path = join(folder, "x");
    await writeFile(path, "the report");
    const file = { kind: "file", path, mime: "text/plain", name: "report.txt", caption: "Here" } as const;
    expect(await adapter.send(outgoing(channel, file), unending)).toEqual({ status: "sent" });
    const { files } = await ask("files.list", { channel });
    expect(files).toMatchObject([{ name: "report.txt" }]);
    // The emulator names itself localhost, as the address of the API does here.
    const ref = { url: files[0]!.url_private };
    expect(
      await text(await adapter.fetchMedia!({ kind: "document", ref, mime: "text/plain" }, unending)),
    ).toBe("the report");
  });

  it("users have names; unknown channels and tokens are refused [CH-TEAM-6, CH-TEAM-10, CH-TEAM-11]", async () => {
    const { adapter } = await open();
    const { id } = (await ask("users.list")).members.find(({ name }) => name === "ann")!;
    expect(await adapter.nameOf!({ senderId: id } as InboundMessage)).toMatch(/^ann/i);
    expect(await adapter.send(outgoing("C0NOTHERE1", "x"), unending)).toMatchObject({
      status: "failed",
      reason: expect.stringContaining("does not know this channel"),
    });
    expect(await checkToken({ botToken, apiBaseUrl: base }, unending)).toEqual({ ok: true });
  });
});

describe("against crabline's Slack", () => {
  it("messages are posted, rate limits obeyed, refusals told [CH-TEAM-1, CH-TEAM-5, CH-TEAM-6, CH-TEAM-11]", async () => {
    const server = await startSlackServer({
      recorderPath: join(folder, "recorder.jsonl"),
      chatPostMessageRateLimit: { remaining: 1, retryAfterSeconds: 7 },
    });
    try {
      const { botToken, endpoints } = server.manifest;
      const settings = { botToken, apiBaseUrl: endpoints.apiRoot };
      const { adapter } = await openAdapter(createAdapter, "teamchat", settings);
      const channel = "C0123456789";
      expect(await adapter.send(outgoing(channel, "hello"), unending)).toMatchObject({ status: "sent" });
      expect(await adapter.send(outgoing(channel, "again"), unending)).toMatchObject({
        status: "retry",
        afterMs: 7_000,
      });
      expect(await checkToken(settings, unending)).toEqual({ ok: true });
      expect(await checkToken({ ...settings, botToken: "xoxb-wrong" }, unending)).toHaveProperty("refused");
    } finally {
      await server.close();
    }
  });
});
