import type { Message as Record } from "../api/types.ts";
import { fullTime, shortTime } from "./format.ts";
import { MediaStrip, mediaOf } from "./MediaStrip.tsx";
import { Markdown } from "./markdown/Markdown.tsx";

/** One message; what the user wrote is shown as written, what the agent wrote is formatted. */
export function Message({
  agentId,
  author,
  message,
}: {
  agentId: string;
  author: string;
  message: Pick<Record, "role" | "content" | "interrupted" | "attachments" | "mediaFiles"> & { ts?: number };
}) {
  const { role, content, ts, interrupted } = message;
  return (
    <article class={`message ${role}`}>
      <header class="message-header">
        <span class="author">{author}</span>
        {ts !== undefined && (
          <time dateTime={new Date(ts).toISOString()} title={fullTime(ts)}>
            {shortTime(ts)}
          </time>
        )}
      </header>
      {content !== "" &&
        (role === "user" ? <p class="plain-text">{content}</p> : <Markdown text={content} />)}
      <MediaStrip media={mediaOf(agentId, message)} />
      {interrupted && <p class="status-line">Stopped before its end.</p>}
    </article>
  );
}
