import { useEffect, useRef } from "preact/hooks";
import type { Message } from "../../api/types.ts";
import { formatNumber, fullTime } from "../../components/format.ts";
import { found, type HistoryPlace, search } from "../../state/history.ts";
import { keyOf } from "../../state/message-list.ts";
import { report } from "../../state/notices.ts";
import { agentName } from "../../state/place.ts";
import { excerptOf } from "./excerpt.ts";

/** Matches of a search, the latest first. */
export function Found({
  place,
  query,
  onOpen,
}: {
  place: HistoryPlace;
  query: string;
  onOpen: (message: Message) => void;
}) {
  const control = useRef(new AbortController());
  useEffect(() => () => control.current.abort(), []);
  const result = found.value;
  if (!result) return <p class="empty">Searching…</p>;
  const { messages, total } = result;
  const more = () =>
    search(place, query, control.current.signal, true).catch(
      (error) => control.current.signal.aborted || report(error),
    );
  return (
    <section aria-label="Matches">
      <p class="total" role="status">
        {total === 0
          ? `No messages contain “${query}”.`
          : `${formatNumber(total)} ${total === 1 ? "message contains" : "messages contain"} “${query}”.`}
      </p>
      <ul class="matches">
        {messages.map((message) => (
          <li key={keyOf(message)}>
            <button type="button" class="match" onClick={() => onOpen(message)}>
              <span class="match-head">
                {message.role === "user" ? (message.senderName ?? "User") : agentName(place.agentId)}
                <time>{fullTime(message.ts)}</time>
              </span>
              <span class="match-text">
                {excerptOf(message.content, query).map((piece, index) =>
                  piece.hit ? <mark key={index}>{piece.text}</mark> : piece.text,
                )}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {messages.length < total && (
        <button type="button" class="button earlier" onClick={more}>
          Show more matches
        </button>
      )}
    </section>
  );
}
