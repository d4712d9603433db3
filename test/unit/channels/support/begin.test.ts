import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadChannel } from "../../../../packages/gateway/src/channels/load.ts";
import type { Content } from "../../../../packages/gateway/src/channels/types.ts";
import { openAdapter, outgoing, unending } from "../../../fixtures/adapter.ts";
import { type AllProviders, startAllProviders } from "../../../fixtures/all-channels.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";

// What is written to a linked device's line needs a link: see its own tests.
const CHANNELS = ["botchat", "guildchat", "cloudchat", "sigchat", "teamchat"] as const;
type Channel = (typeof CHANNELS)[number];

let providers: AllProviders;
beforeAll(async () => {
  providers = await startAllProviders(() => {
    throw new Error("nobody writes");
  });
});
afterAll(() => providers[Symbol.asyncDispose]());

/** What the provider was asked so far; the first is by what a message arrives. */
const seen: Record<Channel, () => [sends: number, preparations: number]> = {
  botchat: () => [
    ["sendMessage", "sendDocument", "sendPhoto", "editMessageText"].reduce(
      (sum, method) => sum + providers.bot.callsOf(method).length,
      0,
    ),
    0,
  ],
  guildchat: () => [providers.guild.posted("70007").length, 0],
  cloudchat: () => [
    providers.cloud.taken.length,
    providers.cloud.requests.filter(({ path }) => path.endsWith("/media")).length,
  ],
  sigchat: () => [providers.line.taken.length, 0],
  teamchat: () => [
    providers.slack.posted.length + providers.slack.shared.length,
    providers.slack.requests.filter(({ path }) => path.startsWith("/upload/")).length,
  ],
};

async function open(channel: Channel) {
  const create = await loadChannel(channel);
  return (await openAdapter(create, channel, providers.blocks[channel])).adapter;
}
async function fileContent(): Promise<Content> {
  const path = join(await tempFolder(), "2026-11", "a.txt");
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, "hello");
  return { kind: "file", path, mime: "text/plain", name: "a.txt" };
}
const contents = (channel: Channel) =>
  channel === "sigchat" ? (["text"] as const) : (["text", "file"] as const);

describe.each(CHANNELS)("a send over %s", (channel) => {
  it.each(contents(channel))(
    "of a %s begins before the provider can act, and not before it is prepared [CH-JOURNAL-6]",
    async (kind) => {
      const adapter = await open(channel);
      const before = seen[channel]();
      const begun: Array<[number, number]> = [];
      const content = kind === "text" ? "hello" : await fileContent();
      const begin = () => void begun.push(seen[channel]());
      expect(await adapter.send(outgoing("70007", content, { begin }), unending)).toMatchObject({
        status: "sent",
      });
      const after = seen[channel]();
      expect(begun).toEqual([[before[0], after[1]]]);
      expect(after[0]).toBe(before[0] + 1);
    },
  );

  it.each(contents(channel))("of a %s that may not begin reaches nobody [CH-JOURNAL-5]", async (kind) => {
    const adapter = await open(channel);
    const before = seen[channel]();
    const content = kind === "text" ? "hello" : await fileContent();
    const begin = () => {
      throw new Error("the disk is full");
    };
    const outcome = await adapter.send(outgoing("70007", content, { begin }), unending);
    expect(outcome.status).not.toBe("sent");
    expect(seen[channel]()[0]).toBe(before[0]);
  });
});
