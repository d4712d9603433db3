import type { ChannelAdapter, ChannelPlace, Target } from "../types.ts";
import type { IntakeDeps } from "./ports.ts";
import type { InboxRow } from "./store.ts";

/** A turn that takes longer shows what there is so far, where the provider lets a message be changed later. */
const FIRST_MS = 15_000;
const EVERY_MS = 4_000;
/** Less than the smallest limit of a provider, with room for markup. */
const MAX_CHARS = 1_500;

/**
 * Shows the progress of one turn: a message sent through the outbox like any other, changed as the text grows; the
 * reply takes its place. The result ends it.
 */
export function showProgress(
  { clock, delivery, log }: Pick<IntakeDeps, "clock" | "delivery" | "log">,
  where: { place: ChannelPlace; row: InboxRow; target: Target; adapter: ChannelAdapter | undefined },
  text: () => string,
): () => void {
  const { place, row, target } = where;
  if (!where.adapter?.edit) return () => {};
  let shown = "";
  let cancel = clock.after(FIRST_MS, show);

  function show() {
    const now = text().trim().slice(0, MAX_CHARS);
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
    cancel = clock.after(EVERY_MS, show);
  }
  return () => cancel();
}
