import type { TurnFrame } from "@agent-gateway/contract";
import { signal } from "@preact/signals";
import { client } from "../api/client.ts";
import { describeResult, isCommand } from "./command.ts";
import {
  addNote,
  adopt,
  loadInfo,
  loadNewest,
  messages,
  model,
  pending,
  shownSignal,
  showTurn,
} from "./conversation.ts";
import { type Place, place } from "./place.ts";
import { go } from "./route.ts";
import { createSession, loadSessions } from "./sessions.ts";

/** A model chosen before the conversation has a session to choose it for; each agent has models of its own. */
export const chosenModel = signal<{ agentId: string; id: string } | undefined>(undefined);

/**
 * Sends a message, or runs a slash command, at a place and resolves when its turn is over.
 * @throws GatewayError when the gateway did not take it: the text is still the user's
 */
export async function send(at: Place, text: string, mediaFiles: readonly string[]): Promise<void> {
  if (isCommand(text)) return runCommand(at, text);
  pending.value = { text, mediaFiles };
  const sessionId = at.sessionId ?? (await beginSession(at, text).catch(forget));
  const signal = shownSignal();
  const frames = client.stream("sendMessage", {
    params: { agentId: at.agentId },
    body: {
      message: text,
      chat_id: at.chatId,
      session_id: sessionId,
      ...(mediaFiles.length > 0 && { media_files: [...mediaFiles] }),
    },
    signal,
  });
  await showTurn({ ...at, sessionId }, frames);
}

/** Lets the agent speak first, from its greeting file; false when there is none. */
export async function greetIn(sessionId: string): Promise<boolean> {
  const at = place.peek();
  if (at?.sessionId !== sessionId) return true;
  const frames = client.stream("greet", {
    params: { agentId: at.agentId },
    body: { chat_id: at.chatId, session_id: sessionId },
    signal: shownSignal(),
  });
  // Without a greeting there is no turn, and nothing to show.
  const first = await frames.next();
  if (first.done) return false;
  async function* all() {
    yield first.value as TurnFrame;
    yield* frames;
  }
  await showTurn({ ...at, sessionId }, all());
  return true;
}

function forget(error: unknown): never {
  pending.value = undefined;
  throw error;
}

/** Makes the session that a first message needs, named after it, with the model chosen before. */
async function beginSession(at: Place, prompt: string): Promise<string> {
  const sessionId = await createSession(at, { prompt });
  const next = { ...at, sessionId };
  adopt(next);
  go({ view: "chat", ...next });
  const wanted = chosenModel.value;
  chosenModel.value = undefined;
  if (wanted?.agentId === at.agentId) await setModel(next, wanted.id);
  return sessionId;
}

async function runCommand(at: Place, text: string): Promise<void> {
  const reply = await client.call("sendMessage", {
    params: { agentId: at.agentId },
    body: { message: text, chat_id: at.chatId, ...(at.sessionId && { session_id: at.sessionId }) },
  });
  if (!("command" in reply)) return;
  if (reply.command === "/clear") messages.value = [];
  if (reply.command === "/model" && !Array.isArray(reply.result.models))
    model.value = String(reply.result.model);
  addNote(describeResult(reply));
  if (reply.session_id === at.sessionId) {
    if (reply.command === "/compact") await loadNewest();
    await loadInfo();
  }
  await loadSessions();
}

/** Chooses the model of a session. */
export async function setModel(at: Place & { sessionId: string }, id: string): Promise<void> {
  const reply = await client.call("sendMessage", {
    params: { agentId: at.agentId },
    body: { message: `/model ${id}`, chat_id: at.chatId, session_id: at.sessionId },
  });
  if ("result" in reply) model.value = String(reply.result.model);
}
