import { MediaStrip, sharedMedia } from "../../components/MediaStrip.tsx";
import { Markdown } from "../../components/markdown/Markdown.tsx";
import type { LiveTurn, ToolUse } from "../../state/live-turn.ts";

const TOOL_STATE: Record<ToolUse["state"], string> = { running: "running", done: "done", failed: "failed" };

/** The agent's answer while it comes. Screen readers get it as a whole once it is complete. */
export function LiveAnswer({ author, turn }: { author: string; turn: LiveTurn }) {
  return (
    <article class="message assistant live" aria-busy="true">
      <header class="message-header">
        <span class="author">{author}</span>
      </header>
      {turn.tools.length > 0 && (
        <ul class="tools" aria-label="Tools in use">
          {turn.tools.map(({ id, name, state }) => (
            <li key={id} class={`tool ${state}`}>
              <span>{name}</span> <span class="tool-state">{TOOL_STATE[state]}</span>
            </li>
          ))}
        </ul>
      )}
      {turn.text !== "" && <Markdown text={turn.text} />}
      <MediaStrip media={sharedMedia(turn.attachments)} />
      {!turn.end && <p class="status-line working">{activity(turn)}</p>}
    </article>
  );
}

function activity(turn: LiveTurn): string {
  if (turn.reconnecting) return "The connection broke; reconnecting…";
  if (turn.slow) return "Still working. This takes longer than usual; you may leave and come back.";
  if (turn.thinking) return "Thinking…";
  if (turn.tools.some(({ state }) => state === "running")) return "Using a tool…";
  return turn.text === "" ? "Waiting for the answer…" : "Writing…";
}
