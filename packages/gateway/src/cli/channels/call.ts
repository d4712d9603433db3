import { CHANNEL_NAMES } from "@agent-gateway/contract";
import type { Connection } from "../connection.ts";
import { UsageError } from "../errors.ts";
import type { Parsed } from "../flags.ts";

export type Channel = (typeof CHANNEL_NAMES)[number];

/** Context for this noun's commands. */
export interface ChannelsCall {
  connection: Connection;
  parsed: Parsed;
  /** Positional arguments. */
  words: readonly (string | undefined)[];
  json: boolean;
}
/** @throws UsageError when the argument is missing */
export function needed(word: string | undefined, what: string): string {
  if (word === undefined) throw new UsageError(`Missing: ${what}.`);
  return word;
}

/** @throws UsageError for a word that names no channel */
export function channelNamed(word: string): Channel {
  const found = CHANNEL_NAMES.find((name) => name === word);
  if (!found) throw new UsageError(`channel must be one of ${CHANNEL_NAMES.join(", ")}.`);
  return found;
}
