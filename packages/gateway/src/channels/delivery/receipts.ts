import type { Clock } from "../../lib/clock.ts";
import type { Store } from "../../store/index.ts";
import type { ChannelPlace, Receipt } from "../types.ts";
import { type FeedPort, tellDelivery } from "./tell.ts";

export interface ReceiptDeps {
  store: Pick<Store, "outbox" | "commit">;
  feed: FeedPort;
  clock: Clock;
}

/**
 * Takes what a provider reports later about a message: that it could not deliver it, or that it has one whose outcome
 * was uncertain.
 */
export const createReceipts =
  ({ store, feed, clock }: ReceiptDeps) =>
  async (place: ChannelPlace, receipt: Receipt): Promise<void> => {
    const { outbox } = store;
    const { messageId, key, state, reason = "The provider could not deliver the message." } = receipt;
    const now = clock.now();
    const uncertain = key === undefined ? [] : await outbox.uncertain(place, key);
    if (state !== "failed") {
      if (uncertain.length > 0) await store.commit(outbox.arrived(place, key!, messageId, now));
      return;
    }
    const accepted = await outbox.accepted(place, messageId);
    await store.commit(
      ...accepted.map((row) => tellDelivery(feed, "failed", row, ["sent"])),
      ...uncertain.map((row) => tellDelivery(feed, "failed", row, ["unknown"])),
      outbox.bounced(place, messageId, reason),
      ...(uncertain.length > 0 ? [outbox.refused(place, key!, messageId, now, reason)] : []),
    );
  };
