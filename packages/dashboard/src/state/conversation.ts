import type { Usage } from "@agent-gateway/contract";
import { batch, computed, signal } from "@preact/signals";
import { client, hasCode } from "../api/client.ts";
import type { Message, Model, SessionInfo } from "../api/types.ts";
import { followTurn, resumeFrames } from "./follow.ts";
import type { LiveTurn } from "./live-turn.ts";
import { itemsOf, keyOf, type Note, withNewest } from "./message-list.ts";
import { announce, notify, report } from "./notices.ts";
import { openSession, type Place } from "./place.ts";
import { busySessions, loadSessions, loadStatus, statusAskedAt } from "./sessions.ts";
import { textOf } from "./steps.ts";

const PAGE = 50;

export const messages = signal<readonly Message[]>([]);
export const loading = signal(false);
export const info = signal<SessionInfo | undefined>(undefined);
/** The session's own model; undefined while unknown, null for the agent's. */
export const model = signal<string | null | undefined>(undefined);
/** Models that the session's agent offers; undefined while unknown. */
export const sessionModels = signal<readonly Pick<Model, "id" | "name">[] | undefined>(undefined);
export const live = signal<LiveTurn | undefined>(undefined);
/** The user's message of a turn that the history does not have yet. */
export const pending = signal<{ text: string; mediaFiles: readonly string[] } | undefined>(undefined);

const notes = signal<readonly Note[]>([]);
const older = signal<{ before: number; beforeId: number | null } | undefined>(undefined);
export const hasOlder = computed(() => older.value !== undefined);
export const items = computed(() => itemsOf(messages.value, notes.value));

/** What the replies used that ended while this page looked on, by the key of their message. */
export const usages = signal<ReadonlyMap<string, Usage>>(new Map());

let current: Place | undefined;
let control = new AbortController();
let noteCounter = 0;
/** When the last turn on view ended, by `performance.now()`. */
let lastEnd = 0;

/** Adds a line of the page's own below the messages. */
export function addNote(text: string, kind: Note["kind"] = "info"): void {
  notes.value = [...notes.value, { id: ++noteCounter, kind, text, afterTs: messages.value.at(-1)?.ts ?? 0 }];
  announce(text);
}

const samePlace = (a: Place | undefined, b: Place | undefined) =>
  a?.agentId === b?.agentId && a?.chatId === b?.chatId && a?.sessionId === b?.sessionId;

/** Shows a place: its newest messages, and its running turn from where it is. */
export async function openPlace(next: Place | undefined): Promise<void> {
  if (samePlace(next, current)) return;
  adopt(next);
  batch(() => {
    messages.value = [];
    notes.value = [];
    usages.value = new Map();
    older.value = undefined;
    info.value = undefined;
    model.value = undefined;
    sessionModels.value = undefined;
    live.value = undefined;
    pending.value = undefined;
    loading.value = next?.sessionId !== undefined;
  });
  if (!next?.sessionId) return;
  const { signal } = control;
  try {
    await Promise.all([loadNewest(signal), loadInfo(signal), loadStatus(signal)]);
    void loadModel(signal).catch(() => {});
    followIfBusy();
  } catch (error) {
    if (signal.aborted) return;
    if (hasCode(error, "SESSION_NOT_FOUND")) {
      notify("That session no longer exists.");
      openSession(next, undefined);
    } else report(error);
  } finally {
    if (!signal.aborted) loading.value = false;
  }
}

/** Takes a place as shown without loading it, as for a session that was just made. Ends what ran for the last one. */
export function adopt(next: Place | undefined): void {
  control.abort();
  control = new AbortController();
  current = next;
}

/** Aborted when another place is shown. */
export const shownSignal = (): AbortSignal => control.signal;

async function page(query: { before?: number; before_id?: number }, signal: AbortSignal) {
  const at = current as Place;
  return client.call("listMessages", {
    params: { agentId: at.agentId, chatId: `api-${at.chatId}` },
    query: { session_id: at.sessionId, include: "steps", limit: String(PAGE), ...textual(query) },
    signal,
  });
}
const textual = (query: Record<string, number | undefined>) =>
  Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );

/** Reads the newest messages again; older ones that are on view stay. */
export async function loadNewest(signal = control.signal): Promise<void> {
  const reply = await page({}, signal);
  if (signal.aborted) return;
  const fresh = reply.messages.toReversed();
  const known = messages.value;
  messages.value = withNewest(known, fresh);
  if (known.length === 0 || messages.value.length === fresh.length) setOlder(reply);
}

function setOlder(reply: { hasMore: boolean; nextCursor: number | null; nextCursorId: number | null }): void {
  older.value =
    reply.hasMore && reply.nextCursor !== null
      ? { before: reply.nextCursor, beforeId: reply.nextCursorId }
      : undefined;
}

export async function loadOlder(): Promise<void> {
  const cursor = older.value;
  if (!cursor) return;
  const { signal } = control;
  const { before, beforeId } = cursor;
  const reply = await page({ before, ...(beforeId !== null && { before_id: beforeId }) }, signal);
  if (signal.aborted) return;
  messages.value = [...reply.messages.toReversed(), ...messages.value];
  setOlder(reply);
}

export async function loadInfo(signal = control.signal): Promise<void> {
  const at = current;
  if (!at?.sessionId) return;
  const next = await client.call("sessionInfo", {
    params: { agentId: at.agentId, sessionId: at.sessionId },
    query: { chat_id: at.chatId },
    signal,
  });
  if (!signal.aborted) info.value = next;
}

async function loadModel(signal = control.signal): Promise<void> {
  const at = current;
  if (!at?.sessionId) return;
  const reply = await client.call("sendMessage", {
    params: { agentId: at.agentId },
    body: { message: "/model", chat_id: at.chatId, session_id: at.sessionId },
    signal,
  });
  if (signal.aborted || !("result" in reply)) return;
  batch(() => {
    model.value = (reply.result.model as string | null) ?? null;
    sessionModels.value = reply.result.models as Model[] | undefined;
  });
}

/** Joins the running turn of the session on view, no matter who started it. */
export function followIfBusy(): void {
  const at = current;
  if (!at?.sessionId || live.value || statusAskedAt() < lastEnd) return;
  if (!busySessions.peek().has(at.sessionId)) return;
  const where = { ...at, sessionId: at.sessionId };
  void showTurn(where, resumeFrames(where, control.signal)).catch(report);
}

/** Shows a turn of the session on view to its end, then its record in history. */
export async function showTurn(
  where: Place & { sessionId: string },
  frames: ReturnType<typeof resumeFrames>,
): Promise<void> {
  const { signal } = control;
  let over = false;
  const show = (turn: LiveTurn) => {
    if (!over) live.value = turn;
  };
  try {
    announce("The agent is answering.");
    const turn = await followTurn(where, frames, show, signal);
    await loadNewest(signal).catch(report);
    const stored = messages.peek().at(-1);
    if (turn.end?.usage && stored?.role === "assistant")
      usages.value = new Map([...usages.peek(), [keyOf(stored), turn.end.usage]]);
    if (!turn.end?.error) announce(turn.end?.interrupted ? "The answer was stopped." : textOf(turn.steps));
    else if (stored?.error) announce(stored.error.message);
    else addNote(turn.end.error, "error");
  } finally {
    over = true;
    if (!signal.aborted) {
      lastEnd = performance.now();
      batch(() => {
        live.value = undefined;
        pending.value = undefined;
      });
      void Promise.all([loadInfo(), loadModel(), loadSessions(), loadStatus()]).catch(() => {});
    }
  }
}
