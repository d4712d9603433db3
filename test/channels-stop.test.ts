import { afterAll, beforeAll, expect, it } from "vitest";
import { type AllProviders, startAllProviders } from "./fixtures/all-channels.ts";
import { rowsOf } from "./fixtures/rows.ts";
import { createImageSender } from "./fixtures/send-image.ts";
import { type Gateway, startGateway, until } from "./harness.ts";

const CHAT = 3;
/** Channels whose files are fetched with a plain request. */
const FETCHING = ["botchat", "guildchat", "cloudchat", "sigchat", "teamchat"];

let gateway: Gateway;
let providers: AllProviders;
beforeAll(async () => {
  providers = await startAllProviders(() => gateway);
  gateway = await startGateway({ agent: providers.blocks });
  await providers.prepare();
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await providers[Symbol.asyncDispose]();
});

it("SIGTERM while files are being fetched ends the gateway in time, and the next start answers each message once, with its file [CH-STOP-1]", async () => {
  const { bot, guild, cloud, line, slack } = providers;
  const drivers = providers.drivers.filter(({ channel }) => FETCHING.includes(channel));
  const images = createImageSender(providers, CHAT);
  images.stall();
  for (const channel of FETCHING) await images.send(channel);
  await until(
    () =>
      bot.callsOf("download").length === 1 &&
      guild.requests.some(({ path }) => path.startsWith("/attachments/")) &&
      cloud.to("/file/").length === 1 &&
      line.to("/content").length === 1 &&
      slack.to("/files-pri/").length === 1,
    "the downloads",
  );

  const began = Date.now();
  expect(await gateway.stop()).toBe(0);
  expect(Date.now() - began).toBeLessThan(5_000);
  expect(rowsOf(gateway, "SELECT 1 FROM turns")).toEqual([]);
  expect(rowsOf(gateway, "SELECT 1 FROM channel_inbox WHERE settled_at IS NOT NULL")).toEqual([]);

  images.heal();
  gateway = await startGateway({ home: gateway.home });
  await until(
    () => rowsOf(gateway, "SELECT 1 FROM channel_inbox WHERE settled_at IS NULL").length === 0,
    "every message to be settled",
    30_000,
  );
  await until(
    () => rowsOf(gateway, "SELECT 1 FROM channel_outbox WHERE settled_at IS NULL").length === 0,
    "every reply to be sent",
  );
  for (const { channel, taken } of drivers) {
    expect(taken(CHAT), channel).toEqual([expect.stringContaining("img=1")]);
  }
  const told = "SELECT role, count(*) AS n FROM messages GROUP BY role ORDER BY role";
  expect(rowsOf(gateway, told).map(({ n }) => n)).toEqual([FETCHING.length, FETCHING.length]);
}, 60_000);
