import { MediaStrip, sharedMedia } from "../../components/MediaStrip.tsx";
import { Steps } from "../../components/Steps.tsx";
import type { LiveTurn } from "../../state/live-turn.ts";

/** The agent's answer while it streams in. Screen readers get it as a whole once it is complete. */
export function LiveAnswer({ author, turn }: { author: string; turn: LiveTurn }) {
  return (
    <article class="message assistant live" aria-busy="true">
      <header class="message-header">
        <span class="author">{author}</span>
      </header>
      <Steps steps={turn.steps} />
      <MediaStrip media={sharedMedia(turn.attachments)} />
      {!turn.end && <p class="status-line working">{activity(turn)}</p>}
    </article>
  );
}

function activity({ reconnecting, retry, slow, steps }: LiveTurn): string {
  if (reconnecting) return "Connection lost; reconnecting…";
  if (retry) {
    const cause = retry.status === undefined ? retry.message : `HTTP ${retry.status}`;
    return `The model is not answering (${cause}); retry ${retry.attempt} of ${retry.of}.`;
  }
  if (slow) return "Still working. This is taking longer than usual; you can leave this page and come back.";
  if (steps.some((step) => step.type === "tool" && step.state === "running")) return "Using a tool…";
  switch (steps.at(-1)?.type) {
    case "thinking":
      return "Thinking…";
    case "text":
      return "Writing…";
    default:
      return steps.length === 0 ? "Waiting for an answer…" : "Working…";
  }
}
