import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { updateAgent } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import type { CheckToken } from "../../../packages/gateway/src/agents/index.ts";
import { readDotenv } from "../../../packages/gateway/src/config/index.ts";
import { openAgents } from "./open-agents.ts";

const config = (entry: Record<string, unknown> = {}) => ({
  gateway: { port: 0 },
  agents: [{ id: "my-bot", runtime: { type: "starter" }, ...entry }],
});
const LINE = (letter: string, digit: string) => letter + digit.repeat(32);

async function open(entry: Record<string, unknown> = {}, env = {}, ports = {}) {
  const opened = await openAgents(config(entry), env, ports);
  const envFile = join(opened.paths.agentDir("my-bot"), ".env");
  return {
    ...opened,
    patch: (fields: Record<string, unknown>, by?: { isAdmin: boolean }) =>
      opened.agents.update("my-bot", updateAgent().parse(fields), by),
    entry: async () => (await opened.file()).agents[0],
    variables: () => readDotenv(envFile),
    envText: () => readFile(envFile, "utf8").catch(() => null),
  };
}
const refusedWith = (path: string) => ({ code: "INVALID_REQUEST", details: [{ path }] });

describe("tokens in the agent update", () => {
  it("go to the agent's .env; the file keeps the reference and no answer shows them [CH-CONFIG-1]", async () => {
    const { patch, entry, variables, store } = await open();
    const shown = await patch({ botchat_bot_token: " 1:secret ", botchat_mode: "polling" });
    expect(JSON.stringify(shown)).not.toContain("1:secret");
    expect((await entry()).botchat).toEqual({ mode: "polling", botToken: "${MY_BOT_BOTCHAT_BOT_TOKEN}" });
    expect(await variables()).toEqual({ MY_BOT_BOTCHAT_BOT_TOKEN: "1:secret" });
    expect(store.current.agents[0]?.botchat?.botToken).toBe("1:secret");
  });

  it("take the variable that the file refers to already, and apply at once [CH-CONFIG-1, CH-CONFIG-2]", async () => {
    const { patch, entry, variables, store, write } = await open();
    await write("agents/my-bot/.env", "OLD_NAME=one\nOTHER=kept\n");
    await store.update((raw) => {
      Object.assign((raw.agents as object[])[0]!, { guildchat: { botToken: "${OLD_NAME}" } });
    });
    const changes: unknown[] = [];
    store.onChange((next) => changes.push(next.agents[0]?.guildchat?.botToken));
    await patch({ guildchat_bot_token: "two" });
    expect((await entry()).guildchat).toEqual({ botToken: "${OLD_NAME}" });
    expect(await variables()).toEqual({ OTHER: "kept", OLD_NAME: "two" });
    expect(changes).toEqual(["two"]);
  });

  it("get a variable of their own where another key needs the one they had", async () => {
    const { patch, entry } = await open(
      {
        env: { KEY: "${SHARED}" },
        botchat: { botToken: "${SHARED}" },
      },
      { SHARED: "x" },
    );
    await patch({ botchat_bot_token: "y" });
    expect((await entry()).botchat.botToken).toBe("${MY_BOT_BOTCHAT_BOT_TOKEN}");
  });

  it("are not taken for references themselves", async () => {
    const { patch, store } = await open({}, { GATEWAY_ADMIN_KEY: "k" });
    await patch({ botchat_bot_token: "${GATEWAY_ADMIN_KEY}" });
    expect(store.current.agents[0]?.botchat?.botToken).toBe("${GATEWAY_ADMIN_KEY}");
  });

  it("are cleared by null, in the file and in the .env [CH-CONFIG-3]", async () => {
    const { patch, entry, envText } = await open();
    await patch({ sigchat_channel_secret: "s", sigchat_channel_access_token: "t", sigchat_pairing: false });
    await patch({ sigchat_channel_secret: null });
    expect((await entry()).sigchat).toEqual({
      channelAccessToken: "${MY_BOT_SIGCHAT_CHANNEL_ACCESS_TOKEN}",
      pairing: false,
    });
    await patch({ sigchat_channel_access_token: null, sigchat_pairing: null });
    expect(await entry()).not.toHaveProperty("sigchat");
    expect(await envText()).toBe("");
  });

  it("are refused with 409 where a variable of the gateway's environment would win [CH-CONFIG-4]", async () => {
    const { patch, entry, envText } = await open({}, { MY_BOT_BOTCHAT_BOT_TOKEN: "shell" });
    await expect(patch({ botchat_bot_token: "new" })).rejects.toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining("MY_BOT_BOTCHAT_BOT_TOKEN"),
    });
    expect(await entry()).not.toHaveProperty("botchat");
    expect(await envText()).toBeNull();
  });

  it("stay as they were when the configuration cannot be written [CH-CONFIG-5]", async () => {
    const { patch, write, store, variables, entry } = await open();
    await patch({ botchat_bot_token: "first" });
    // Whatever fails after the .env was written, as this account that does not exist.
    const broken = {
      botchat_bot_token: "second",
      devicechat_account_id: "nowhere",
      devicechat_pairing: true,
    };
    await expect(patch(broken)).rejects.toMatchObject(refusedWith("devicechat_account_id"));
    expect(await variables()).toEqual({ MY_BOT_BOTCHAT_BOT_TOKEN: "first" });
    expect(store.current.agents[0]?.botchat?.botToken).toBe("first");
    expect(await entry()).not.toHaveProperty("devicechat");
    await write("config.json", "{ broken");
    await expect(patch({ guildchat_bot_token: "x" })).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await variables()).toEqual({ MY_BOT_BOTCHAT_BOT_TOKEN: "first" });
  });

  it("of teamchat come with its signing secret, and go with it [CH-CONFIG-6]", async () => {
    const { patch, entry } = await open();
    for (const fields of [{ teamchat_bot_token: "xoxb-1" }, { teamchat_bot_token: null }]) {
      await expect(patch(fields)).rejects.toMatchObject(refusedWith("teamchat_signing_secret"));
    }
    await expect(patch({ teamchat_signing_secret: "s" })).rejects.toMatchObject(
      refusedWith("teamchat_bot_token"),
    );
    await patch({ teamchat_bot_token: "xoxb-1", teamchat_signing_secret: "s" });
    expect((await entry()).teamchat).toEqual({
      botToken: "${MY_BOT_TEAMCHAT_BOT_TOKEN}",
      signingSecret: "${MY_BOT_TEAMCHAT_SIGNING_SECRET}",
    });
    await patch({ teamchat_bot_token: null, teamchat_signing_secret: null });
    expect(await entry()).not.toHaveProperty("teamchat");
  });

  it("are judged by the provider: refused is 400 and nothing is saved; unreachable is 502 for teamchat, whose tokens must be checked [CH-CONFIG-7]", async () => {
    const asked: unknown[] = [];
    const checkToken: CheckToken = async (channel, settings) => {
      asked.push([channel, settings]);
      const { botToken } = settings as { botToken?: string };
      if (botToken === "bad") return { refused: "does not know this bot" };
      return botToken === "gone" ? { unreachable: true } : { ok: true };
    };
    const { patch, entry, envText } = await open(
      { guildchat: { apiBaseUrl: "http://127.0.0.1:1" } },
      {},
      { checkToken },
    );
    await expect(patch({ guildchat_bot_token: "bad" })).rejects.toMatchObject({
      code: "INVALID_REQUEST",
      details: [{ path: "guildchat_bot_token", message: "does not know this bot" }],
    });
    await expect(patch({ teamchat_bot_token: "gone", teamchat_signing_secret: "s" })).rejects.toMatchObject({
      code: "UPSTREAM_UNAVAILABLE",
      status: 502,
    });
    expect((await entry()).guildchat).toEqual({ apiBaseUrl: "http://127.0.0.1:1" });
    expect(await envText()).toBeNull();
    await patch({ guildchat_bot_token: "gone" });
    await patch({ guildchat_bot_token: "good" });
    await patch({
      guildchat_bot_token: null,
      sigchat_channel_secret: "s",
    });
    expect(asked).toHaveLength(4);
    expect(asked.at(-1)).toEqual([
      "guildchat",
      expect.objectContaining({ enabled: true, apiBaseUrl: "http://127.0.0.1:1", botToken: "good" }),
    ]);
  });
});

