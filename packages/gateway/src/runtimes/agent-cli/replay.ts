import { type Clock, sleep } from "../../lib/clock.ts";
import type { HistoryEntry } from "../types.ts";
import { historyLine } from "./input.ts";
import type { Fields } from "./protocol.ts";

/** The first line is taken when the program has started, which takes seconds when many do at once. */
const FIRST_TIMEOUT_MS = 15_000;
const TIMEOUT_MS = 3000;

/** A conversation begins with the user; a greeting does not. */
const OPENING: HistoryEntry = { role: "user", text: "(The conversation begins with the assistant.)" };

/**
 * Hands earlier messages to Claude Code one after another. It takes an assistant's line at once but queues a user's,
 * so the `result` of each user line must be awaited to keep the order (2.1.329: 9 ms each).
 * @param nextResult resolves at the next `result` line, or to false when the process is gone.
 * @returns the messages that were not taken.
 */
export async function replayHistory(
  history: readonly HistoryEntry[],
  send: (line: Fields) => void,
  nextResult: () => Promise<boolean>,
  clock: Clock,
): Promise<readonly HistoryEntry[]> {
  const entries = history[0]?.role === "assistant" ? [OPENING, ...history] : history;
  for (const [at, entry] of entries.entries()) {
    const result = entry.role === "user" ? nextResult() : Promise.resolve(true);
    send(historyLine(entry));
    const limit = sleep(clock, at === 0 ? FIRST_TIMEOUT_MS : TIMEOUT_MS).then(() => false);
    if (!(await Promise.race([result, limit]))) return entries.slice(at);
  }
  return [];
}
