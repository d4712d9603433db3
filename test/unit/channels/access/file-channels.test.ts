import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { codeIn, openAccess } from "./open-access.ts";

const both = [
  { channel: "botchat", groups: "groupAllowlist", group: "-1001234567890", kind: "group" },
  { channel: "guildchat", groups: "guildAllowlist", group: "1234567890123456789", kind: "guild" },
] as const;

describe.each(both)("$channel", ({ channel, groups, group, kind }) => {
  const inGroup = { kind: "group" as const, groupId: group, chatId: "555" };

  it("is closed without a file: who is unknown may ask, and nobody is let in [CH-ACCESS-8]", async () => {
    const own = await openAccess();
    expect(await own.decide(channel)).toBe("knock");
    expect(await own.decide(channel, inGroup)).toBe("knock");
    expect(await own.decide(channel, { ...inGroup, mentioned: false })).toBe("ignore");
    await expect(own.read(channel)).rejects.toThrow("ENOENT");
    await own.put(channel, { pairing: false, allowFrom: [], [groups]: [] });
    expect(await own.decide(channel)).toBe("ignore");
    expect(await own.decide(channel, inGroup)).toBe("ignore");
  });

  it("keeps a knock in the file, 0600 in a folder 0700, and writes the sender's chat into a handshake [CH-ACCESS-9, CH-ACCESS-10]", async () => {
    const own = await openAccess();
    const said = await own.knock(channel, { senderId: "42", chatId: "77", senderName: "Ann" });
    const code = codeIn(said);
    expect(said).toContain(`agent-gateway channels approve a ${channel} ${code}`);
    expect((await stat(own.stateFile(channel, "access.json"))).mode & 0o777).toBe(0o600);
    expect((await stat(own.stateFile(channel, "."))).mode & 0o777).toBe(0o700);
    const now = own.clock.now();
    expect((await own.read(channel)).pending).toEqual({
      [code]: {
        senderId: "42",
        [channel === "botchat" ? "chatId" : "channelId"]: "77",
        createdAt: now,
        expiresAt: now + 3_600_000,
        kind: "dm",
        ...(channel === "guildchat" && { guildId: null }),
        replies: 1,
        senderName: "Ann",
      },
    });
    expect(await own.access.approve(own.entry(), channel, code.toLowerCase())).toMatchObject({ id: "42" });
    expect(await own.read(channel)).toMatchObject({ allowFrom: ["42"], [groups]: [], pending: {} });
    expect(await readFile(own.stateFile(channel, "approved/42"), "utf8")).toBe("77");
    expect(await own.access.handshakes(own.place(channel), own.entry())).toEqual([
      { senderId: "42", chatId: "77", file: own.stateFile(channel, "approved/42") },
    ]);
    expect(await own.decide(channel, { senderId: "42" })).toBe("allow");
    expect(await own.decide(channel, { ...inGroup, senderId: "42" })).toBe("knock");
    await expect(own.access.approve(own.entry(), channel, code)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("lets a group in by its own id, without a handshake, and none of its members directly [CH-ACCESS-2, CH-ACCESS-10]", async () => {
    const own = await openAccess();
    const code = codeIn(await own.knock(channel, { ...inGroup, senderId: "42" }));
    // The group is one, whoever writes there.
    expect(codeIn(await own.knock(channel, { ...inGroup, senderId: "43" }))).toBe(code);
    expect((await own.read(channel)).pending).toMatchObject({ [code]: { kind, senderId: "42", replies: 2 } });
    const told: unknown[] = [];
    own.access.onApproved((place, knock) => void told.push([place.channel, knock.id]));
    await own.access.approve(own.entry(), channel, code);
    expect(told).toEqual([[channel, group]]);
    expect(await own.read(channel)).toMatchObject({ allowFrom: [], [groups]: [group] });
    await expect(readdir(own.stateFile(channel, "approved"))).rejects.toThrow("ENOENT");
    expect(await own.decide(channel, { ...inGroup, senderId: "1" })).toBe("allow");
    expect(await own.decide(channel, { senderId: "42" })).toBe("knock");
  });

  it("tells a code twice, then stays silent while it lives [CH-ACCESS-7]", async () => {
    const own = await openAccess();
    const first = codeIn(await own.knock(channel));
    expect(codeIn(await own.knock(channel))).toBe(first);
    expect(await own.knock(channel)).toBeUndefined();
    own.clock.advance(3_600_000);
    const second = codeIn(await own.knock(channel));
    expect(second).not.toBe(first);
    expect(Object.keys((await own.read(channel)).pending as object)).toEqual([second]);
  });

  it("keeps five of each kind, and the oldest goes [CH-ACCESS-6]", async () => {
    const own = await openAccess();
    for (let at = 1; at <= 7; at++) {
      await own.knock(channel, { senderId: `${at}`, chatId: `${at}` });
      await own.knock(channel, { ...inGroup, groupId: `${900 + at}` });
      own.clock.advance(1_000);
    }
    const waiting = await own.pending(channel);
    const ids = (wanted: string) => waiting.filter((knock) => knock.kind === wanted).map(({ id }) => id);
    expect(ids("dm")).toEqual(["3", "4", "5", "6", "7"]);
    expect(ids("group")).toEqual(["903", "904", "905", "906", "907"]);
  });

  it("takes what has expired out of the file when it is listed, and approves it no more [CH-ACCESS-6]", async () => {
    const own = await openAccess();
    const code = codeIn(await own.knock(channel));
    own.clock.advance(3_600_000);
    await expect(own.access.approve(own.entry(), channel, code)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(own.access.deny(own.entry(), channel, code)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await own.knock(channel, { senderId: "2" });
    own.clock.advance(3_600_000);
    expect(await own.pending(channel)).toEqual([]);
    expect((await own.read(channel)).pending).toEqual({});
  });

  it("captures senders and groups while the policy is open, each in its own list [CH-ACCESS-11]", async () => {
    const own = await openAccess();
    await own.access.setPolicy(own.entry(), channel, { dmPolicy: "open", groupPolicy: "open" });
    expect(await own.decide(channel)).toBe("allow");
    await Promise.all(["1", "2", "1", "3"].map((senderId) => own.admit(channel, { senderId })));
    await own.admit(channel, { ...inGroup, senderId: "9" });
    // Each looks at the file before its turn to change it comes, so their order is not that of the messages.
    const allowed = async () => ((await own.read(channel)).allowFrom as string[]).toSorted();
    expect(await allowed()).toEqual(["1", "2", "3"]);
    expect((await own.read(channel))[groups]).toEqual([group]);
    await own.access.setPolicy(own.entry(), channel, { dmPolicy: "allowlist", groupPolicy: "disabled" });
    // What came in before, but is handled only now, adds nobody to a closed list.
    await own.admit(channel, { senderId: "4" });
    expect(await allowed()).toEqual(["1", "2", "3"]);
    expect(await own.decide(channel, { senderId: "3" })).toBe("allow");
    expect(await own.decide(channel, inGroup)).toBe("ignore");
  });

  it("loses nothing of what happens at once [CH-ACCESS-12]", async () => {
    const own = await openAccess();
    await own.access.setPolicy(own.entry(), channel, { groupPolicy: "open" });
    const codes = await Promise.all(
      ["1", "2", "3"].map(async (senderId) => codeIn(await own.knock(channel, { senderId }))),
    );
    await Promise.all([
      ...codes.map((code) => own.access.approve(own.entry(), channel, code)),
      own.knock(channel, { senderId: "4" }),
      own.access.setPolicy(own.entry(), channel, { requireMention: false }),
      own.admit(channel, inGroup),
      own.knock(channel, { senderId: "5" }),
    ]);
    const state = await own.read(channel);
    expect(new Set(state.allowFrom as string[])).toEqual(new Set(["1", "2", "3"]));
    expect(state).toMatchObject({ requireMention: false, groupPolicy: "open", [groups]: [group] });
    expect((await own.pending(channel)).map(({ id }) => id).sort()).toEqual(["4", "5"]);
    // Two approvals of one code: one of them finds it.
    const code = (await own.pending(channel))[0]!.code!;
    const results = await Promise.allSettled(
      [1, 2].map(() => own.access.approve(own.entry(), channel, code)),
    );
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  it("does not ask again for a sender who was let in meanwhile [CH-ACCESS-12]", async () => {
    const own = await openAccess();
    const code = codeIn(await own.knock(channel, { senderId: "1" }));
    const [, said] = await Promise.all([
      own.access.approve(own.entry(), channel, code),
      own.knock(channel, { senderId: "1" }),
    ]);
    expect(said).toBeUndefined();
    expect(await own.pending(channel)).toEqual([]);
  });

  it("obeys a file that was changed by hand from the next message on, and keeps keys that it does not know [CH-ACCESS-13]", async () => {
    const own = await openAccess();
    await own.put(
      channel,
      `{\n\t"mine": [1, 12345678901234567890],\n\t"allowFrom": [42, 1234567890123456789],\n\t"${groups}": [${group}]\n}\n`,
    );
    expect(await own.decide(channel, { senderId: "42" })).toBe("allow");
    expect(await own.decide(channel, { senderId: "1234567890123456789" })).toBe("allow");
    expect(await own.decide(channel, { senderId: "1234567890123456788" })).toBe("knock");
    expect(await own.decide(channel, inGroup)).toBe("allow");
    await own.access.revoke(own.entry(), channel, "dm", "42");
    const text = await readFile(own.stateFile(channel, "access.json"), "utf8");
    expect(text).toContain("12345678901234567890");
    expect(text).toContain('\n\t"mine"');
    expect(await own.decide(channel, { senderId: "42" })).toBe("knock");
    for (const [allowFrom, wanted] of [
      [["7"], "allow"],
      [[], "knock"],
      [["7"], "allow"],
    ] as const) {
      await own.put(channel, { allowFrom });
      expect(await own.decide(channel, { senderId: "7" })).toBe(wanted);
    }
  });

  it.each([
    ["no JSON", '{"dmPolicy": "open", "allowFrom": ["1"]'],
    ["no object", '["1"]'],
    ["empty", ""],
    ["an unknown policy", '{"dmPolicy": "opne", "allowFrom": ["1"]}'],
    ["a list that is none", '{"dmPolicy": "open", "allowFrom": "1"}'],
    ["null", '{"dmPolicy": "open", "allowFrom": null}'],
  ])(
    "is closed while its file is broken, and never writes over it: %s [CH-ACCESS-14]",
    async (_name, text) => {
      const own = await openAccess();
      const file = await own.put(channel, text);
      for (let at = 0; at < 3; at++) {
        expect(await own.decide(channel, { senderId: "1" })).toBe("later");
        expect(await own.decide(channel, inGroup)).toBe("later");
      }
      const conflict = { code: "CONFLICT" };
      await expect(own.knock(channel)).rejects.toMatchObject(conflict);
      await own.admit(channel);
      const entry = own.entry();
      await expect(own.access.approve(entry, channel, "ABCDEF")).rejects.toMatchObject(conflict);
      await expect(own.access.deny(entry, channel, "ABCDEF")).rejects.toMatchObject(conflict);
      await expect(own.access.setPolicy(entry, channel, { pairing: true })).rejects.toMatchObject(conflict);
      await expect(own.access.revoke(entry, channel, "dm", "1")).rejects.toMatchObject(conflict);
      expect(await own.pending(channel)).toEqual([]);
      expect(await readFile(file, "utf8")).toBe(text);
      expect(own.home.log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
      expect(await own.access.problem(own.place(channel), entry)).toContain("access.json");
      await own.put(channel, { allowFrom: ["1"] });
      expect(await own.decide(channel, { senderId: "1" })).toBe("allow");
      expect(await own.access.problem(own.place(channel), entry)).toBeUndefined();
    },
  );

  it("is closed while its file cannot be read [CH-ACCESS-14]", async () => {
    const own = await openAccess();
    await mkdir(own.stateFile(channel, "access.json"), { recursive: true });
    expect(await own.decide(channel)).toBe("later");
    await expect(own.access.setPolicy(own.entry(), channel, { pairing: true })).rejects.toMatchObject({
      code: "CONFLICT",
    });
  });

  it("judges nobody by the defaults while its file is gone for a moment [CH-WAIT-7]", async () => {
    const own = await openAccess();
    await own.put(channel, { allowFrom: ["1"] });
    expect(await own.decide(channel, { senderId: "1" })).toBe("allow");
    await rm(own.stateFile(channel, "access.json"));
    expect(await own.decide(channel, { senderId: "1" })).toBe("later");
    await own.put(channel, { allowFrom: ["1", "2"] });
    expect(await own.decide(channel, { senderId: "2" })).toBe("allow");
    await rm(own.stateFile(channel, "access.json"));
    expect(await own.decide(channel, { senderId: "2" })).toBe("later");
    own.clock.advance(2_001);
    await own.decide(channel);
    expect(await own.decide(channel, { senderId: "2" })).toBe("knock");
  });

  it("reads the older policy `pairing` as an allowlist with pairing, and writes it so [CH-ACCESS-15]", async () => {
    const own = await openAccess();
    await own.put(channel, { dmPolicy: "pairing", pairing: false, allowFrom: ["1"] });
    expect(await own.decide(channel, { senderId: "1" })).toBe("allow");
    expect(await own.decide(channel, { senderId: "2" })).toBe("knock");
    expect(codeIn(await own.knock(channel, { senderId: "2" }))).not.toBe("");
    expect(await own.read(channel)).toMatchObject({ dmPolicy: "allowlist", pairing: true, allowFrom: ["1"] });
  });

  it("narrows groups by older settings of theirs, until the group is taken off the list [CH-ACCESS-16]", async () => {
    const own = await openAccess();
    const groupsBefore = { [group]: { allowFrom: ["1"], requireMention: false }, other: { allowFrom: [] } };
    await own.put(channel, { [groups]: [group, "other"], groups: groupsBefore });
    expect(await own.decide(channel, { ...inGroup, senderId: "1", mentioned: false })).toBe("allow");
    expect(await own.decide(channel, { ...inGroup, senderId: "2" })).toBe("ignore");
    expect(await own.decide(channel, { ...inGroup, groupId: "other" })).toBe("ignore");
    await own.access.revoke(own.entry(), channel, "group", group);
    expect(await own.read(channel)).toEqual({ [groups]: ["other"], groups: { other: { allowFrom: [] } } });
    expect(await own.decide(channel, { ...inGroup, senderId: "1" })).toBe("knock");
  });

  it("forgets a knock that is refused or dismissed, by the id of the sender or the group [CH-ACCESS-17]", async () => {
    const own = await openAccess();
    const code = codeIn(await own.knock(channel, { senderId: "1" }));
    await own.knock(channel, { senderId: "2" });
    await own.knock(channel, { ...inGroup, senderId: "3" });
    expect(await own.access.deny(own.entry(), channel, code)).toMatchObject({ id: "1" });
    for (const id of ["2", group, "nobody"]) await own.access.dismiss(own.place(channel), own.entry(), id);
    expect(await own.pending(channel)).toEqual([]);
    expect(await own.decide(channel, { senderId: "2" })).toBe("knock");
    expect(codeIn(await own.knock(channel, { senderId: "2" }))).not.toBe("");
  });

  it("lets nobody become a file of another name, and drops the handshake of who is taken off the list [CH-ACCESS-10]", async () => {
    const own = await openAccess();
    const expiresAt = own.clock.now() + 1_000;
    const entry = { chatId: "1", channelId: "1", createdAt: 0, expiresAt, kind: "dm" };
    await own.put(channel, { pending: { ABCDEF: { ...entry, senderId: "../../config" }, GHJKMN: null } });
    await expect(own.access.approve(own.entry(), channel, "ABCDEF")).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    expect(await own.pending(channel)).toEqual([]);
    expect(await own.knock(channel, { senderId: "../x" })).toBeUndefined();

    const code = codeIn(await own.knock(channel, { senderId: "8" }));
    await own.access.approve(own.entry(), channel, code);
    await writeFile(own.stateFile(channel, "approved/9"), "9");
    const told = await own.access.handshakes(own.place(channel), own.entry());
    expect(told.map(({ senderId }) => senderId)).toEqual(["8"]);
    await own.access.revoke(own.entry(), channel, "dm", "8");
    expect(await readdir(own.stateFile(channel, "approved"))).toEqual(["9"]);
  });

  it("keeps what waits over a restart [CH-ACCESS-18]", async () => {
    const own = await openAccess();
    const code = codeIn(await own.knock(channel));
    await own.restart();
    expect(codeIn(await own.knock(channel))).toBe(code);
    expect(await own.knock(channel)).toBeUndefined();
    expect(await own.access.approve(own.entry(), channel, code)).toMatchObject({ senderId: "111" });
  });

  it("puts ids on its lists without a knock, and refuses what is none [CH-ACCESS-19]", async () => {
    const own = await openAccess();
    await own.access.allow(own.place(channel), own.entry(), "user", "42");
    await own.access.allow(own.place(channel), own.entry(), "group", group);
    expect(await own.read(channel)).toMatchObject({ allowFrom: ["42"], [groups]: [group] });
    for (const id of ["ann", "@ann", "${HOME}", "1 ", "-1".repeat(2)]) {
      await expect(own.access.allow(own.place(channel), own.entry(), "user", id)).rejects.toMatchObject({
        code: "INVALID_REQUEST",
      });
    }
  });
});

describe("a state folder that others may look into", () => {
  it("is closed when the file is written, and the file too [CH-ACCESS-9]", async () => {
    const own = await openAccess();
    const file = await own.put("botchat", { allowFrom: ["1"] });
    await chmod(file, 0o644);
    await chmod(join(file, ".."), 0o755);
    await own.access.setPolicy(own.entry(), "botchat", { pairing: false });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(file, ".."))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(file, ".."))).toEqual(["access.json"]);
  });
});
