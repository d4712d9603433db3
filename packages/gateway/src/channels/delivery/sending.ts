import { randomUUID } from "node:crypto";
import type { NewOutboxRow } from "../../store/index.ts";
import type { ChannelPlace, Content, Target } from "../types.ts";

/** Destination as stored in the row. */
export interface StoredTarget extends Target {
  /** True if this text replaces the progress message of the same turn, if any. */
  replaces?: true;
  /** File of a handshake that is complete when this is sent. */
  handshake?: string;
}

/** Messages to send, in order. */
export interface Sending {
  place: ChannelPlace;
  chatId: string;
  /** Row of the message that is answered; null if it answers none. */
  inbox: number | null;
  /** The run of a scheduled job whose reply it is. */
  run?: number | undefined;
  purpose: NewOutboxRow["purpose"];
  target: StoredTarget;
  contents: readonly Content[];
  /** Default: a new UUID for each. */
  key?: string;
}

/** A row for each message. */
export const rowsOf = ({ target, contents, key, ...rest }: Sending): NewOutboxRow[] =>
  contents.map((content, index) => {
    // Only the first replaces another message, and only the last completes a handshake.
    const { replaces, handshake, ...where } = target;
    const own = {
      ...where,
      ...(index === 0 ? replaces && { replaces } : { part: index }),
      ...(index === contents.length - 1 && handshake !== undefined && { handshake }),
    };
    return {
      ...rest,
      key: key ?? randomUUID(),
      target: JSON.stringify(own),
      content: JSON.stringify(content),
    };
  });
