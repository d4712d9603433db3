import { mintCode, sameCode } from "../../lib/short-code.ts";
import type { ChannelName, InboundMessage } from "../types.ts";
import { idsOf } from "./ids.ts";

/** A denied sender or group that waits for the owner's approval. */
export interface Knock {
  kind: InboundMessage["kind"];
  /** What would be allowed: the sender of a direct message, else the group. */
  id: string;
  senderId: string;
  chatId: string;
  name?: string | undefined;
  /** Unix ms. */
  firstSeen: number;
  lastSeen: number;
  /** Messages that were denied. */
  count: number;
  /** Present if pairing is on. */
  code?: string | undefined;
  /** When the code, and with it the knock, expires, Unix ms. */
  expiresAt?: number | undefined;
  /** How often the code was sent. */
  replies: number;
}

/** Limit on pending knocks, per kind (`sigchat`: in total). */
const MAX_WAITING = 5;
/** How long a code is valid. */
const CODE_TTL_MS = 3_600_000;
/** How often one code is sent at most. */
const MAX_REPLIES = 2;

/** Those that have not expired. */
export const waitingAt = (knocks: readonly Knock[], now: number): Knock[] =>
  knocks.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now);

export const withCode = (knocks: readonly Knock[], code: string): Knock | undefined =>
  knocks.find((knock) => knock.code !== undefined && sameCode(knock.code, code));

export interface Recorded {
  knocks: Knock[];
  /** The sender's own, also in `knocks`. */
  knock: Knock;
  /** True when the code is to be sent. */
  tell: boolean;
  /** False when nothing but `count`, `lastSeen` and the name changed. */
  important: boolean;
}

/** Adds a denied message to the pending knocks; pure except for the code. `taken` are codes that must not be reused. */
export function recordKnock(
  channel: ChannelName,
  before: readonly Knock[],
  message: InboundMessage,
  { now, pairing, taken }: { now: number; pairing: boolean; taken: ReadonlySet<string> },
): Recorded {
  const { kind, senderId, chatId, senderName } = message;
  const ids = idsOf(channel, message);
  const waiting = waitingAt(before, now);
  const known = waiting.find((knock) => knock.kind === kind && ids.includes(knock.id));
  const knock: Knock = known
    ? { ...known, lastSeen: now, count: known.count + 1 }
    : { kind, id: ids[0]!, senderId, chatId, firstSeen: now, lastSeen: now, count: 1, replies: 0 };
  // A message does not contain the group's name; the name of the latest sender helps to recognize it.
  if (senderName !== undefined) knock.name = senderName;
  if (pairing && knock.code === undefined) {
    Object.assign(knock, { code: mintCode(taken), expiresAt: now + CODE_TTL_MS });
  }
  const tell = pairing && knock.replies < MAX_REPLIES;
  if (tell) knock.replies += 1;
  const others = waiting.filter((other) => other !== known);
  return {
    knocks: known
      ? waiting.map((other) => (other === known ? knock : other))
      : [...makeRoom(channel, others, kind), knock],
    knock,
    tell,
    important: !known || tell,
  };
}

/** Removes the oldest until one more of this kind fits. */
function makeRoom(channel: ChannelName, knocks: readonly Knock[], kind: Knock["kind"]): Knock[] {
  const rivals = knocks
    .filter((knock) => channel === "sigchat" || knock.kind === kind)
    .sort((a, b) => a.lastSeen - b.lastSeen);
  const gone = new Set(rivals.slice(0, Math.max(0, rivals.length - MAX_WAITING + 1)));
  return knocks.filter((knock) => !gone.has(knock));
}
