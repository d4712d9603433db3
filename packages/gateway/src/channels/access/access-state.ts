import * as z from "zod";
import { canonicalSet } from "./ids.ts";
import type { Knock } from "./knocks.ts";
import type { FileChannel, Policy, Restriction } from "./policy.ts";

/** The file's JSON, with integers beyond JavaScript's precision as raw text. */
export type Raw = Record<string, unknown>;

export interface AccessState {
  policy: Policy;
  knocks: Knock[];
}

/** Name of the list of groups. */
export const groupsKey = (channel: FileChannel) =>
  channel === "botchat" ? ("groupAllowlist" as const) : ("guildAllowlist" as const);

/** An id as text: people often write ids as numbers, and those of guilds are too large for a JavaScript number. */
function idText(value: unknown): unknown {
  if (typeof value === "number" && Number.isSafeInteger(value)) return String(value);
  const raw =
    typeof value === "object" && value !== null ? (value as { rawJSON?: unknown }).rawJSON : undefined;
  return typeof raw === "string" ? raw : value;
}
const id = z.preprocess(idText, z.string());
const ids = z.array(id);
/** The older policy `pairing` is `allowlist` with `pairing: true`. */
const rule = z.enum(["open", "allowlist", "disabled", "pairing"]).default("allowlist");
const file = z.looseObject({
  dmPolicy: rule,
  pairing: z.boolean().default(true),
  allowFrom: ids.default([]),
  groupPolicy: rule,
  groupAllowlist: ids.default([]),
  guildAllowlist: ids.default([]),
  requireMention: z.boolean().default(true),
  groups: z
    .record(z.string(), z.looseObject({ allowFrom: ids.optional(), requireMention: z.boolean().optional() }))
    .default({}),
  pending: z.record(z.string(), z.unknown()).default({}),
});

const CODE = /^[A-Za-z0-9]{1,32}$/;
/** Ids of senders become file names. */
export const SENDER_ID = /^\d{1,32}$/;
const entry = z.object({
  senderId: id,
  chatId: id.optional(),
  channelId: id.optional(),
  guildId: id.nullish(),
  senderName: z.string().optional(),
  createdAt: z.number().default(0),
  expiresAt: z.number(),
  kind: z.enum(["dm", "group", "guild"]).default("dm"),
  replies: z.number().default(0),
});

/** A pending knock; null for anything else, which no one can approve. */
function readKnock(code: string, value: unknown): Knock | null {
  const parsed = entry.safeParse(value);
  if (!CODE.test(code) || !parsed.success) return null;
  const { senderId, chatId, channelId, guildId, senderName, createdAt, expiresAt, replies } = parsed.data;
  const direct = parsed.data.kind === "dm";
  const chat = channelId ?? chatId ?? senderId;
  const asked = direct ? senderId : (guildId ?? chatId);
  if (asked === undefined || (direct && !SENDER_ID.test(senderId))) return null;
  return {
    kind: direct ? "dm" : "group",
    id: asked,
    senderId,
    chatId: chat,
    name: senderName,
    firstSeen: createdAt,
    lastSeen: createdAt,
    count: 1,
    code,
    expiresAt,
    replies,
  };
}

/** A pending knock as stored in the file. */
function writeKnock(channel: FileChannel, knock: Knock): Raw {
  const { kind, id: asked, senderId, chatId, name, firstSeen, expiresAt, replies } = knock;
  const direct = kind === "dm";
  return {
    senderId,
    ...(channel === "botchat" ? { chatId: direct ? chatId : asked } : { channelId: chatId }),
    createdAt: firstSeen,
    expiresAt,
    kind: direct ? "dm" : channel === "botchat" ? "group" : "guild",
    ...(channel === "guildchat" && { guildId: direct ? null : asked }),
    replies,
    ...(name !== undefined && { senderName: name }),
  };
}

/** Writes the pending knocks into the file's JSON; other fields of their entries stay. */
export function writeKnocks(raw: Raw, channel: FileChannel, knocks: readonly Knock[]): void {
  const before = (raw.pending ?? {}) as Raw;
  raw.pending = Object.fromEntries(
    knocks.map((knock) => [knock.code, { ...(before[knock.code!] as Raw), ...writeKnock(channel, knock) }]),
  );
}

/** Adds an id to a list in the file's JSON, if it is not there yet. */
export function addId(raw: Raw, key: string, added: string): void {
  const list = (raw[key] ?? []) as unknown[];
  if (!list.some((value) => idText(value) === added)) raw[key] = [...list, added];
}

export function removeId(raw: Raw, key: string, removed: string): void {
  const list = (raw[key] ?? []) as unknown[];
  if (list.some((value) => idText(value) === removed)) {
    raw[key] = list.filter((value) => idText(value) !== removed);
  }
}

/** The agent entry's settings for a channel, before there is an access file. */
export interface FirstPolicy {
  dmPolicy?: string | undefined;
  dmAllowlist?: readonly string[];
  pairing?: boolean | undefined;
  groupPolicy?: string | undefined;
  groupAllowlist?: readonly string[];
  requireMention?: boolean | undefined;
}

/** Contents of a new file. */
export function freshRaw(channel: FileChannel, first: FirstPolicy = {}): Raw {
  const raw: Raw = {
    dmPolicy: first.dmPolicy ?? "allowlist",
    pairing: first.pairing ?? true,
    allowFrom: [...(first.dmAllowlist ?? [])],
    groupPolicy: first.groupPolicy ?? "allowlist",
    [groupsKey(channel)]: [...(first.groupAllowlist ?? [])],
    requireMention: first.requireMention ?? true,
    pending: {},
  };
  migrateRaw(raw);
  return raw;
}

/** Replaces the older spelling of the policies. */
export function migrateRaw(raw: Raw): void {
  if (raw.dmPolicy === "pairing") Object.assign(raw, { dmPolicy: "allowlist", pairing: true });
  if (raw.groupPolicy === "pairing") raw.groupPolicy = "allowlist";
}

/** Interprets the file's JSON; undefined when it is not a valid access file. */
export function readState(raw: Raw, channel: FileChannel): AccessState | undefined {
  const parsed = file.safeParse(raw);
  if (!parsed.success) return undefined;
  const { dmPolicy, groupPolicy, pairing, allowFrom, requireMention, groups, pending } = parsed.data;
  const restrictions = Object.entries(groups).map(([group, value]): [string, Restriction] => [
    group,
    {
      allowFrom: value.allowFrom && canonicalSet(channel, value.allowFrom),
      requireMention: value.requireMention,
    },
  ]);
  return {
    policy: {
      dmPolicy: dmPolicy === "pairing" ? "allowlist" : dmPolicy,
      dmAllowlist: canonicalSet(channel, allowFrom),
      groupPolicy: groupPolicy === "pairing" ? "allowlist" : groupPolicy,
      groupAllowlist: canonicalSet(channel, parsed.data[groupsKey(channel)]),
      requireMention,
      pairing: pairing || dmPolicy === "pairing",
      restrictions: new Map(restrictions),
    },
    knocks: Object.entries(pending).flatMap(([code, value]) => readKnock(code, value) ?? []),
  };
}
