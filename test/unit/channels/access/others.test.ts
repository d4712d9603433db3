import { mkdir, readdir, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { codeIn, openAccess } from "./open-access.ts";

const files = [
  { channel: "botchat", groups: "groupAllowlist", group: "-1001234567890", other: "-1009" },
  { channel: "guildchat", groups: "guildAllowlist", group: "1234567890123456789", other: "99" },
] as const;

describe.each(files)("$channel: what happens to one", ({ channel, groups, group, other }) => {
  /** Two senders and a group that wait, by their codes. */
  const waiting = async () => {
    const own = await openAccess();
    const inGroup = { kind: "group" as const, groupId: group, chatId: "555", senderId: "3" };
    const codes = {
      one: codeIn(await own.knock(channel, { senderId: "1", senderName: "Ann" })),
      two: codeIn(await own.knock(channel, { senderId: "2" })),
      group: codeIn(await own.knock(channel, inGroup)),
    };
    return { own, codes, ids: async () => (await own.pending(channel)).map(({ id }) => id).toSorted() };
  };

  it("leaves the others that wait where they are: approved [CH-ACCESS-10]", async () => {
    const { own, codes, ids } = await waiting();
    await own.access.approve(own.entry(), channel, codes.one);
    expect(await ids()).toEqual(["2", group].toSorted());
    await own.access.approve(own.entry(), channel, codes.group);
    expect(await ids()).toEqual(["2"]);
    expect(await own.read(channel)).toMatchObject({ allowFrom: ["1"], [groups]: [group] });
  });

  it("leaves the others that wait where they are: refused, or dismissed by any id of theirs [CH-ACCESS-17]", async () => {
    const { own, codes, ids } = await waiting();
    await own.access.deny(own.entry(), channel, codes.two);
    expect(await ids()).toEqual(["1", group].toSorted());
    await own.access.dismiss(own.place(channel), own.entry(), "nobody");
    expect(await ids()).toEqual(["1", group].toSorted());
    // The sender whose message made the group knock.
    await own.access.dismiss(own.place(channel), own.entry(), "3");
    expect(await ids()).toEqual(["1"]);
    await own.access.dismiss(own.place(channel), own.entry(), "1");
    expect(await ids()).toEqual([]);
  });

  it("leaves the others on its list: added twice, removed, or never there [CH-ACCESS-19]", async () => {
    const own = await openAccess();
    await own.put(channel, { allowFrom: [7, "8"], [groups]: [other] });
    for (const id of ["7", "9", "9"]) await own.access.allow(own.place(channel), own.entry(), "user", id);
    expect((await own.read(channel)).allowFrom).toEqual([7, "8", "9"]);
    await own.access.revoke(own.entry(), channel, "dm", "7");
    await own.access.revoke(own.entry(), channel, "dm", "1");
    await own.access.revoke(own.entry(), channel, "group", group);
    expect(await own.read(channel)).toMatchObject({ allowFrom: ["8", "9"], [groups]: [other] });
  });

  it("leaves handshakes and group settings of the same id where another list is meant [CH-ACCESS-10, CH-ACCESS-16]", async () => {
    const own = await openAccess();
    const settings = { 5: { requireMention: false } };
    await own.put(channel, { allowFrom: ["5"], [groups]: ["5"], groups: settings });
    await mkdir(own.stateFile(channel, "approved"), { recursive: true });
    await writeFile(own.stateFile(channel, "approved/5"), " 77\n");
    expect(await own.access.handshakes(own.place(channel), own.entry())).toMatchObject([{ chatId: "77" }]);
    await own.access.revoke(own.entry(), channel, "group", "6");
    expect((await own.read(channel)).groups).toEqual(settings);
    await own.access.revoke(own.entry(), channel, "dm", "6");
    await own.access.revoke(own.entry(), channel, "group", "5");
    expect(await readdir(own.stateFile(channel, "approved"))).toEqual(["5"]);
    await own.put(channel, { allowFrom: ["5"], [groups]: ["5"], groups: settings });
    await own.access.revoke(own.entry(), channel, "dm", "5");
    expect((await own.read(channel)).groups).toEqual(settings);
    expect(await readdir(own.stateFile(channel, "approved"))).toEqual([]);
  });

  it("begins with what the agent's entry says, in the words of today [CH-FLOW-10, CH-ACCESS-15]", async () => {
    const first = { dmPolicy: "open", pairing: false, groupPolicy: "disabled", requireMention: false };
    const own = await openAccess({
      [channel]: { ...first, dmAllowlist: ["11"], [groups]: [other], groupAllowlist: [other] },
    });
    await own.admit(channel, { senderId: "12" });
    expect(await own.read(channel)).toMatchObject({ ...first, allowFrom: ["11", "12"] });
    await own.put(channel, { dmPolicy: "allowlist", groupPolicy: "pairing" });
    expect(await own.access.policyOf(own.place(channel), own.entry())).toMatchObject({
      groupPolicy: "allowlist",
    });
  });

  it("counts only the first knock, and keeps the name where a later message has none [CH-ACCESS-20]", async () => {
    const { own } = await waiting();
    expect(own.knocks).toHaveLength(3);
    await own.knock(channel, { senderId: "1" });
    expect(own.knocks).toHaveLength(3);
    expect(own.knocks[0]).toEqual(own.place(channel));
    expect((await own.pending(channel)).find(({ id }) => id === "1")?.name).toBe("Ann");
  });

  it("a sender whose id is no number, or a code that is none, is taken from no file [CH-ACCESS-10]", async () => {
    const own = await openAccess();
    const knock = {
      chatId: "1",
      channelId: "1",
      createdAt: 0,
      expiresAt: own.clock.now() + 1_000,
      kind: "dm",
    };
    const pending = {
      AAAAAA: { ...knock, senderId: "1/../2" },
      BBBBBB: { ...knock, senderId: "x1" },
      CCCCCC: { ...knock, senderId: "1x" },
      "DD DDD": { ...knock, senderId: "4" },
      "!EEEEE": { ...knock, senderId: "5" },
      FFFFFF: { ...knock, senderId: "6" },
    };
    await own.put(channel, { pending });
    expect((await own.pending(channel)).map(({ id }) => id)).toEqual(["6"]);
    for (const senderId of ["1x", "x1", "1/../2"]) {
      expect(await own.knock(channel, { senderId })).toBeUndefined();
    }
  });
});

describe("the reply to who is not known", () => {
  it("says who may be let in, by which code, for how long [CH-ACCESS-7]", async () => {
    const own = await openAccess();
    const said = await own.knock("botchat", { senderId: "1" });
    const code = codeIn(said);
    const how = `\`agent-gateway channels approve a botchat ${code}\``;
    expect(said).toBe(
      `I do not know you yet. The pairing code is \`${code}\`, valid for 60 minutes. My owner approves it with: ${how}`,
    );
    own.clock.advance(59.8 * 60_000);
    expect(await own.knock("botchat", { senderId: "1" })).toContain("valid for 1 minute.");
    const group = { kind: "group" as const, groupId: "-100", chatId: "-100" };
    expect(await own.knock("botchat", group)).toMatch(
      /^I am not approved for this group yet\. The pairing code/,
    );
  });
});

describe("channels whose lists are in the configuration: what happens to one", () => {
  it("leaves the others that wait where they are [CH-ACCESS-17, CH-ACCESS-21]", async () => {
    const own = await openAccess({ sigchat: { enabled: false } });
    const ids = async () => (await own.pending("sigchat")).map(({ id }) => id).toSorted();
    const codes = await Promise.all(
      ["U1", "U2", "U3", "U4"].map(async (senderId) => codeIn(await own.knock("sigchat", { senderId }))),
    );
    await own.access.approve(own.entry(), "sigchat", ` ${codes[0]!.toLowerCase()} `);
    expect(await ids()).toEqual(["U2", "U3", "U4"]);
    await own.access.deny(own.entry(), "sigchat", codes[1]!);
    expect(await ids()).toEqual(["U3", "U4"]);
    await own.access.dismiss(own.place("sigchat"), own.entry(), "U3");
    expect(await ids()).toEqual(["U4"]);
    expect((await own.raw()).sigchat.dmAllowlist).toEqual(["U1"]);
  });

  it("changes no other agent's entry, and no list that has the id [CH-ACCESS-21]", async () => {
    const own = await openAccess({ teamchat: { enabled: false, dmAllowlist: ["U01"] } });
    await own.config.update((raw) => {
      (raw.agents as unknown[]).unshift({ id: "b", teamchat: { enabled: false } });
    });
    const entry = () => own.config.current.agents.find(({ id }) => id === "a")!;
    for (const id of ["U01", "U02"]) await own.access.allow(own.place("teamchat"), entry(), "user", id);
    const { agents } = JSON.parse(await own.fileText()) as { agents: Array<Record<string, unknown>> };
    expect(agents).toEqual([
      { id: "b", teamchat: { enabled: false } },
      { id: "a", teamchat: { enabled: false, dmAllowlist: ["U01", "U02"] } },
    ]);
  });

  it("names what is wrong with an id, an account or a kind [CH-ACCESS-19]", async () => {
    const own = await openAccess({ devicechat: { accounts: [{ id: "home" }] } });
    const paths = (work: Promise<unknown>) =>
      work.then(
        () => [],
        (error: { details: Array<{ path: string }> }) => error.details.map(({ path }) => path),
      );
    const allow = (
      channel: "devicechat" | "cloudchat",
      account: string,
      kind: "user" | "group",
      id: string,
    ) => paths(own.access.allow(own.place(channel, account), own.entry(), kind, id));
    expect(await allow("devicechat", "work", "user", "+4915112345678")).toEqual(["account_id"]);
    expect(await allow("devicechat", "home", "user", "no id at all")).toEqual(["id"]);
    expect(await allow("cloudchat", "", "group", "1")).toEqual(["channel"]);
    expect(await allow("devicechat", "", "user", "+4915112345678")).toEqual([]);
    expect((await own.raw()).devicechat.accounts).toEqual([
      { id: "home", dmAllowlist: ["4915112345678@s.whatsapp.net"] },
    ]);
  });

  it("shows the policy as it is, and a cloud number's without groups [CH-ACCESS-1]", async () => {
    const own = await openAccess({
      sigchat: { enabled: false, dmAllowlist: ["U1"], groupPolicy: "open", groupAllowlist: ["C1"] },
      cloudchat: { enabled: false, dmAllowlist: ["491"], dmPolicy: "disabled", pairing: false },
    });
    expect(await own.access.policyOf(own.place("sigchat"), own.entry())).toEqual({
      dmPolicy: "allowlist",
      dmAllowlist: ["U1"],
      pairing: true,
      groupPolicy: "open",
      groupAllowlist: ["C1"],
      requireMention: false,
    });
    const cloud = await own.access.policyOf(own.place("cloudchat"), own.entry());
    expect(cloud).toMatchObject({ dmPolicy: "disabled", pairing: false });
    expect(Object.keys(cloud)).not.toContain("groupPolicy");
    expect(await own.decide("cloudchat", { kind: "group", groupId: "g", senderId: "491" })).toBe("ignore");
  });
});
