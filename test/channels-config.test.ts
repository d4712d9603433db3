import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTokenJudge } from "./fixtures/token-judge.ts";
import { type Gateway, KEYS, startGateway, until } from "./harness.ts";

let gateway: Gateway;
let judge: Awaited<ReturnType<typeof startTokenJudge>>;
beforeAll(async () => {
  judge = await startTokenJudge();
  gateway = await startGateway({
    env: { ASSISTANT_GUILDCHAT_BOT_TOKEN: "good-from-the-shell" },
    // Off, so that nothing connects: tokens are judged all the same.
    agent: Object.fromEntries(
      ["botchat", "guildchat", "sigchat", "teamchat"].map((channel) => [
        channel,
        { enabled: false, apiBaseUrl: judge.url },
      ]),
    ),
  });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await judge[Symbol.asyncDispose]();
});

const agentPath = "/api/v1/agents/assistant";
const patch = (body: Record<string, unknown>, key: string = KEYS.write) =>
  gateway.json("PATCH", agentPath, { body, key });
const entry = async () => ((await gateway.config()).agents as Record<string, Record<string, unknown>>[])[0]!;
const envFile = () => readFile(join(gateway.home, "agents/assistant/.env"), "utf8").catch(() => "");

describe("the agent update", () => {
  it("takes tokens that their provider knows, and keeps them in the agent's .env [CH-CONFIG-1, CH-CONFIG-7]", async () => {
    const { status, body } = await patch({
      botchat_bot_token: "good-bot-1",
      sigchat_channel_access_token: "good-line-1",
      sigchat_channel_secret: "line-secret-1",
      teamchat_bot_token: "good-slack-1",
      teamchat_signing_secret: "slack-secret-1",
    });
    expect(status).toBe(200);
    expect(judge.tokens().sort()).toEqual(["good-bot-1", "good-line-1", "good-slack-1"]);
    const secrets = ["good-bot-1", "good-line-1", "line-secret-1", "good-slack-1", "slack-secret-1"];
    const config = JSON.stringify(await gateway.config());
    const env = await envFile();
    for (const secret of secrets) {
      expect(JSON.stringify(body)).not.toContain(secret);
      expect(config).not.toContain(secret);
      expect(env).toContain(`=${secret}\n`);
      expect(gateway.output()).not.toContain(secret);
    }
    expect((await entry()).teamchat).toMatchObject({ botToken: "${ASSISTANT_TEAMCHAT_BOT_TOKEN}" });
  });

  it("refuses a token that its provider refuses, and saves nothing while it does not answer [CH-CONFIG-7]", async () => {
    const before = [await gateway.config(), await envFile()];
    for (const [fields, path] of [
      [{ botchat_bot_token: "bad" }, "botchat_bot_token"],
      [{ sigchat_channel_access_token: "bad" }, "sigchat_channel_access_token"],
      [{ teamchat_bot_token: "bad", teamchat_signing_secret: "s" }, "teamchat_bot_token"],
    ] as const) {
      const { status, body } = await patch(fields);
      expect([status, body.code]).toEqual([400, "INVALID_REQUEST"]);
      expect(body.details).toEqual([{ path, message: expect.stringMatching(/./) }]);
      expect(JSON.stringify(body)).not.toContain('"bad"');
    }
    const nowhere = {
      teamchat_bot_token: "good",
      teamchat_signing_secret: "s",
      teamchat_api_base_url: "http://127.0.0.1:1",
    };
    const gone = await patch(nowhere, KEYS.admin);
    expect([gone.status, gone.body.code]).toEqual([502, "UPSTREAM_UNAVAILABLE"]);
    expect([await gateway.config(), await envFile()]).toEqual(before);
  });

  it("is 400 for half a teamchat, for cloudchat, for names and unknown policies [CH-CONFIG-6, CH-CONFIG-8, CH-CONFIG-10]", async () => {
    for (const fields of [
      { teamchat_bot_token: "good" },
      { teamchat_signing_secret: "s" },
      { cloudchat_access_token: "x" },
      { cloudchat_dm_policy: "open" },
      { teamchat_dm_allowlist: ["ann"] },
      { teamchat_group_allowlist: ["#general"] },
      { sigchat_dm_policy: "friends" },
      { devicechat_group_allowlist: ["12036302"] },
      { devicechat_account_id: "nowhere", devicechat_pairing: true },
    ]) {
      const { status, body } = await patch(fields);
      expect([status, body.code], JSON.stringify(fields)).toEqual([400, "INVALID_REQUEST"]);
    }
    expect((await patch({ sigchat_pairing: false }, KEYS.plain)).status).toBe(403);
  });

  it("lets an admin alone say where tokens are sent [CH-CONFIG-11]", async () => {
    const steal = { botchat_api_base_url: "http://127.0.0.1:1", botchat_bot_token: "good-2" };
    const { status, body } = await patch(steal);
    expect([status, body.code]).toEqual([403, "FORBIDDEN"]);
    expect((await patch({ sigchat_data_api_base_url: judge.url }, KEYS.admin)).status).toBe(200);
    expect((await patch({ sigchat_data_api_base_url: null }, KEYS.admin)).status).toBe(200);
  });

  it("is 409 with a clear sentence where the gateway's own environment would win [CH-CONFIG-4]", async () => {
    const { status, body } = await patch({ guildchat_bot_token: "good-other" });
    expect([status, body.code]).toEqual([409, "CONFLICT"]);
    expect(body.error).toContain("ASSISTANT_GUILDCHAT_BOT_TOKEN");
    expect(await envFile()).not.toContain("good-other");
  });

  it("applies at once, without a restart, and null clears [CH-CONFIG-2, CH-CONFIG-3]", async () => {
    const channels = async () => (await gateway.json("GET", agentPath)).body.agent as { channels: object };
    await patch({ sigchat_enabled: true, sigchat_dm_policy: "open" });
    expect((await channels()).channels).toMatchObject({ sigchat: { enabled: true, dmPolicy: "open" } });
    await patch({
      sigchat_channel_access_token: null,
      sigchat_channel_secret: null,
      sigchat_dm_policy: null,
    });
    expect((await channels()).channels).toMatchObject({
      sigchat: { enabled: false, connected: false, dmPolicy: "allowlist" },
    });
    expect(await envFile()).not.toContain("line-secret-1");
    expect((await entry()).sigchat).toEqual({ enabled: true, apiBaseUrl: judge.url });
  });
});

