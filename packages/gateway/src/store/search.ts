import type { MessageScope, SearchEntry, StoredMessage } from "./sql/index.ts";
import type { Statement } from "./statement.ts";

/** A literal text to find in one chat, in any script, ignoring case. */
export interface SearchQuery extends MessageScope {
  /** Not empty. */
  q: string;
  limit: number;
  offset: number;
}

export interface SearchResult {
  /** The newest first. */
  messages: StoredMessage[];
  /** Exact, however many there are. */
  total: number;
}

/**
 * Finds messages by their text. Each driver has an index of its own; what is found is the same: a message is found from
 * the moment it is stored until it is removed, wherever the folded query is part of its folded text.
 */
export interface Search {
  /** Rejects with the signal's reason once it is aborted, and gives up the work. */
  find(query: SearchQuery, signal: AbortSignal): Promise<SearchResult>;
  /** What has to be part of the unit that stores a message. */
  entry(message: SearchEntry): readonly Statement[];
}