describe("policies in the agent update", () => {
  it("replace what the block said, null clears, the older pairing policy says two things [CH-CONFIG-8]", async () => {
    const { patch, entry } = await open({ sigchat: { dmPolicy: "open", custom: 1 } });
    const [user, group] = [LINE("U", "a"), LINE("C", "1")];
    await patch({ sigchat_dm_policy: "pairing", sigchat_dm_allowlist: [user, user] });
    await patch({ sigchat_group_policy: "disabled", sigchat_group_allowlist: [group, LINE("R", "2")] });
    expect((await entry()).sigchat).toEqual({
      dmPolicy: "allowlist",
      custom: 1,
      pairing: true,
      dmAllowlist: [user],
      groupPolicy: "disabled",
      groupAllowlist: [group, LINE("R", "2")],
    });
    await patch({ sigchat_dm_policy: null, sigchat_dm_allowlist: [], sigchat_group_allowlist: null });
    expect((await entry()).sigchat).toEqual({
      custom: 1,
      pairing: true,
      dmAllowlist: [],
      groupPolicy: "disabled",
    });
  });

  it.each([
    ["sigchat", ["U1", "Uabc", "user-7"], ["C1", "R_room", "G1"], ["alice", "@alice", "a b", ""]],
    [
      "teamchat",
      ["U1", "W012", "UALICE", "Uab1"],
      ["C1", "G0AB", "C_TEAM"],
      ["alice", "Ursula", "#general", "General"],
    ],
    [
      "devicechat",
      ["4912345", "+4912345", "1@s.whatsapp.net", "7@lid"],
      ["1@g.us", "1-2@g.us"],
      ["ann", "a@g.us"],
    ],
  ])("take any stable id on the lists of %s, and no name [CH-CONFIG-8]", (channel, users, groups, names) => {
    const takes = (list: string, ids: string[]) =>
      updateAgent().safeParse({ [`${channel}_${list}`]: ids }).success;
    expect(takes("dm_allowlist", users)).toBe(true);
    expect(takes("group_allowlist", groups)).toBe(true);
    for (const list of ["dm_allowlist", "group_allowlist"]) {
      expect(names.filter((name) => takes(list, [name]))).toEqual([]);
    }
  });

  it("of devicechat are an account's: the named one, else the first; older flat blocks become the account [CH-CONFIG-9]", async () => {
    const { patch, entry } = await open({ devicechat: { dmPolicy: "open", dmAllowlist: ["+66812345678"] } });
    await patch({ devicechat_require_mention: false, devicechat_label: "Shop", devicechat_enabled: true });
    expect((await entry()).devicechat).toEqual({
      enabled: true,
      accounts: [
        {
          id: "default",
          dmPolicy: "open",
          dmAllowlist: ["+66812345678"],
          requireMention: false,
          label: "Shop",
        },
      ],
    });
    const two = await open({ devicechat: { accounts: [{ id: "default" }, { id: "shop", label: "S" }] } });
    await two.patch({
      devicechat_account_id: "shop",
      devicechat_dm_allowlist: ["6681@s.whatsapp.net", "123@lid"],
    });
    await two.patch({ devicechat_group_allowlist: ["1203630@g.us"], devicechat_reaction_level: "off" });
    expect((await two.entry()).devicechat.accounts).toEqual([
      { id: "default", groupAllowlist: ["1203630@g.us"], reactionLevel: "off" },
      { id: "shop", label: "S", dmAllowlist: ["6681@s.whatsapp.net", "123@lid"] },
    ]);
  });

  it.each([
    [{ sigchat_dm_policy: "everyone" }, "sigchat_dm_policy"],
    [{ sigchat_group_policy: "pairing" }, "sigchat_group_policy"],
    [{ sigchat_dm_allowlist: ["Ann"] }, "sigchat_dm_allowlist.0"],
    [{ sigchat_dm_allowlist: [LINE("C", "0")] }, "sigchat_dm_allowlist.0"],
    [{ teamchat_dm_allowlist: ["U123", "@ann"] }, "teamchat_dm_allowlist.1"],
    [{ teamchat_group_allowlist: ["general"] }, "teamchat_group_allowlist.0"],
    [{ devicechat_dm_allowlist: ["Ann"] }, "devicechat_dm_allowlist.0"],
    [{ devicechat_dm_allowlist: ["1203630@g.us"] }, "devicechat_dm_allowlist.0"],
    [{ devicechat_group_allowlist: ["1203630"] }, "devicechat_group_allowlist.0"],
    [{ teamchat_require_mention: "yes" }, "teamchat_require_mention"],
    [{ botchat_bot_token: "two words" }, "botchat_bot_token"],
    [{ botchat_api_base_url: "file:///etc/passwd" }, "botchat_api_base_url"],
    [{ cloudchat_access_token: "x" }, ""],
    [{ botchat_dm_policy: "open" }, ""],
  ])(
    "are stable ids and known words, of fields that exist: %j [CH-CONFIG-8, CH-CONFIG-10]",
    (fields, path) => {
      const parsed = updateAgent().safeParse(fields);
      expect(parsed.error?.issues.map((issue) => issue.path.join("."))).toEqual([path]);
    },
  );

  it("take no variable, and addresses from an admin alone [CH-CONFIG-11]", async () => {
    const { patch, entry } = await open({}, { HOME_KEY: "k" });
    await expect(patch({ devicechat_label: "${HOME_KEY}" })).rejects.toMatchObject(
      refusedWith("devicechat_label"),
    );
    const address = {
      botchat_api_base_url: "http://127.0.0.1:9/bot",
      guildchat_gateway_url: "ws://127.0.0.1:9",
    };
    await expect(patch(address, { isAdmin: false })).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(await entry()).not.toHaveProperty("botchat");
    await patch(address);
    expect(await entry()).toMatchObject({
      botchat: { apiBaseUrl: "http://127.0.0.1:9/bot" },
      guildchat: { gatewayUrl: "ws://127.0.0.1:9" },
    });
  });
});
