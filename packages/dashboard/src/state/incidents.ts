import type { CallReply, IncidentAction } from "@agent-gateway/contract";
import { signal } from "@preact/signals";
import { client } from "../api/client.ts";
import { poll } from "./poll.ts";

/** An incident of an agent's turn. */
export type AgentIncident = CallReply<"listIncidents">["incidents"][number] & { agentId: string };

/** Incidents of all agents, the newest first; undefined until they have been read. */
export const incidents = signal<readonly AgentIncident[] | undefined>(undefined);

const POLL_MS = 3000;
const isOpen = ({ closedAt }: AgentIncident) => closedAt === null;

async function listOf(agentId: string, abort: AbortSignal | undefined): Promise<AgentIncident[]> {
  const { incidents: list } = await client.call("listIncidents", { params: { agentId }, signal: abort });
  return list.map((one) => ({ ...one, agentId }));
}

/** Keeps up with the incidents of these agents. Returns what ends it. */
export function followIncidents(agentIds: readonly string[]): () => void {
  return poll(
    async (abort) => {
      // Another gateway may have one of the agents, or have taken it just now.
      const lists = await Promise.allSettled(agentIds.map((id) => listOf(id, abort)));
      abort.throwIfAborted();
      incidents.value = lists
        .flatMap((list) => (list.status === "fulfilled" ? list.value : []))
        .sort((a, b) => b.detectedAt - a.detectedAt);
    },
    POLL_MS,
    // What is allowed in an open one changes with time alone.
    { by: ["incident", "agent"], wholly: () => !incidents.peek()?.some(isOpen) },
  );
}

/** Does something about an open incident. */
export async function actOn({ agentId, id }: AgentIncident, action: IncidentAction): Promise<void> {
  const params = { agentId, incidentId: id };
  const { incident } = await client.call("actOnIncident", { params, body: { action } });
  incidents.value = incidents.peek()?.map((one) => (one.id === id ? { ...incident, agentId } : one));
}
