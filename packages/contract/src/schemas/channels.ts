import * as z from "zod";
import { lazy } from "../lazy.ts";
import { agentParams, ms } from "./common.ts";

const ok = lazy(() => z.literal(true));
const policy = lazy(() => z.enum(["open", "allowlist", "disabled"]));
const digits = lazy(() => z.string().regex(/^\d+$/, { error: "must be numeric" }));
/** Groups of `botchat` have negative ids. */
const groupDigits = lazy(() =>
  z.string().regex(/^-?\d+$/, { error: "must be numeric, with or without a leading minus" }),
);

/** Fields of every entry that waits with a code. */
const coded = lazy(() => ({
  code: z.string().describe("Six characters, case-insensitive."),
  senderId: z.string(),
  senderName: z.string().optional().describe("Display name reported by the provider."),
  createdAt: ms().describe("Unix ms."),
  expiresAt: ms().describe("Unix ms."),
}));
export const botchatPending = lazy(() =>
  z.object({
    pending: z.array(
      z.object({
        ...coded(),
        chatId: z.string().describe("For a group, the group's id."),
        kind: z.enum(["dm", "group"]),
      }),
    ),
  }),
);
export const guildchatPending = lazy(() =>
  z.object({
    pending: z.array(
      z.object({
        ...coded(),
        channelId: z.string(),
        kind: z.enum(["dm", "guild"]),
        guildId: z.string().nullable(),
      }),
    ),
  }),
);
export const pendingSenders = lazy(() =>
  z.object({
    senders: z.array(
      z.object({
        userId: z.string().describe("Id of the sender, group or room."),
        displayName: z.string().optional(),
        kind: z.enum(["user", "group", "room"]),
        code: z.string().optional().describe("Present if pairing is on."),
        firstSeen: ms().describe("Unix ms."),
        lastSeen: ms().describe("Unix ms."),
        count: z.number().describe("Messages that were denied."),
      }),
    ),
  }),
);

export const pairingCode = lazy(() =>
  z.object({
    code: z
      .string()
      .trim()
      .min(1, { error: "is required" })
      .max(64)
      .describe("The code that the sender received."),
  }),
);
const accountId = lazy(() => z.string().max(64).optional());
export const accountQuery = lazy(() =>
  z.object({ account_id: accountId().describe("Account; `default` when unset.") }),
);
export const accountCode = lazy(() =>
  pairingCode().extend({
    account_id: accountId().describe("Account that the code belongs to; any account when unset."),
  }),
);
export const settledKnock = lazy(() =>
  z.object({
    ok: ok(),
    senderId: z.string(),
    kind: z.enum(["dm", "guild", "user", "group", "room"]),
    groupId: z.string().optional().describe("Group or room that asked."),
    guildId: z.string().optional().describe("Guild that asked."),
  }),
);
export const done = lazy(() => z.object({ ok: ok() }));

export const policyPatch = lazy(() =>
  z
    .object({
      dmPolicy: policy().optional().describe("Who may write directly."),
      pairing: z.boolean().optional().describe("Gives unknown senders a code."),
      groupPolicy: policy().optional().describe("Which groups may write."),
      requireMention: z
        .boolean()
        .optional()
        .describe("In groups, answer only messages that mention the bot."),
    })
    .refine((patch) => Object.values(patch).some((value) => value !== undefined), {
      error: "at least one of dmPolicy, pairing, groupPolicy, requireMention is required",
    }),
);
export const policyReply = lazy(() =>
  z.object({
    ok: ok(),
    dmPolicy: policy(),
    pairing: z.boolean(),
    groupPolicy: policy(),
    requireMention: z.boolean(),
  }),
);

export const senderParams = lazy(() => agentParams().extend({ senderId: z.string() }));
export const userParams = lazy(() => agentParams().extend({ userId: digits() }));
export const groupParams = lazy(() => agentParams().extend({ groupId: groupDigits() }));
export const guildParams = lazy(() => agentParams().extend({ guildId: digits() }));

export const userAllowlist = lazy(() => z.object({ allowFrom: z.array(z.string()) }));
export const groupAllowlist = lazy(() => z.object({ groupAllowlist: z.array(z.string()) }));
export const guildAllowlist = lazy(() => z.object({ guildAllowlist: z.array(z.string()) }));
