import { withoutChannelMessages } from "../lib/xml.ts";
import type { HistoryEntry } from "../runtimes/index.ts";
import type { RuntimeState, SessionRow, Store } from "../store/index.ts";

/** The agent program's own session, if it contains exactly the messages in the store up to the id `upto`. */
export async function resumeState(
  { messages }: Pick<Store, "messages">,
  session: SessionRow | undefined,
  limit: number,
  upto: number,
): Promise<RuntimeState | undefined> {
  if (!session?.runtime_state || limit === 0) return undefined;
  const state = JSON.parse(session.runtime_state) as RuntimeState;
  return state.upto === (await messages.last(session.id, upto)) ? state : undefined;
}

/** The conversation as given to a new process: the messages up to the id `upto`, after the latest summary. */
export async function historyOf(
  { messages }: Pick<Store, "messages">,
  session: SessionRow | undefined,
  limit: number,
  upto: number,
): Promise<HistoryEntry[]> {
  if (!session || limit === 0) return [];
  const said = await messages.recent(session.id, limit, { after: session.summary_upto, upto });
  const recent = said.map((entry) => ({ ...entry, text: withoutChannelMessages(entry.text) }));
  if (session.summary === null) return recent;
  return [
    { role: "user" as const, text: `Summary of our conversation so far:\n${session.summary}` },
    { role: "assistant" as const, text: "Understood." },
    ...recent,
  ];
}
