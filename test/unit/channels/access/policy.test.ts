import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalId } from "../../../../packages/gateway/src/channels/access/ids.ts";
import { judge, type Policy } from "../../../../packages/gateway/src/channels/access/policy.ts";
import {
  CHANNELS,
  type ChannelName,
  type Decision,
  type InboundMessage,
} from "../../../../packages/gateway/src/channels/types.ts";
import { message } from "./open-access.ts";

const rule = fc.constantFrom("open", "allowlist", "disabled");
const id = fc.constantFrom("1", "2", "3", "-4", "toString", "__proto__");
const set = fc.array(id, { maxLength: 4 }).map((ids) => new Set(ids));
const policies: fc.Arbitrary<Policy> = fc.record({
  dmPolicy: rule,
  dmAllowlist: set,
  groupPolicy: rule,
  groupAllowlist: set,
  requireMention: fc.boolean(),
  pairing: fc.boolean(),
  restrictions: fc
    .array(
      fc.tuple(
        id,
        fc.record({
          allowFrom: fc.option(set, { nil: undefined }),
          requireMention: fc.option(fc.boolean(), { nil: undefined }),
        }),
      ),
      { maxLength: 2 },
    )
    .map((entries) => new Map(entries)),
});
const messages: fc.Arbitrary<InboundMessage> = fc
  .record({
    kind: fc.constantFrom("dm", "group", "room"),
    senderId: id,
    group: id,
    mentioned: fc.boolean(),
    named: fc.boolean(),
  })
  .map(({ kind, senderId, group, mentioned, named }) =>
    message({ kind, senderId, mentioned, ...(kind !== "dm" && named && { groupId: group }) }),
  );

/** The rules again, as the specification tells them: one sentence, one line. */
function model(channel: ChannelName, policy: Policy, asked: InboundMessage): Decision {
  const keepsFile = channel === "botchat" || channel === "guildchat";
  const denied = keepsFile && !policy.pairing ? "ignore" : "knock";
  if (asked.kind === "dm") {
    if (policy.dmPolicy === "disabled") return "ignore";
    if (policy.dmPolicy === "open") return "allow";
    return [...policy.dmAllowlist].includes(asked.senderId) ? "allow" : denied;
  }
  if (channel === "cloudchat" || asked.groupId === undefined) return "ignore";
  const old = [...policy.restrictions].find(([group]) => group === asked.groupId)?.[1];
  const mention = old?.requireMention === undefined ? policy.requireMention : old.requireMention;
  if (mention && !asked.mentioned) return "ignore";
  if (policy.groupPolicy === "disabled") return "ignore";
  const listed = [...policy.groupAllowlist].includes(asked.groupId);
  if (policy.groupPolicy === "allowlist" && !listed) return denied;
  return old?.allowFrom && ![...old.allowFrom].includes(asked.senderId) ? "ignore" : "allow";
}

describe("the decision on a message", () => {
  // JIDs have a form of their own, see below.
  const plain = CHANNELS.filter((name) => name !== "devicechat");

  it("is what the policies say, for every channel [CH-ACCESS-1]", () => {
    fc.assert(
      fc.property(fc.constantFrom(...plain), policies, messages, (channel, policy, asked) => {
        expect(judge(channel, policy, asked)).toBe(model(channel, policy, asked));
      }),
      { numRuns: 5000 },
    );
  });

  it("never lets a group in by the list of users, nor a user by the list of groups [CH-ACCESS-2]", () => {
    fc.assert(
      fc.property(fc.constantFrom(...CHANNELS), policies, messages, (channel, policy, asked) => {
        const closed: Policy = { ...policy, dmPolicy: "allowlist", groupPolicy: "allowlist" };
        const direct = asked.kind === "dm";
        const emptied = direct ? { ...closed, dmAllowlist: new Set<string>() } : closed;
        const crossed = direct ? emptied : { ...closed, groupAllowlist: new Set<string>() };
        expect(judge(channel, crossed, asked)).not.toBe("allow");
      }),
    );
  });

  it("matches stable ids alone, exactly [CH-ACCESS-3]", () => {
    const policy: Policy = {
      dmPolicy: "allowlist",
      dmAllowlist: new Set(["42"]),
      groupPolicy: "disabled",
      groupAllowlist: new Set(),
      requireMention: true,
      pairing: true,
      restrictions: new Map(),
    };
    const names = { senderName: "42", chatId: "42" };
    for (const senderId of ["4", "042", "42 ", "421", ""]) {
      expect(judge("botchat", policy, message({ senderId, ...names }))).toBe("knock");
    }
    expect(judge("botchat", policy, message({ senderId: "42" }))).toBe("allow");
  });
});

describe("ids of linked devices", () => {
  it("are one whether written as number or JID, and whatever the device [CH-ACCESS-4]", () => {
    fc.assert(
      fc.property(fc.bigInt(10_000n, 10n ** 15n), fc.nat(99), (number, device) => {
        const jid = `${number}@s.whatsapp.net`;
        for (const form of [
          `+${number}`,
          `${number}`,
          jid,
          `${number}:${device}@s.whatsapp.net`,
          `${number}@c.us`,
          `${number}_1:${device}@s.whatsapp.net`,
        ]) {
          expect(canonicalId("devicechat", form)).toBe(jid);
        }
        expect(canonicalId("devicechat", `${number}@lid`)).toBe(`${number}@lid`);
        expect(canonicalId("devicechat", `${number}:3@lid`)).toBe(`${number}@lid`);
        expect(canonicalId("devicechat", `${number}-1@g.us`)).toBe(`${number}-1@g.us`);
      }),
    );
  });

  it("match by every stable id of the sender that the message has [CH-ACCESS-4]", () => {
    const policy: Policy = {
      dmPolicy: "allowlist",
      dmAllowlist: new Set(["4915112345678@s.whatsapp.net"]),
      groupPolicy: "allowlist",
      groupAllowlist: new Set(["120363@g.us"]),
      requireMention: false,
      pairing: true,
      restrictions: new Map(),
    };
    const senderId = "99:7@lid";
    const known = { senderId, senderAliases: ["4915112345678:7@s.whatsapp.net"] };
    expect(judge("devicechat", policy, message(known))).toBe("allow");
    expect(judge("devicechat", policy, message({ senderId }))).toBe("knock");
    const group = { ...known, kind: "group" as const };
    expect(judge("devicechat", policy, message({ ...group, groupId: "120363@g.us" }))).toBe("allow");
    // A sender who may write directly does not open a group.
    expect(judge("devicechat", policy, message({ ...group, groupId: "120364@g.us" }))).toBe("knock");
  });

  it("are numbers with or without + for the cloud channel, and nothing else [CH-ACCESS-4]", () => {
    expect(canonicalId("cloudchat", "+4915112345678")).toBe("4915112345678");
    expect(canonicalId("cloudchat", "4915112345678")).toBe("4915112345678");
    expect(canonicalId("teamchat", "+1")).toBe("+1");
  });
});
