import type { Message } from "../api/types.ts";

/** A line that the page itself puts between the messages: a command's result, or an error. */
export interface Note {
  id: number;
  kind: "info" | "error";
  text: string;
  /** `ts` of the last message when it was written: it stays behind that one. */
  afterTs: number;
}

export type Item = { type: "message"; message: Message } | { type: "note"; note: Note };

/** Names a message across reloads. */
export const keyOf = (message: Message): string =>
  message.id === undefined ? `${message.ts}-${message.role}-${message.sessionId}` : String(message.id);

/** Messages known so far with a newer page (oldest first) over them: the page replaces all from its first one on. */
export function withNewest(known: readonly Message[], page: readonly Message[]): readonly Message[] {
  const [first] = page;
  if (!first) return [];
  const start = known.findIndex((message) => keyOf(message) === keyOf(first));
  if (start >= 0) return [...known.slice(0, start), ...page];
  return [...known.filter((message) => message.ts < first.ts), ...page];
}

/** Messages and notes in the order of reading. */
export function itemsOf(messages: readonly Message[], notes: readonly Note[]): Item[] {
  const items: Item[] = [];
  let next = 0;
  const notesBefore = (ts: number) => {
    for (; next < notes.length && (notes[next] as Note).afterTs < ts; next++) {
      items.push({ type: "note", note: notes[next] as Note });
    }
  };
  for (const message of messages) {
    notesBefore(message.ts);
    items.push({ type: "message", message });
  }
  notesBefore(Number.POSITIVE_INFINITY);
  return items;
}
