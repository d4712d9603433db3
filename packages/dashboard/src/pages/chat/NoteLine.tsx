import { Markdown } from "../../components/markdown/Markdown.tsx";
import type { Note } from "../../state/message-list.ts";

/** A line of the page's own in the conversation. */
export function NoteLine({ note }: { note: Note }) {
  return (
    <div class={`note ${note.kind}`}>
      <Markdown text={note.text} />
    </div>
  );
}
