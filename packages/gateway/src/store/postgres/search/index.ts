import type { Clock } from "../../../lib/clock.ts";
import type { Search } from "../../search.ts";
import type { Work } from "../work.ts";
import { entryStatement } from "./entry.ts";
import { find } from "./find.ts";

export { foldedBy, refold } from "./refold.ts";

/** So many new messages are sorted into the indexes together: each search reads through those that are not. */
const ENOUGH = 200;
const IDLE_MS = 200;
/** Units that were on their way the first time are stored by then. */
const LATER_MS = 5_000;
const TIDY = `SELECT gin_clean_pending_list('message_search_text'::regclass),
  gin_clean_pending_list('message_search_characters'::regclass)`;

/**
 * Search by trigrams and characters, in the database. What a unit adds to these indexes is only noted, and sorted into
 * them later, here or by the unit that finds too much of it.
 */
export function createSearch(work: Work, clock: Clock, closing: AbortSignal): Search {
  let added = 0;
  let cancel: (() => void) | undefined;
  closing.addEventListener("abort", () => cancel?.());

  const tidy = async () => {
    try {
      await work.read(TIDY, []);
    } catch {
      // The database does it by itself sooner or later.
    }
  };
  const tidyTwice = async () => {
    added = 0;
    await tidy();
    if (closing.aborted) return;
    cancel = clock.after(LATER_MS, () => {
      cancel = undefined;
      void tidy();
    });
  };

  return {
    entry(message) {
      added++;
      if (added >= ENOUGH && !closing.aborted) cancel ??= clock.after(IDLE_MS, () => void tidyTwice());
      return [entryStatement(message)];
    },
    async find(query, signal) {
      signal.throwIfAborted();
      return find((text, params) => work.read(text, params, signal), query);
    },
  };
}
