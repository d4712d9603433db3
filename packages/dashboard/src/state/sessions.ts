import { computed, signal } from "@preact/signals";
import { client } from "../api/client.ts";
import type { Session, Status } from "../api/types.ts";
import { openSession, place } from "./place.ts";

/** Sessions of the chat on view, the latest first; undefined while they load. */
export const sessions = signal<readonly Session[] | undefined>(undefined);
/** The gateway's latest status. */
export const status = signal<Status | undefined>(undefined);

/** Ids of the sessions in which a turn runs now. */
export const busySessions = computed(
  () =>
    new Set(
      status.value?.agents.flatMap((agent) => agent.sessions.filter((s) => s.busy).map((s) => s.sessionId)),
    ),
);

let askedAt = 0;

/** When the status on hand was asked for, as `performance.now()` tells time: what ended since may still look busy. */
export const statusAskedAt = (): number => askedAt;

export async function loadStatus(signal?: AbortSignal): Promise<void> {
  const now = performance.now();
  const reply = await client.call("status", { signal });
  if (now < askedAt) return;
  askedAt = now;
  status.value = reply;
}

export async function loadSessions(signal?: AbortSignal): Promise<void> {
  const here = place.peek();
  if (!here) return;
  const reply = await client.call("listSessions", {
    params: { agentId: here.agentId },
    query: { chat_id: here.chatId },
    signal,
  });
  const now = place.peek();
  if (now?.agentId === here.agentId && now.chatId === here.chatId) sessions.value = reply.sessions;
}

/** Creates a session; its name comes from `name`, else from the first message. */
export async function createSession(
  here: { agentId: string; chatId: string },
  naming: { name?: string; prompt?: string },
): Promise<string> {
  const { sessionId } = await client.call("createSession", {
    params: { agentId: here.agentId },
    body: { chat_id: here.chatId, ...naming },
  });
  void loadSessions().catch(() => {});
  return sessionId;
}

const target = (sessionId: string) => {
  const here = place.peek();
  if (!here) throw new Error("no chat is open");
  return { here, params: { agentId: here.agentId, sessionId }, chat_id: here.chatId };
};

export async function renameSession(sessionId: string, name: string): Promise<void> {
  const { params, chat_id } = target(sessionId);
  await client.call("renameSession", { params, body: { chat_id, session_name: name } });
  await loadSessions();
}

export async function deleteSession(sessionId: string): Promise<void> {
  const { here, params, chat_id } = target(sessionId);
  await client.call("deleteSession", { params, query: { chat_id } });
  if (place.peek()?.sessionId === sessionId) openSession(here, undefined);
  await loadSessions();
}

export async function clearSession(sessionId: string): Promise<void> {
  const { params, chat_id } = target(sessionId);
  await client.call("clearSession", { params, body: { chat_id } });
}

/** Returns a sentence about what was kept. */
export async function compactSession(sessionId: string): Promise<string> {
  const { params, chat_id } = target(sessionId);
  const result = await client.call("compactSession", { params, body: { chat_id } });
  return result.archivedMessages === 0
    ? "The session is short, so there was nothing to compact."
    : `Summarised ${result.archivedMessages} older messages and kept ${result.keptMessages}.`;
}

export async function restartSession(sessionId: string): Promise<void> {
  const { params, chat_id } = target(sessionId);
  await client.call("restartSession", { params, body: { chat_id } });
}

export async function stopTurn(sessionId: string): Promise<boolean> {
  const { params, chat_id } = target(sessionId);
  return (await client.call("stopSession", { params, body: { chat_id } })).stopped;
}

/** Makes a public link to a file in a session's folder; gives its address. */
export async function shareFile(sessionId: string, path: string, seconds: number): Promise<string> {
  const { here, chat_id } = target(sessionId);
  const body = {
    agent_id: here.agentId,
    session_id: sessionId,
    chat_id,
    refs: [{ path }],
    ttl_seconds: seconds,
  };
  const [item] = (await client.call("createShares", { body })).items;
  if (!item) throw new Error("the gateway made no link");
  return item.url ?? new URL(`/shared/${item.token}`, location.origin).href;
}
