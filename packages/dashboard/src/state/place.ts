import { computed, signal } from "@preact/signals";
import { client } from "../api/client.ts";
import type { Agent } from "../api/types.ts";
import { go, route } from "./route.ts";
import { readStored, store } from "./stored.ts";

/** The chat that a browser uses until another is chosen. */
export const DEFAULT_CHAT = "dashboard";

export const agents = signal<readonly Agent[] | undefined>(undefined);

/** Agent, chat and session that the chat view shows; undefined on other views and while agents load. */
export const place = computed(() => {
  const at = route.value;
  if (at.view !== "chat" || !agents.value) return undefined;
  const { agentId, chatId, sessionId } = at;
  return agentId && chatId && agents.value.some((agent) => agent.id === agentId)
    ? { agentId, chatId, sessionId }
    : undefined;
});
export type Place = NonNullable<typeof place.value>;

/** An agent's name on the page. */
export const agentName = (id: string): string => agents.value?.find((agent) => agent.id === id)?.name || id;

/** Where the chat view begins: the agent and chat used last, else the first agent. */
export function homePlace(): { agentId: string | undefined; chatId: string } {
  const last = readStored("agent");
  const known = agents.value ?? [];
  const agent = known.find(({ id }) => id === last) ?? known[0];
  return { agentId: agent?.id, chatId: readStored("chat") ?? DEFAULT_CHAT };
}

/** Completes a chat address that names no agent, a lost one, or no chat; remembers a complete one. */
export function settlePlace(): void {
  const at = route.value;
  if (at.view !== "chat" || !agents.value) return;
  const here = place.value;
  if (here) {
    store("agent", here.agentId);
    store("chat", here.chatId);
    return;
  }
  const home = homePlace();
  const known = agents.value.some(({ id }) => id === at.agentId);
  const agentId = known ? at.agentId : home.agentId;
  if (!agentId) return;
  go({ view: "chat", agentId, chatId: at.chatId ?? home.chatId, sessionId: undefined }, { replace: true });
}

export async function loadAgents(abort?: AbortSignal): Promise<void> {
  const reply = await client.call("listAgents", { signal: abort });
  // An unchanged answer must not make every view start over.
  if (JSON.stringify(reply.agents) !== JSON.stringify(agents.peek())) agents.value = reply.agents;
}

/** Opens a session, or an empty conversation. */
export function openSession(here: { agentId: string; chatId: string }, sessionId: string | undefined): void {
  go({ view: "chat", agentId: here.agentId, chatId: here.chatId, sessionId });
}
