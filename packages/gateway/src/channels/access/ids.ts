import type { ChannelName, InboundMessage } from "../types.ts";

/** `user_agent:device@server`; the older `c.us` is the same server as `s.whatsapp.net`. */
const JID = /^([^@:_]+)(?:_\d+)?(?::\d+)?@(.+)$/;

function canonicalJid(id: string): string {
  const number = /^\+?(\d+)$/.exec(id);
  if (number) return `${number[1]}@s.whatsapp.net`;
  const jid = JID.exec(id);
  if (!jid) return id;
  return `${jid[1]}@${jid[2] === "c.us" ? "s.whatsapp.net" : jid[2]}`;
}

/**
 * The form in which a channel's ids are compared and kept. That is the id itself, except for WhatsApp: a number may be
 * written with or without `+`, and linked devices add a suffix to the user's JID.
 */
export function canonicalId(channel: ChannelName, id: string): string {
  if (channel === "devicechat") return canonicalJid(id);
  return channel === "cloudchat" && /^\+\d+$/.test(id) ? id.slice(1) : id;
}

export const canonicalSet = (channel: ChannelName, ids: Iterable<string>): ReadonlySet<string> =>
  new Set(Array.from(ids, (id) => canonicalId(channel, id)));

/** Ids under which the sender of a direct message, or else the group, may be on a list; the first is its own. */
export function idsOf(channel: ChannelName, message: InboundMessage): string[] {
  const { kind, groupId, senderId, senderAliases = [] } = message;
  const ids = kind === "dm" ? [senderId, ...senderAliases] : groupId === undefined ? [] : [groupId];
  return ids.map((id) => canonicalId(channel, id));
}
