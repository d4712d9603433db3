import type { InboxRow } from "../../store/index.ts";
import { placeOf } from "../place.ts";
import type { ChannelPlace, Content, InboundMessage } from "../types.ts";
import type { CommandText } from "./commands.ts";
import type { IntakeDeps } from "./ports.ts";
import { targetOf } from "./reply.ts";
import type { Taken } from "./turn.ts";

/** What the gateway itself says to a chat. */
export function createAnswers({ store, clock, delivery, split }: IntakeDeps) {
  const { inbox } = store;

  const contentsOf = (place: ChannelPlace, said: CommandText): Content[] => {
    const parts = split(place.channel, said.text);
    return parts.map((text, index) => {
      const { buttons, webApp } = (index === parts.length - 1 ? said : undefined) ?? {};
      return { kind: "text", text, ...(buttons && { buttons }), ...(webApp && { webApp }) };
    });
  };
  /** Says something more to the chat of a message that was answered. */
  const tellMore = async ({ row, message }: Taken, text: string): Promise<void> => {
    const place = placeOf(row);
    const target = targetOf(message, row.received_at);
    const contents = contentsOf(place, { text });
    const notice = {
      place,
      chatId: row.chat_id,
      // The row is settled, and answered.
      inbox: null,
      purpose: "notice",
      target,
      contents,
    } as const;
    await store.forAgent(row.agent_id).commit(delivery.add(notice));
    delivery.wake(place, row.chat_id);
  };

  /** Settles messages without a turn, with a reply from the gateway itself if there is one. */
  const finish = (
    rows: readonly InboxRow[],
    message: InboundMessage,
    said: CommandText | undefined,
    options: { state: "done" | "denied"; note?: string },
  ) => {
    const last = rows.at(-1)!;
    const place = placeOf(last);
    const contents = said ? contentsOf(place, said) : [];
    return store
      .forAgent(last.agent_id)
      .commit(
        delivery.add({
          place,
          chatId: last.chat_id,
          inbox: last.id,
          purpose: options.state === "denied" ? "knock" : "notice",
          target: targetOf(message, last.received_at),
          contents,
        }),
        inbox.settle(
          rows.map(({ id }) => id),
          options.state,
          clock.now(),
          options.note ?? null,
        ),
      )
      .then(() => delivery.wake(place, last.chat_id));
  };
  return { finish, tellMore };
}
