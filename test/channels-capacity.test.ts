import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AllProviders, startAllProviders } from "./fixtures/all-channels.ts";
import { rowsOf } from "./fixtures/rows.ts";
import { createImageSender, type ImageSender } from "./fixtures/send-image.ts";
import { allFrames, type Gateway, startGateway, until } from "./harness.ts";

const CHAT = 3;
/** Time over which it is watched that nothing happens. */
const WATCH_MS = 1_200;

let gateway: Gateway;
let providers: AllProviders;
let images: ImageSender;
const driverOf = (channel: string) => providers.drivers.find((one) => one.channel === channel)!;
beforeAll(async () => {
  providers = await startAllProviders(() => gateway);
  gateway = await startGateway({ agent: { ...providers.blocks, session: { maxConcurrent: 1 } } });
  await providers.prepare();
  images = createImageSender(providers, CHAT);
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await providers[Symbol.asyncDispose]();
});

/** How often each provider was asked for its file, or to show that somebody is typing. */
const asked = () => {
  const { bot, guild, cloud, line, slack } = providers;
  const count = (paths: readonly string[], pattern: RegExp) =>
    paths.filter((path) => pattern.test(path)).length;
  const paths = (one: { requests: ReadonlyArray<{ path: string }> }) => one.requests.map(({ path }) => path);
  return {
    files: {
      botchat: bot.callsOf("getFile").length,
      guildchat: count(paths(guild), /^\/attachments\//),
      cloudchat: count(paths(cloud), /^\/file\//),
      sigchat: count(paths(line), /\/content$/),
      teamchat: count(paths(slack), /^\/files-pri\//),
    },
    typing:
      bot.callsOf("sendChatAction").length +
      count(paths(guild), /\/typing$/) +
      count(paths(line), /loading\/start$/) +
      count(paths(slack), /reactions\.add$/),
  };
};

/** A turn of another caller that takes the agent's only place; resolves when it has, to what ends it. */
async function takePlace(): Promise<() => Promise<void>> {
  const chat = { chat_id: "other" };
  const { body } = await gateway.json("POST", "/api/v1/agents/assistant/sessions", { body: chat });
  const own = { ...chat, session_id: body.sessionId };
  const response = await gateway.request("POST", "/api/v1/agents/assistant/messages", {
    body: { message: "SLOW 6000 100", stream: true, ...own },
  });
  expect(response.status).toBe(200);
  const over = allFrames(response).catch(() => []);
  return async () => {
    expect((await gateway.send("/stop", own)).status).toBe(200);
    await over;
  };
}

/** Time of a processor that the gateway used so far, ms. */
const cpuMs = async () => {
  const fields = (await readFile(`/proc/${gateway.process.pid}/stat`, "utf8")).split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

describe("with the agent's places all taken, a message", () => {
  it.each(["botchat", "guildchat", "devicechat", "cloudchat", "sigchat", "teamchat"])(
    "of %s waits without work, and is answered with its file once there is a place [CH-WAIT-1, CH-WAIT-2]",
    async (channel) => {
      const driver = driverOf(channel);
      const free = await takePlace();
      const before = asked();
      await images.send(channel);
      await until(
        () => rowsOf(gateway, `SELECT 1 FROM channel_inbox WHERE channel = '${channel}'`).length === 1,
        "the message",
      );
      const spent = await cpuMs();
      for (const end = Date.now() + WATCH_MS; Date.now() < end; await pause(100)) {
        const { status } = await gateway.json("GET", "/health", { signal: AbortSignal.timeout(2_000) });
        expect(status).toBe(200);
      }
      expect((await cpuMs()) - spent).toBeLessThan(WATCH_MS / 2);
      expect(asked()).toEqual(before);
      await free();
      const [answer] = await until(
        () => (driver.taken(CHAT).length > 0 ? driver.taken(CHAT) : undefined),
        "the answer",
        30_000,
      );
      expect(answer).toContain("img=1");
      const files = { ...before.files, ...(channel !== "devicechat" && { [channel]: 1 }) };
      expect(asked().files).toEqual(files);
    },
    60_000,
  );

  it("neither holds up SIGTERM nor is lost by it [CH-WAIT-3]", async () => {
    await takePlace();
    const chat = CHAT + 1;
    await Promise.all(providers.drivers.map((driver) => driver.say(chat, `SAY later-${chat}-`)));
    await until(
      () => rowsOf(gateway, "SELECT 1 FROM channel_inbox WHERE state = 'waiting'").length === 6,
      "the waiting messages",
    );
    const began = Date.now();
    expect(await gateway.stop()).toBe(0);
    expect(Date.now() - began).toBeLessThan(5_000);
    gateway = await startGateway({ home: gateway.home });
    await until(
      () => providers.drivers.every((driver) => driver.taken(chat).length === 1),
      "the answers after the restart",
      30_000,
    );
    for (const { taken } of providers.drivers) expect(taken(chat)).toEqual([`later-${chat}-`]);
  }, 60_000);
});
