import { stat } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { codeIn, openAccess } from "./open-access.ts";

const JID = "4915112345678@s.whatsapp.net";
const GROUP = "120363000000000001@g.us";
const senders = [
  { channel: "devicechat", user: JID, group: GROUP, groupKind: "group" },
  { channel: "cloudchat", user: "4915112345678", group: undefined, groupKind: "group" },
  { channel: "sigchat", user: `U${"1".repeat(32)}`, group: `R${"2".repeat(32)}`, groupKind: "room" },
  { channel: "teamchat", user: "U0123456789", group: "C0123456789", groupKind: "group" },
] as const;

describe.each(senders)("$channel", ({ channel, user }) => {
  const from = { senderId: user, chatId: user };

  it("is closed by default, and records who is denied [CH-ACCESS-8, CH-ACCESS-20]", async () => {
    const own = await openAccess();
    expect(await own.decide(channel, from)).toBe("knock");
    const code = codeIn(await own.knock(channel, { ...from, senderName: "Ann" }));
    own.clock.advance(1_000);
    await own.knock(channel, { ...from, senderName: "Ann B" });
    const now = own.clock.now();
    expect(await own.pending(channel)).toEqual([
      expect.objectContaining({
        kind: "dm",
        id: user,
        name: "Ann B",
        code,
        firstSeen: now - 1_000,
        lastSeen: now,
        count: 2,
      }),
    ]);
    expect(await own.knock(channel, from)).toBeUndefined();
    expect((await own.pending(channel))[0]).toMatchObject({ count: 3, code });
  });

  it("names who is on the list, and nobody while everybody may write [PAIR-1]", async () => {
    const listed = async (block: object) => {
      const own = await openAccess({
        [channel]: { ...block },
      });
      return own.access.isListed(own.place(channel), own.entry(), user);
    };
    expect(await listed({ dmPolicy: "allowlist", dmAllowlist: [user] })).toBe(true);
    expect(await listed({ dmPolicy: "allowlist", dmAllowlist: [] })).toBe(false);
    expect(await listed({ dmPolicy: "open", dmAllowlist: [user] })).toBe(false);
    expect(await listed({ dmPolicy: "disabled", dmAllowlist: [user] })).toBe(false);
  });

  it("puts who is approved on the list in config.json, at once, and leaves the rest as it is [CH-ACCESS-21]", async () => {
    const own = await openAccess({ extra: { kept: true } });
    const code = codeIn(await own.knock(channel, from));
    await own.access.approve(own.entry(), channel, code);
    expect(await own.decide(channel, from)).toBe("allow");
    expect(await own.pending(channel)).toEqual([]);
    const block =
      channel === "devicechat"
        ? { accounts: [{ id: "default", dmAllowlist: [user] }] }
        : { dmAllowlist: [user] };
    expect(await own.raw()).toEqual({ id: "a", extra: { kept: true }, [channel]: block });
    await expect(own.access.approve(own.entry(), channel, code)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("records silently while pairing is off, and not at all while the policy is disabled [CH-ACCESS-20]", async () => {
    const settings = { pairing: false };
    const block = channel === "devicechat" ? { accounts: [{ id: "default", ...settings }] } : settings;
    const own = await openAccess({ [channel]: block });
    expect(await own.decide(channel, from)).toBe("knock");
    expect(await own.knock(channel, from)).toBeUndefined();
    expect((await own.pending(channel))[0]!.code).toBeUndefined();
    await own.config.update((raw) => {
      const entry = (raw.agents as Record<string, Record<string, unknown>>[])[0]!;
      const closed = { dmPolicy: "disabled" };
      entry[channel] = channel === "devicechat" ? { accounts: [{ id: "default", ...closed }] } : closed;
    });
    expect(await own.decide(channel, from)).toBe("ignore");
  });

  it("keeps five, and the least recent goes [CH-ACCESS-6]", async () => {
    const own = await openAccess();
    const ids = Array.from({ length: 7 }, (_, at) => `${user.slice(0, -1).replace(/\D/g, "")}${at}@lid`);
    for (const senderId of ids) {
      await own.knock(channel, { senderId, chatId: senderId });
      own.clock.advance(1_000);
    }
    expect((await own.pending(channel)).map(({ id }) => id)).toEqual(ids.slice(2));
  });

  it("forgets who is refused, dismissed or out of time [CH-ACCESS-6, CH-ACCESS-17]", async () => {
    const own = await openAccess();
    const code = codeIn(await own.knock(channel, from));
    expect(await own.access.deny(own.entry(), channel, code)).toMatchObject({ id: user });
    await expect(own.access.deny(own.entry(), channel, code)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await own.knock(channel, from);
    await own.access.dismiss(own.place(channel), own.entry(), user);
    await own.access.dismiss(own.place(channel), own.entry(), user);
    expect(await own.pending(channel)).toEqual([]);
    const again = codeIn(await own.knock(channel, from));
    own.clock.advance(3_600_000);
    await expect(own.access.approve(own.entry(), channel, again)).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    expect(await own.pending(channel)).toEqual([]);
  });

  it("loses nothing of what happens at once [CH-ACCESS-12]", async () => {
    const own = await openAccess();
    const ids = [1, 2, 3].map((at) => `49151${at}@lid`);
    const codes = await Promise.all(
      ids.map(async (id) => codeIn(await own.knock(channel, { senderId: id, chatId: id }))),
    );
    const approvals = codes.map((code) => own.access.approve(own.entry(), channel, code));
    await Promise.all([...approvals, own.knock(channel, { senderId: "7@lid", chatId: "7@lid" })]);
    for (const senderId of ids) expect(await own.decide(channel, { senderId })).toBe("allow");
    expect((await own.pending(channel)).map(({ id }) => id)).toEqual(["7@lid"]);
  });

  it(`keeps what waits over a restart: ${channel === "devicechat" || channel === "cloudchat"} [CH-ACCESS-18]`, async () => {
    const own = await openAccess();
    const code = codeIn(await own.knock(channel, from));
    await own.knock(channel, from);
    await own.knock(channel, from);
    await own.restart();
    const waiting = await own.pending(channel);
    if (channel === "sigchat" || channel === "teamchat") return expect(waiting).toEqual([]);
    expect(waiting).toMatchObject([{ id: user, code, count: 3, replies: 2 }]);
    expect((await stat(own.stateFile(channel, "pending.json"))).mode & 0o777).toBe(0o600);
    await own.access.approve(own.entry(), channel, code);
    await own.restart();
    expect(await own.pending(channel)).toEqual([]);
    expect(await own.decide(channel, from)).toBe("allow");
  });

  it("keeps references to variables in the list [CH-ACCESS-21]", async () => {
    const list = ["${ID_FROM_ENV}"];
    const block =
      channel === "devicechat" ? { accounts: [{ id: "default", dmAllowlist: list }] } : { dmAllowlist: list };
    const own = await openAccess({ [channel]: block });
    await own.access.approve(own.entry(), channel, codeIn(await own.knock(channel, from)));
    const text = JSON.stringify(await own.raw());
    expect(text).toContain(JSON.stringify(["${ID_FROM_ENV}", user]));
    const odd = { senderId: "${ID_FROM_ENV}", chatId: "x" };
    const code = codeIn(await own.knock(channel, odd));
    await expect(own.access.approve(own.entry(), channel, code)).rejects.toMatchObject({ code: "CONFLICT" });
  });
});

describe.each(senders.flatMap((one) => (one.group ? one : [])))(
  "groups of $channel",
  ({ channel, user, group, groupKind }) => {
    it("are let in by their own id, and none of their members directly [CH-ACCESS-2, CH-ACCESS-21]", async () => {
      const own = await openAccess();
      const inGroup = { kind: groupKind, groupId: group, chatId: group, senderId: user };
      const silent = channel === "sigchat" ? "knock" : "ignore";
      expect(await own.decide(channel, { ...inGroup, mentioned: false })).toBe(silent);
      const code = codeIn(await own.knock(channel, inGroup));
      expect(await own.pending(channel)).toMatchObject([{ kind: groupKind, id: group, code }]);
      await own.access.approve(own.entry(), channel, code);
      expect(await own.decide(channel, { ...inGroup, senderId: "somebody" })).toBe("allow");
      expect(await own.decide(channel, { senderId: user })).toBe("knock");
    });
  },
);

describe("devicechat", () => {
  it("has policies, lists and knocks for each account [CH-ACCESS-22]", async () => {
    const own = await openAccess({
      devicechat: {
        accounts: [
          { id: "home", dmAllowlist: ["+49 1"], groupPolicy: "open", requireMention: false },
          { id: "work", dmPolicy: "pairing", pairing: false, groupPolicy: "disabled" },
        ],
      },
    });
    const from = { senderId: JID, chatId: JID };
    const group = { kind: "group" as const, groupId: GROUP, chatId: GROUP, mentioned: false };
    expect(await own.decide("devicechat", group, "home")).toBe("allow");
    expect(await own.decide("devicechat", { ...group, mentioned: true }, "work")).toBe("ignore");
    expect(await own.decide("devicechat", from, "gone")).toBe("ignore");
    const home = codeIn(await own.knock("devicechat", from, "home"));
    const work = codeIn(
      await own.knock("devicechat", { ...from, senderId: "4915112345678:9@s.whatsapp.net" }, "work"),
    );
    expect(home).not.toBe(work);
    expect(await own.pending("devicechat")).toEqual([]);
    expect(await own.pending("devicechat", "work")).toMatchObject([{ id: JID }]);
    await expect(own.access.approve(own.entry(), "devicechat", work, "home")).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    await own.access.approve(own.entry(), "devicechat", work);
    expect((await own.raw()).devicechat.accounts).toMatchObject([
      { id: "home", dmAllowlist: ["+49 1"] },
      { id: "work", dmPolicy: "pairing", pairing: false, dmAllowlist: [JID] },
    ]);
    expect(await own.decide("devicechat", from, "work")).toBe("allow");
    expect(await own.decide("devicechat", from, "home")).toBe("knock");
    await own.access.forget(own.place("devicechat", "home"), own.entry());
    expect(await own.pending("devicechat", "home")).toEqual([]);
  });

  it("refuses a code, and forgets a knock, at its own account alone [CH-ACCESS-22]", async () => {
    const own = await openAccess({ devicechat: { accounts: [{ id: "home" }, { id: "work" }] } });
    const from = { senderId: JID, chatId: JID };
    const codes = { home: codeIn(await own.knock("devicechat", from, "home")), work: "" };
    codes.work = codeIn(await own.knock("devicechat", from, "work"));
    const waiting = async () =>
      Promise.all(["home", "work"].map(async (id) => (await own.pending("devicechat", id)).length));
    const missing = { code: "NOT_FOUND" };
    await expect(own.access.deny(own.entry(), "devicechat", codes.work, "home")).rejects.toMatchObject(
      missing,
    );
    await expect(own.access.approve(own.entry(), "devicechat", codes.home, "work")).rejects.toMatchObject(
      missing,
    );
    expect(await waiting()).toEqual([1, 1]);
    await own.access.deny(own.entry(), "devicechat", codes.work, "work");
    expect(await waiting()).toEqual([1, 0]);
    await own.knock("devicechat", from, "work");
    await own.access.dismiss(own.place("devicechat", "home"), own.entry(), JID);
    expect(await waiting()).toEqual([0, 1]);
    expect((await own.raw()).devicechat.accounts).toEqual([{ id: "home" }, { id: "work" }]);
  });

  it("moves older flat settings into the account that an approval makes [CH-ACCESS-22]", async () => {
    const own = await openAccess({
      devicechat: { enabled: false, dmAllowlist: ["491"], requireMention: false },
    });
    expect(await own.decide("devicechat", { senderId: "491@s.whatsapp.net" })).toBe("allow");
    await own.access.allow(own.place("devicechat", ""), own.entry(), "user", `+${JID.split("@")[0]}`);
    expect((await own.raw()).devicechat).toEqual({
      enabled: false,
      accounts: [{ id: "default", dmAllowlist: ["491", JID], requireMention: false }],
    });
    await expect(
      own.access.allow(own.place("devicechat", "nope"), own.entry(), "user", JID),
    ).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  });

  it("may write to whom its policy lets write, and to nobody else [CH-ACCESS-23]", async () => {
    const own = await openAccess({
      devicechat: {
        accounts: [
          { id: "default", dmAllowlist: ["+4915112345678"], groupAllowlist: [GROUP] },
          { id: "open", dmPolicy: "open", groupPolicy: "open" },
          {
            id: "shut",
            dmPolicy: "disabled",
            dmAllowlist: [JID],
            groupPolicy: "disabled",
            groupAllowlist: [GROUP],
          },
        ],
      },
    });
    const may = (jid: string, account?: string, aliases?: string[]) =>
      own.access.allowed(own.place("devicechat", account), own.entry(), jid, aliases);
    expect(await may(JID)).toBe(true);
    expect(await may("4915112345678:3@s.whatsapp.net")).toBe(true);
    expect(await may("1@lid")).toBe(false);
    expect(await may("1@lid", "default", [JID])).toBe(true);
    expect(await may(GROUP)).toBe(true);
    expect(await may("1-2@g.us")).toBe(false);
    for (const jid of ["1@lid", "1-2@g.us", "2@s.whatsapp.net"]) expect(await may(jid, "open")).toBe(true);
    for (const jid of ["status@broadcast", "1@newsletter", "1", ""])
      expect(await may(jid, "open")).toBe(false);
    for (const jid of [JID, GROUP]) expect(await may(jid, "shut")).toBe(false);
    expect(await may(JID, "gone")).toBe(false);
  });

  it("starts with an empty list when the file of knocks is broken [CH-ACCESS-18]", async () => {
    const own = await openAccess();
    await own.put("devicechat", "{", "pending.json");
    expect(await own.pending("devicechat")).toEqual([]);
    await own.knock("devicechat", { senderId: JID });
    expect(await own.read("devicechat", "pending.json")).toMatchObject({
      pending: { default: [{ id: JID }] },
    });
  });
});

describe("what an agent's record tells", () => {
  it("is the policy of each channel, with lists and without secrets [CH-ACCESS-24]", async () => {
    const own = await openAccess({
      teamchat: { botToken: "SECRET", signingSecret: "SECRET", groupAllowlist: ["C1234"] },
      cloudchat: { accessToken: "SECRET", dmPolicy: "pairing", pairing: false },
    });
    const view = (channel: "botchat" | "teamchat" | "cloudchat" | "sigchat") =>
      own.access.policyOf(own.place(channel), own.entry());
    const closed = {
      dmPolicy: "allowlist",
      dmAllowlist: [],
      pairing: true,
      groupPolicy: "allowlist",
      groupAllowlist: [],
      requireMention: true,
    };
    expect(await view("botchat")).toEqual(closed);
    expect(await view("teamchat")).toEqual({ ...closed, groupAllowlist: ["C1234"] });
    expect(await view("sigchat")).toEqual({ ...closed, requireMention: false });
    expect(await view("cloudchat")).toEqual({ dmPolicy: "allowlist", dmAllowlist: [], pairing: true });
  });
});
