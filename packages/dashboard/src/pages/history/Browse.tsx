import { useLayoutEffect, useRef } from "preact/hooks";
import { Message } from "../../components/Message.tsx";
import { hashOf } from "../../state/address.ts";
import {
  type HistoryPlace,
  hasEarlier,
  hasLater,
  showEarlier,
  showLater,
  shown,
} from "../../state/history.ts";
import { keyOf } from "../../state/message-list.ts";
import { attempt } from "../../state/notices.ts";
import { agentName } from "../../state/place.ts";
import { PutIn } from "./PutIn.tsx";

/** Messages of a chat, oldest first, with more in either direction. */
export function Browse({ place, onBack }: { place: HistoryPlace; onBack?: () => void }) {
  const list = shown.value;
  const root = useRef<HTMLElement>(null);
  const loaded = list !== undefined;
  // The newest, or the match that was opened, is the last one.
  useLayoutEffect(() => root.current?.scrollIntoView({ block: "end" }), [loaded]);
  if (!list) return <p class="empty">Loading messages…</p>;
  return (
    <section ref={root} aria-label="Messages" class="browse">
      {onBack && (
        <button type="button" class="button" onClick={onBack}>
          Back to the matches
        </button>
      )}
      {hasEarlier.value && (
        <button type="button" class="button earlier" onClick={() => attempt(() => showEarlier(place))}>
          Show earlier messages
        </button>
      )}
      {list.map((message, index) => (
        <div key={keyOf(message)}>
          {message.sessionId !== list[index - 1]?.sessionId && (
            <SessionMark place={place} sessionId={message.sessionId} />
          )}
          <Message
            agentId={place.agentId}
            author={message.role === "user" ? (message.senderName ?? "User") : agentName(place.agentId)}
            message={message}
          />
        </div>
      ))}
      {hasLater.value && (
        <button type="button" class="button earlier" onClick={() => attempt(() => showLater(place))}>
          Show later messages
        </button>
      )}
      {!place.chatId.startsWith("api-") && !hasLater.value && list.length > 0 && <PutIn place={place} />}
    </section>
  );
}

/** Where another session begins; one of an API chat can be gone on with. */
function SessionMark({ place, sessionId }: { place: HistoryPlace; sessionId: string }) {
  const { agentId, chatId } = place;
  const own = chatId.startsWith("api-");
  return (
    <p class="session-mark">
      <span>Session {sessionId.slice(0, 8)}</span>
      {own && (
        <a href={hashOf({ view: "chat", agentId, chatId: chatId.slice("api-".length), sessionId })}>
          Open in chat
        </a>
      )}
    </p>
  );
}
