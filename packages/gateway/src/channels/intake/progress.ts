import type { ChannelAdapter, ChannelPlace, Target } from "../types.ts";
import type { IntakeDeps } from "./ports.ts";
import type { InboxRow } from "./store.ts";

/** Providers allow about one change a second in a chat; people read slower. */
const EVERY_MS = 4_000;
/** Less than the smallest limit of a provider. */
const MAX_CHARS = 1_500;

/**
 * Shows the progress of one turn: a message sent through the outbox like any other, changed as the text grows; the
 * reply takes its place. The result ends it.
 */
export function showProgress(
  { clock, delivery, log, split }: Pick<IntakeDeps, "clock" | "delivery" | "log" | "split">,
  where: {
    place: ChannelPlace;
    row: InboxRow;
    target: Target;
    adapter: ChannelAdapter | undefined;
    /** The turn's age at which it begins; 0 for never. */
    afterMs: number;
  },
  text: () => string,
): () => void {
  const { place, row, target, afterMs } = where;
  if (!where.adapter?.edit || afterMs === 0) return () => {};
  let shown = "";
  let cancel = clock.after(afterMs, show);

  function show() {
    const now = split(place.channel, text().trim().slice(0, MAX_CHARS))[0] ?? "";
    if (now !== "" && now !== shown) {
      const first = shown === "";
      shown = now;
      if (!first) delivery.changeProgress(place, row.chat_id, row.id, `${now} …`);
      else {
        delivery
          .progress({ place, chatId: row.chat_id, inbox: row.id, target }, `${now} …`)
          .catch((error) => log.warn({ err: error }, "a progress message could not be stored"));
      }
    }
    cancel = clock.after(Math.min(EVERY_MS, afterMs), show);
  }
  return () => cancel();
}
