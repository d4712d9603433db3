import type { ChannelState } from "./schemas/channel-health.ts";

/** A pending pairing request, in the same form for all channels. */
export interface Waiting {
  channel: ChannelState["channel"];
  /** `devicechat` only. */
  account?: string;
  kind: "user" | "group";
  /** Id of the sender, group, guild or room that asks. */
  id: string;
  /** Id that dismisses it. */
  senderId: string;
  name: string | null;
  /** Absent if pairing is off. */
  code: string | null;
  /** Unix ms. */
  since: number;
}

/** An entry as the channels' routes have it, in either of their forms. */
interface Entry {
  kind: string;
  code?: string | undefined;
  senderId?: string;
  senderName?: string | undefined;
  chatId?: string;
  guildId?: string | null;
  createdAt?: number;
  userId?: string;
  displayName?: string | undefined;
  firstSeen?: number;
}

/** Reads the reply of a channel's `pending` route. */
export function waitingOf(
  channel: Waiting["channel"],
  reply: { pending: readonly Entry[] } | { senders: readonly Entry[] },
  account?: string,
): Waiting[] {
  const entries = "pending" in reply ? reply.pending : reply.senders;
  return entries.map((entry) => {
    const direct = entry.kind === "dm" || entry.kind === "user";
    const group = entry.guildId ?? entry.chatId;
    const senderId = entry.userId ?? entry.senderId ?? "";
    return {
      channel,
      ...(account !== undefined && { account }),
      kind: direct ? "user" : "group",
      id: entry.userId ?? (direct ? senderId : (group ?? "")),
      senderId,
      name: entry.displayName ?? entry.senderName ?? null,
      code: entry.code ?? null,
      since: entry.firstSeen ?? entry.createdAt ?? 0,
    };
  });
}
