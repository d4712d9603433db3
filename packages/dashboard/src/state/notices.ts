import { signal } from "@preact/signals";
import { sentence } from "../api/client.ts";

export interface Notice {
  id: number;
  kind: "error" | "info";
  text: string;
}

/** Sentences that stand above the page until they are dismissed, the latest last. */
export const notices = signal<readonly Notice[]>([]);
/** The next text for screen readers; the page shows the same elsewhere. */
export const announcement = signal("");

const MAX_SHOWN = 4;
/** A remark disappears on its own; an error stays until dismissed. */
const INFO_MS = 8000;
const MAX_SAID = 4000;
let counter = 0;

export function notify(text: string, kind: Notice["kind"] = "info"): void {
  const others = notices.value.filter((notice) => notice.text !== text);
  const id = ++counter;
  notices.value = [...others, { id, kind, text }].slice(-MAX_SHOWN);
  if (kind === "info") setTimeout(dismiss, INFO_MS, id);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

/** Shows an error; a cancelled request shows nothing. */
export function report(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  notify(sentence(error), "error");
}

/** Says a text, without its marks of Markdown; of a long one the beginning. */
export function announce(text: string): void {
  announcement.value = text.slice(0, MAX_SAID).replace(/[*`#|]+/g, "");
}

/** Runs a user's action; a failure becomes a notice. True on success. */
export async function attempt(action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    report(error);
    return false;
  }
}
