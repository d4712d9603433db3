import type { ChannelName, Decision, InboundMessage } from "../types.ts";
import { canonicalId, idsOf } from "./ids.ts";

export type Rule = "open" | "allowlist" | "disabled";

/** Who may write. Lists hold canonical ids; an empty list admits no one. */
export interface Policy {
  dmPolicy: Rule;
  dmAllowlist: ReadonlySet<string>;
  groupPolicy: Rule;
  groupAllowlist: ReadonlySet<string>;
  /** In groups, only messages that mention the bot. */
  requireMention: boolean;
  /** Unknown senders get a code. */
  pairing: boolean;
  /** Older settings for individual groups, by group id. */
  restrictions: ReadonlyMap<string, Restriction>;
}

/** Further restrictions for one group. */
export interface Restriction {
  /** Only these senders. */
  allowFrom: ReadonlySet<string> | undefined;
  requireMention: boolean | undefined;
}

/** Channels that keep their access lists in the workspace, with codes as keys. */
export const FILE_CHANNELS = ["botchat", "guildchat"] as const;
export type FileChannel = (typeof FILE_CHANNELS)[number];
export type SenderChannel = Exclude<ChannelName, FileChannel>;

export const isFileChannel = (channel: ChannelName): channel is FileChannel =>
  (FILE_CHANNELS as readonly ChannelName[]).includes(channel);

/** Decides what happens to a message; pure. */
export function judge(channel: ChannelName, policy: Policy, message: InboundMessage): Decision {
  const direct = message.kind === "dm";
  const ids = idsOf(channel, message);
  const restriction = direct ? undefined : policy.restrictions.get(ids[0] ?? "");
  if (!direct) {
    if (channel === "cloudchat" || ids.length === 0) return "ignore";
    if ((restriction?.requireMention ?? policy.requireMention) && !message.mentioned) return "ignore";
  }
  const rule = direct ? policy.dmPolicy : policy.groupPolicy;
  if (rule === "disabled") return "ignore";
  const list = direct ? policy.dmAllowlist : policy.groupAllowlist;
  if (rule === "open" || ids.some((id) => list.has(id))) {
    return senderFits(channel, restriction, message) ? "allow" : "ignore";
  }
  return policy.pairing || !isFileChannel(channel) ? "knock" : "ignore";
}

function senderFits(
  channel: ChannelName,
  restriction: Restriction | undefined,
  message: InboundMessage,
): boolean {
  const senders = restriction?.allowFrom;
  return senders === undefined || senders.has(canonicalId(channel, message.senderId));
}