describe("GET channels", () => {
  it("reports what the connection of each of the six proved, to any key with access to the agent [CH-HEALTH-1]", async () => {
    const { status, body } = await gateway.json("GET", `${agentPath}/channels`, { key: KEYS.plain });
    expect(status).toBe(200);
    const channels = body.channels as Record<string, unknown>[];
    expect(channels.map(({ channel }) => channel)).toEqual([
      "botchat",
      "guildchat",
      "devicechat",
      "cloudchat",
      "sigchat",
      "teamchat",
    ]);
    expect(channels[0]).toEqual({
      channel: "botchat",
      enabled: false,
      configured: true,
      connected: false,
      lastInboundAt: null,
      lastOutboundAt: null,
      lastError: null,
      queued: 0,
      unknown: 0,
    });
    expect(channels[2]).toMatchObject({ accounts: [{ id: "default", connected: false }] });
    expect((await gateway.request("GET", `${agentPath}/channels`, { key: KEYS.other })).status).toBe(403);
  });

  it("shows the error of a provider that does not know the token, and none of other agents [CH-HEALTH-2]", async () => {
    await patch({ botchat_enabled: true });
    const botchat = () =>
      gateway
        .json("GET", `${agentPath}/channels`)
        .then(({ body }) => (body.channels as { lastError: string | null; enabled: boolean }[])[0]!);
    // The judge knows no polling.
    await until(async () => (await botchat()).lastError, "an error");
    expect(await botchat()).toMatchObject({ enabled: true, connected: false });
    const { body } = await gateway.json("GET", "/status");
    const agents = body.agents as { channels: object }[];
    expect(agents[0]?.channels).toMatchObject({ botchat: { enabled: true, connected: false } });
    expect(agents[1]?.channels).toEqual({});
    await patch({ botchat_enabled: false });
    await until(async () => !(await botchat()).enabled, "the channel to go");
  });
});

describe("POST channels/allow", () => {
  it("puts stable ids on the lists of any channel, for admins alone [CH-HEALTH-6]", async () => {
    const allow = (body: Record<string, unknown>, key: string = KEYS.admin) =>
      gateway.json("POST", `${agentPath}/channels/allow`, { body, key });
    expect(await allow({ channel: "botchat", id: "4711" })).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    expect((await allow({ channel: "guildchat", id: "99", kind: "group" })).status).toBe(200);
    expect((await allow({ channel: "teamchat", id: "C0123", kind: "group" })).status).toBe(200);
    expect((await allow({ channel: "devicechat", id: "+66812345678" })).status).toBe(200);
    const users = await gateway.json("GET", `${agentPath}/botchat/allowlist`);
    expect(users.body).toEqual({ allowFrom: ["4711"] });
    const guilds = await gateway.json("GET", `${agentPath}/guildchat/guild/allowlist`);
    expect(guilds.body).toEqual({ guildAllowlist: ["99"] });
    expect((await entry()).teamchat).toMatchObject({ groupAllowlist: ["C0123"] });
    for (const body of [
      { channel: "botchat", id: "ann" },
      { channel: "teamchat", id: "#general", kind: "group" },
      { channel: "cloudchat", id: "1", kind: "group" },
      { channel: "devicechat", id: "66812345678", account_id: "nowhere" },
      { channel: "smoke", id: "1" },
    ]) {
      expect((await allow(body)).status, JSON.stringify(body)).toBe(400);
    }
    expect((await allow({ channel: "botchat", id: "1" }, KEYS.write)).status).toBe(403);
  });
});

describe("GET channels/trace", () => {
  it("is 404 for an id that no message has [CH-HEALTH-5]", async () => {
    const { status, body } = await gateway.json("GET", `${agentPath}/channels/trace/nothing`);
    expect([status, body.code]).toEqual([404, "NOT_FOUND"]);
  });
});
