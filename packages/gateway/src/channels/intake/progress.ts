import type { InboxRow } from "../../store/index.ts";
import type { ChannelAdapter, ChannelPlace, Target } from "../types.ts";
import type { IntakeDeps } from "./ports.ts";

/** Providers allow about one change per second in a chat; people read more slowly. */
const EVERY_MS = 4_000;
/** Below the smallest limit of any provider. */
const MAX_CHARS = 1_500;

/**
 * Shows the progress of one turn: a message sent through the outbox like any other and changed as the text grows; the
 * reply replaces it. The returned function ends it.
 */
export function showProgress(
  { clock, delivery, log, split }: Pick<IntakeDeps, "clock" | "delivery" | "log" | "split">,
  where: {
    place: ChannelPlace;
    row: InboxRow;
    target: Target;
    adapter: ChannelAdapter | undefined;
    /** Age of the turn at which progress starts to show; 0 for never. */
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
          .catch((error) => log.warn({ err: error }, "could not store a progress message"));
      }
    }
    cancel = clock.after(Math.min(EVERY_MS, afterMs), show);
  }
  return () => cancel();
}
