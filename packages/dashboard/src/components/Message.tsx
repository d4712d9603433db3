import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Message as Record } from "../api/types.ts";
import { stepsOf } from "../state/steps.ts";
import { fullTime, shortTime } from "./format.ts";
import { MediaStrip, mediaOf } from "./MediaStrip.tsx";
import { Steps } from "./Steps.tsx";

type Shown = Pick<
  Record,
  "role" | "content" | "interrupted" | "attachments" | "mediaFiles" | "error" | "steps"
> & { ts?: number };

/** One message: the user's text as written, the agent's text formatted. */
export function Message({
  agentId,
  author,
  message,
  children,
}: {
  agentId: string;
  author: string;
  message: Shown;
  /** What can be done about an error, shown below it. */
  children?: ComponentChildren;
}) {
  const { role, content, ts, interrupted, error } = message;
  const steps = useMemo(() => stepsOf(message), [message.content, message.steps]);
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
      {role === "user" ? content !== "" && <p class="plain-text">{content}</p> : <Steps steps={steps} />}
      <MediaStrip media={mediaOf(agentId, message)} />
      {error ? (
        <div class="turn-error">
          <p>{error.message}</p>
          {children}
        </div>
      ) : (
        interrupted && <p class="status-line">Stopped before it was finished.</p>
      )}
    </article>
  );
}
