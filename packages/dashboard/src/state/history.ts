import { GatewayError } from "@agent-gateway/contract";
import { batch, signal } from "@preact/signals";
import { client } from "../api/client.ts";
import type { Chat, Message } from "../api/types.ts";

const PAGE = 50;
const FOUND_PAGE = 20;

export const chats = signal<readonly Chat[] | undefined>(undefined);
/** Messages on view, oldest first; undefined while they load. */
export const shown = signal<readonly Message[] | undefined>(undefined);
export const hasEarlier = signal(false);
export const hasLater = signal(false);
/** Matches of a search, the latest first; undefined while it runs. */
export const found = signal<{ messages: readonly Message[]; total: number } | undefined>(undefined);

export interface HistoryPlace {
  agentId: string;
  chatId: string;
}
interface Cursor {
  ts: number;
  id: number | null;
}
let earlier: Cursor | undefined;
let later: Cursor | undefined;

export async function loadChats(agentId: string, abort: AbortSignal): Promise<void> {
  chats.value = undefined;
  const reply = await client.call("listChats", { params: { agentId }, signal: abort });
  chats.value = reply.chats;
}

type Query = Record<string, string>;
const read = (place: HistoryPlace, query: Query, abort?: AbortSignal) =>
  client.call("listMessages", {
    params: { ...place },
    query: { limit: String(PAGE), include: "steps", ...query },
    signal: abort,
  });
const cursorOf = (reply: Awaited<ReturnType<typeof read>>): Cursor | undefined =>
  reply.hasMore && reply.nextCursor !== null ? { ts: reply.nextCursor, id: reply.nextCursorId } : undefined;

/** Shows the newest messages of a chat, or those up to `until` (its `ts`), which is then the last one. */
export async function browse(place: HistoryPlace, abort: AbortSignal, until?: Message): Promise<void> {
  shown.value = undefined;
  const reply = await read(place, until ? { before: String(until.ts + 1) } : {}, abort);
  abort.throwIfAborted();
  earlier = cursorOf(reply);
  const newest = reply.messages[0];
  later = until && newest ? { ts: newest.ts, id: newest.id ?? null } : undefined;
  batch(() => {
    shown.value = reply.messages.toReversed();
    hasEarlier.value = earlier !== undefined;
    hasLater.value = later !== undefined;
  });
}

export async function showEarlier(place: HistoryPlace): Promise<void> {
  if (!earlier) return;
  const { ts, id } = earlier;
  const reply = await read(place, { before: String(ts), ...(id !== null && { before_id: String(id) }) });
  earlier = cursorOf(reply);
  batch(() => {
    shown.value = [...reply.messages.toReversed(), ...(shown.value ?? [])];
    hasEarlier.value = earlier !== undefined;
  });
}

export async function showLater(place: HistoryPlace): Promise<void> {
  if (!later) return;
  const { ts, id } = later;
  const reply = await read(place, {
    order: "asc",
    after: String(ts),
    ...(id !== null && { after_id: String(id) }),
  });
  later = cursorOf(reply);
  batch(() => {
    shown.value = [...(shown.value ?? []), ...reply.messages];
    hasLater.value = later !== undefined;
  });
}

/** Searches a chat; continuing a search adds to its results. */
export async function search(
  place: HistoryPlace,
  q: string,
  abort: AbortSignal,
  more = false,
): Promise<void> {
  const before = more ? (found.value?.messages ?? []) : [];
  if (!more) found.value = undefined;
  const reply = await client.call("searchMessages", {
    params: { ...place },
    query: { q, limit: String(FOUND_PAGE), offset: String(before.length) },
    signal: abort,
  });
  abort.throwIfAborted();
  found.value = { total: reply.total, messages: [...before, ...reply.messages] };
}

/** Puts a message into the chat's latest session and waits for the answer; then the newest messages are shown. */
export async function putIn(at: HistoryPlace, content: string, senderName: string): Promise<void> {
  const sessionId = shown.peek()?.at(-1)?.sessionId;
  if (sessionId === undefined) return;
  const frames = client.stream("inject", {
    params: { ...at, sessionId },
    body: { content, ...(senderName !== "" && { senderName }) },
  });
  for await (const frame of frames)
    if (frame.type === "error") throw new GatewayError("AGENT_FAILED", frame.message);
  await browse(at, new AbortController().signal);
}
