import { escapeText, withoutChannelMessages } from "../lib/xml.ts";
import type { HistoryEntry } from "../runtimes/index.ts";
import type { NewMessage, RuntimeState, SessionRow, Store } from "../store/index.ts";

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

/** A history that its caller tells, as the first messages of the new session that begins with it. */
export const firstMessages = (
  { ids }: Pick<Store, "ids">,
  { uuid, history, now }: { uuid: string; history: readonly HistoryEntry[]; now: number },
): NewMessage[] =>
  history.map(({ role, text }) => ({
    id: ids.message(),
    session: uuid,
    role,
    content: text,
    ts: now,
    extra: {},
  }));

/** A message with what else the agent should know of it. */
export function withNotes(message: {
  text: string;
  senderName?: string | undefined;
  imageParams?: object | undefined;
  videoParams?: object | undefined;
}): string {
  const { text, senderName, imageParams, videoParams } = message;
  const notes: string[] = [];
  if (senderName) notes.push(`<sender_name>${escapeText(senderName)}</sender_name>`);
  if (imageParams) notes.push(`<image_params>${escapeText(JSON.stringify(imageParams))}</image_params>`);
  if (videoParams) notes.push(`<video_params>${escapeText(JSON.stringify(videoParams))}</video_params>`);
  return notes.length > 0 ? `${notes.join("\n")}\n${text}` : text;
}
