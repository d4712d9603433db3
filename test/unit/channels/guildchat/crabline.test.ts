import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startDiscordServer } from "@openclaw/crabline";
import { expect, it, onTestFinished } from "vitest";
import { outgoing, unending } from "../../../fixtures/adapter.ts";
import { openConnection } from "../../../fixtures/connection.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { until } from "../../../harness.ts";
import { adapterFor } from "./rig.ts";

const ANN = "135000000000000077";
const DIRECT = "135000000000000088";

/** Discord as somebody else understood it. */
async function startCrabline() {
  const recorderPath = join(await tempFolder(), "recorder.jsonl");
  const server = await startDiscordServer({ recorderPath, heartbeatIntervalMs: 200 });
  onTestFinished(() => server.close());
  const { endpoints, adminToken, botToken, botUserId, fixture } = server.manifest;
  return {
    apiBaseUrl: endpoints.apiRoot,
    botToken,
    botUserId,
    fixture,
    async inbound(body: Record<string, unknown>): Promise<void> {
      const answer = await fetch(endpoints.adminInboundUrl, {
        method: "POST",
        headers: { "content-type": "application/json", "x-crabline-admin-token": adminToken },
        body: JSON.stringify({ senderId: ANN, senderName: "Ann", ...body }),
      });
      expect(answer.status).toBe(200);
    },
    recorded: async () =>
      (await readFile(recorderPath, "utf8"))
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { method: string; path: string; body?: Record<string, unknown> }),
  };
}

it("talks with another's Discord: login, heartbeat, direct message, mention, thread, replies, resume [CH-GUILDCHAT-1, CH-GUILDCHAT-14]", async () => {
  const discord = await startCrabline();
  const { adapter } = await adapterFor(discord, { botToken: discord.botToken });
  const link = openConnection(adapter);
  await until(() => link.state.alive >= 3, "the login and heartbeats");
  const { channelId: room, guildId: guild } = discord.fixture;
  await discord.inbound({ channelId: DIRECT, content: "hello" });
  await discord.inbound({ channelId: room, guildId: guild, content: `<@${discord.botUserId}> you there?` });
  await discord.inbound({
    channelId: "135000000000000099",
    parentChannelId: room,
    guildId: guild,
    content: "in a thread",
  });
  await until(() => link.kept.inbox.size === 3, "three messages");
  expect([...link.kept.inbox.values()]).toMatchObject([
    { chatId: DIRECT, kind: "dm", text: "hello", senderId: ANN, senderName: "Ann" },
    { chatId: room, kind: "group", groupId: guild },
    { chatId: "135000000000000099", kind: "group", groupId: guild, text: "in a thread" },
  ]);
  const answered = [...link.kept.inbox.values()][1]!;
  const reply = outgoing(room, "**yes**", { reply: answered.reply! });
  reply.target = { ...reply.target, messageId: answered.messageId! };
  const sent = await adapter.send(reply, unending);
  expect(sent).toMatchObject({ status: "sent" });
  expect(await adapter.send(outgoing(DIRECT, "hi"), unending)).toMatchObject({ status: "sent" });
  await link.end();
  const next = openConnection(adapter, link.kept);
  await until(() => next.state.alive > 0, "the session");
  await discord.inbound({ channelId: DIRECT, content: "after the restart" });
  await until(() => link.kept.inbox.size === 4, "the next message");
  const recorded = await discord.recorded();
  expect(recorded.filter(({ path }) => path.endsWith("/messages")).at(0)).toMatchObject({
    body: { content: "**yes**", message_reference: { message_id: answered.messageId } },
  });
  expect(recorded.some(({ path, method }) => method === "PUT" && path.endsWith("/commands"))).toBe(true);
});
