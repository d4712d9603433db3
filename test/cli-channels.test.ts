import { describe, expect, it } from "vitest";
import { cliSuite } from "./fixtures/cli-suite.ts";
import { put, until } from "./harness.ts";

const { suite, cli, value } = cliSuite();
const knock = (code: string, extra: Record<string, unknown> = {}) => ({
  [code]: {
    senderId: "4711",
    chatId: "4711",
    senderName: "Ann",
    createdAt: Date.now() - 120_000,
    expiresAt: Date.now() + 600_000,
    kind: "dm",
    ...extra,
  },
});
/** What waits in a file channel of `assistant`. */
const waiting = (channel: string, ...knocks: object[]) =>
  put(
    suite.gateway.home,
    `agents/assistant/workspace/.${channel}-state/access.json`,
    JSON.stringify({ pending: Object.assign({}, ...knocks) }),
  );

describe("channels from the shell", () => {
  it("lists who waits, in one channel or all, and lets them in or not [CH-CLI-1, CH-CLI-2]", async () => {
    await waiting(
      "botchat",
      knock("AAAAAA"),
      knock("BBBBBB", { senderId: "8", chatId: "-100", kind: "group" }),
    );
    await waiting("guildchat", knock("CCCCCC", { channelId: "5", chatId: "5" }));
    const all = await value<{ pending: { channel: string; id: string; code: string }[] }>(
      "channels",
      "pending",
      "assistant",
    );
    expect(all.pending.map(({ channel, id, code }) => `${channel} ${id} ${code}`).sort()).toEqual([
      "botchat -100 BBBBBB",
      "botchat 4711 AAAAAA",
      "guildchat 4711 CCCCCC",
    ]);
    const one = await cli(["channels", "pending", "assistant", "botchat"]);
    expect(one.stdout).toContain("AAAAAA");
    expect(one.stdout).toMatch(/2 min ago/);
    expect(one.stdout).not.toContain("CCCCCC");

    expect(await value("channels", "approve", "assistant", "botchat", "aaaaaa")).toMatchObject({
      ok: true,
      senderId: "4711",
    });
    expect(await value("channels", "deny", "assistant", "--channel", "botchat", "BBBBBB")).toMatchObject({
      ok: true,
    });
    expect(await value("channels", "dismiss", "assistant", "guildchat", "4711")).toEqual({ ok: true });
    expect(await value("channels", "users", "assistant", "botchat")).toEqual({ allowFrom: ["4711"] });
    expect(await value("channels", "pending", "assistant")).toEqual({ pending: [] });
    expect((await cli(["channels", "pending", "assistant"])).stdout).toBe("No one is waiting.\n");
    const gone = await cli(["channels", "approve", "assistant", "botchat", "AAAAAA"]);
    expect([gone.code, gone.stdout]).toEqual([1, ""]);
    expect(gone.stderr).toContain("NOT_FOUND");
  });

  it("puts ids on lists and takes them off [CH-CLI-1]", async () => {
    const run = (...args: string[]) => value("channels", ...args);
    await run("allow", "assistant", "botchat", "12");
    await run("allow", "assistant", "botchat", "--kind", "group", "--", "-1001");
    await run("allow", "assistant", "guildchat", "77", "--group");
    expect(await run("groups", "assistant", "botchat")).toEqual({ groupAllowlist: ["-1001"] });
    expect(await run("groups", "assistant", "guildchat")).toEqual({ guildAllowlist: ["77"] });
    await run("revoke", "assistant", "botchat", "12");
    await run("revoke-group", "assistant", "guildchat", "77");
    expect(await run("groups", "assistant", "guildchat")).toEqual({ guildAllowlist: [] });
    const bad = await cli(["channels", "allow", "assistant", "teamchat", "ann"]);
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining("must be a user id")]);
  });

  it("shows and changes policies, wherever they are kept [CH-CLI-2]", async () => {
    const run = (...args: string[]) => value("channels", "policy", "assistant", ...args);
    expect(await run("botchat", "--dm-policy", "open", "--no-pairing")).toMatchObject({
      dmPolicy: "open",
      pairing: false,
    });
    expect(await run("botchat")).toMatchObject({ dmPolicy: "open", groupPolicy: "allowlist" });
    expect(await run("teamchat", "--group-policy", "disabled", "--no-require-mention")).toMatchObject({
      groupPolicy: "disabled",
      requireMention: false,
    });
    expect(await run("sigchat", "--pairing")).toMatchObject({ pairing: true });
    const cloud = await cli(["channels", "policy", "assistant", "cloudchat", "--dm-policy", "open"]);
    expect([cloud.code, cloud.stderr]).toEqual([1, expect.stringContaining("config.json")]);
    const unknown = await cli(["channels", "policy", "assistant", "botchat", "--dm-policy", "everyone"]);
    expect(unknown.code).toBe(1);
  });

  it("lists the channels that are on, with their state, and of one agent all [CH-CLI-2]", async () => {
    expect((await cli(["channels", "list"])).stdout).toContain("No channel is on");
    await suite.gateway.json("PATCH", "/api/v1/agents/assistant", {
      body: { botchat_api_base_url: "http://127.0.0.1:1" },
    });
    const config = (await suite.gateway.config()) as { agents: { botchat: object }[] };
    Object.assign(config.agents[0]!.botchat, { botToken: "1:token" });
    await suite.gateway.writeConfig(config);
    const list = () =>
      value<{ channels: { agent: string; channel: string; connected: boolean; lastError: string | null }[] }>(
        "channels",
        "list",
      );
    await until(async () => (await list()).channels[0]?.lastError, "the error of the connection", 20_000);
    expect((await list()).channels).toMatchObject([
      { agent: "assistant", channel: "botchat", connected: false },
    ]);
    const shown = await cli(["channels", "list"]);
    expect(shown.stdout).toMatch(/^assistant\tbotchat\tno\t0\t/);
    const all = await cli(["channels", "list", "second"]);
    expect(all.stdout.trimEnd().split("\n")).toHaveLength(6);
    expect(all.stdout).toMatch(/^second\tbotchat\toff\t/);
  });

  it("looks after the accounts of linked phones", async () => {
    const run = (...args: string[]) => value("devicechat", ...args);
    expect(await run("accounts", "assistant")).toMatchObject({ accounts: [{ id: "default" }] });
    expect(await run("add-account", "assistant", "shop", "--label", "The shop")).toMatchObject({
      account: { id: "shop", label: "The shop", status: "unlinked" },
    });
    expect(await run("status", "assistant", "--account", "shop")).toMatchObject({
      account_id: "shop",
      status: "unlinked",
    });
    expect(await value("channels", "policy", "assistant", "devicechat", "--account", "shop")).toMatchObject({
      id: "shop",
      pairing: true,
    });
    expect(await run("delete-account", "assistant", "shop")).toMatchObject({ accounts: [{ id: "default" }] });
  });

  it("says what it needs [CH-CLI-1]", async () => {
    for (const [args, words] of [
      [["channels"], "channels needs a command"],
      [["channels", "smoke"], "channels has no command smoke"],
      [["channels", "pending"], "Missing: agent"],
      [["channels", "pending", "assistant", "smoke"], "channel must be one of"],
      [["channels", "approve", "assistant"], "Missing: channel"],
      [["channels", "approve", "assistant", "smoke", "X"], "channel must be one of"],
      [["channels", "policy", "assistant", "botchat", "--account", "x"], "for devicechat only"],
      [["trace"], "Missing: message"],
    ] as const) {
      const { code, stderr } = await cli(args);
      expect([code, stderr], args.join(" ")).toEqual([2, expect.stringContaining(words)]);
    }
  });

  it("finds no trace of a message that was never there [CH-CLI-2]", async () => {
    for (const args of [
      ["trace", "nothing"],
      ["channels", "trace", "assistant", "nothing"],
    ]) {
      const { code, stderr } = await cli(args);
      expect([code, stderr]).toEqual([1, "No channel message has this id.\n"]);
    }
  });
});
