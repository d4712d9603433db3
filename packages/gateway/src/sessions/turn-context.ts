import { withoutChannelMessages } from "../lib/xml.ts";
import type { HistoryEntry } from "../runtimes/index.ts";
import type { RuntimeState, SessionRow, SessionStore } from "./store.ts";

/** The agent program's own session, if it contains exactly the messages in the store. */
export function resumeState(
  store: SessionStore,
  session: SessionRow | undefined,
  limit: number,
): RuntimeState | undefined {
  if (!session?.runtime_state || limit === 0) return undefined;
  const state = JSON.parse(session.runtime_state) as RuntimeState;
  return state.upto === store.lastMessageId(session.id) ? state : undefined;
}

/** The conversation as given to a new process: the messages up to `uptoId`, after the latest summary. */
export function historyOf(
  store: SessionStore,
  session: SessionRow | undefined,
  limit: number,
  uptoId: number,
): HistoryEntry[] {
  if (!session || limit === 0) return [];
  const recent = store
    .recent(session.id, limit, session.summary_upto, uptoId)
    .map((entry) => ({ ...entry, text: withoutChannelMessages(entry.text) }));
  if (session.summary === null) return recent;
  return [
    { role: "user" as const, text: `Summary of our conversation so far:\n${session.summary}` },
    { role: "assistant" as const, text: "Understood." },
    ...recent,
  ];
}
