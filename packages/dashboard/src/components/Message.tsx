import type { Usage } from "@agent-gateway/contract";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Message as Record } from "../api/types.ts";
import { stepsOf } from "../state/steps.ts";
import { formatNumber, fullTime, shortTime } from "./format.ts";
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
  used,
  children,
}: {
  agentId: string;
  author: string;
  message: Shown;
  /** What the reply used, where it is known. */
  used?: Usage | undefined;
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
      {used && <p class="status-line">{usageLine(used)}</p>}
    </article>
  );
}

/** What a reply used, in a line: tokens that went in and came out. Costs are on the Usage page. */
function usageLine({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  estimated,
}: Usage): string {
  const read = formatNumber(inputTokens + cacheReadTokens + cacheWriteTokens);
  return `${estimated ? "About " : ""}${read} tokens read, ${formatNumber(outputTokens)} written`;
}
