import { useSignal } from "@preact/signals";
import type { TargetedEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Message } from "../../components/Message.tsx";
import {
  hasOlder,
  items,
  live,
  loading,
  loadOlder,
  messages,
  pending,
  usages,
} from "../../state/conversation.ts";
import { keyOf } from "../../state/message-list.ts";
import { attempt } from "../../state/notices.ts";
import { agentName, type Place } from "../../state/place.ts";
import { send } from "../../state/send.ts";
import { LiveAnswer } from "./LiveAnswer.tsx";
import { NoteLine } from "./NoteLine.tsx";

/** Within this distance of the end, in CSS pixels, the list follows new messages. */
const NEAR_END = 80;

export function MessageList({ here }: { here: Place }) {
  const list = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const atEnd = useSignal(true);
  const name = agentName(here.agentId);

  const toEnd = () => list.current?.scrollTo({ top: list.current.scrollHeight });
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => atEnd.peek() && toEnd());
    observer.observe(content.current as Element);
    observer.observe(list.current as Element);
    return () => observer.disconnect();
  }, []);

  // Whoever sends a message wants to see the reply.
  const sending = pending.value !== undefined;
  useLayoutEffect(() => {
    if (!sending) return;
    atEnd.value = true;
    toEnd();
  }, [sending]);

  const earlier = async () => {
    const element = list.current as HTMLElement;
    const fromEnd = element.scrollHeight - element.scrollTop;
    atEnd.value = false;
    await attempt(loadOlder);
    requestAnimationFrame(() => element.scrollTo({ top: element.scrollHeight - fromEnd }));
  };
  const onScroll = ({ currentTarget: element }: TargetedEvent<HTMLElement>) => {
    atEnd.value = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
  };

  const last = messages.value.at(-1);
  const waiting = pending.value;
  const empty = items.value.length === 0 && !waiting && !live.value;
  return (
    <div class="messages-frame">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the list must be scrollable by keyboard. */}
      <section ref={list} class="messages" aria-label="Messages" tabIndex={0} onScroll={onScroll}>
        <div ref={content} class="messages-content">
          {hasOlder.value && (
            <button type="button" class="button earlier" onClick={earlier}>
              Show earlier messages
            </button>
          )}
          {empty && (loading.value ? <p class="empty">Loading messages…</p> : <Welcome name={name} />)}
          {items.value.map((item) =>
            item.type === "note" ? (
              <NoteLine key={`note-${item.note.id}`} note={item.note} />
            ) : (
              <Message
                key={keyOf(item.message)}
                agentId={here.agentId}
                author={item.message.role === "user" ? (item.message.senderName ?? "You") : name}
                message={item.message}
                used={usages.value.get(keyOf(item.message))}
              >
                {item.message === last && <TryAgain here={here} />}
              </Message>
            ),
          )}
          {waiting && (
            <Message
              agentId={here.agentId}
              author="You"
              message={{ role: "user", content: waiting.text, mediaFiles: [...waiting.mediaFiles] }}
            />
          )}
          {live.value ? (
            <LiveAnswer author={name} turn={live.value} />
          ) : (
            waiting && <p class="status-line">Sending…</p>
          )}
        </div>
      </section>
      {!atEnd.value && (
        <button type="button" class="button to-end" onClick={toEnd}>
          Newest messages
        </button>
      )}
    </div>
  );
}

/** Sends the question of the failed turn once more. */
function TryAgain({ here }: { here: Place }) {
  const question = messages.value.findLast(({ role }) => role === "user");
  if (!question) return null;
  const busy = live.value !== undefined || pending.value !== undefined;
  return (
    <button
      type="button"
      class="button"
      disabled={busy}
      onClick={() => attempt(() => send(here, question.content, question.mediaFiles ?? []))}
    >
      Try again
    </button>
  );
}

function Welcome({ name }: { name: string }) {
  return (
    <div class="empty welcome">
      <p class="welcome-title">Talk to {name}</p>
      <p>Write a message below. Type / for commands, and attach, drop or paste images and PDFs.</p>
    </div>
  );
}
