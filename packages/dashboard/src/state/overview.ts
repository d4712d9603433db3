import type { Incident, Waiting } from "@agent-gateway/contract";
import { signal } from "@preact/signals";
import { client, hasCode } from "../api/client.ts";
import type { Activity, Status } from "../api/types.ts";
import { type ChannelName, loadAllWaiting } from "./channels.ts";
import { agents } from "./place.ts";
import { readStored, store } from "./stored.ts";

/** What waits for a person at one agent. */
export interface AgentWaits {
  agentId: string;
  /** Who asked to be let in. */
  people: readonly Waiting[];
  /** Turns that are stuck, and can be helped. */
  stuck: readonly Incident[];
  /** Replies that may not have arrived and can be sent again. */
  replies: number;
}

export const activity = signal<Activity | undefined>(undefined);
/** Undefined until everything has been asked for. */
export const waits = signal<readonly AgentWaits[] | undefined>(undefined);

export async function loadActivity(abort: AbortSignal): Promise<void> {
  activity.value = (await client.call("status", { query: { include: "activity" }, signal: abort })).activity;
}

/** The most deliveries that one answer holds. */
const MOST = "200";

/** What waits at the channels of an agent; nothing is asked where it has none. */
async function atChannels(id: string, on: readonly ChannelName[], abort: AbortSignal) {
  if (on.length === 0) return { people: [], replies: 0 };
  const devices = agents.peek()?.find((agent) => agent.id === id)?.devicechat_accounts ?? [];
  const params = { agentId: id };
  const [people, { deliveries }] = await Promise.all([
    loadAllWaiting(id, on, devices, abort),
    client.call("listDeliveries", { params, query: { limit: MOST }, signal: abort }),
  ]);
  return { people, replies: deliveries.filter(({ sendable }) => sendable).length };
}

/** Turns that are stuck; only those that run can be. */
async function stuckAt({ id, sessions }: Status["agents"][number], abort: AbortSignal) {
  if (!sessions.some(({ busy }) => busy)) return [];
  const { incidents } = await client.call("listIncidents", { params: { agentId: id }, signal: abort });
  return incidents.filter(({ closedAt, allowed }) => closedAt === null && allowed.length > 0);
}

async function waitsOf(agent: Status["agents"][number], abort: AbortSignal): Promise<AgentWaits> {
  const [atDoor, stuck] = await Promise.all([
    atChannels(agent.id, Object.keys(agent.channels) as ChannelName[], abort),
    stuckAt(agent, abort),
  ]);
  return { agentId: agent.id, stuck, ...atDoor };
}

/** Asks every agent, one after the other: many agents must not mean many requests at once. */
export async function loadWaits(known: Status["agents"], abort: AbortSignal): Promise<void> {
  const found: AgentWaits[] = [];
  for (const agent of known) {
    try {
      found.push(await waitsOf(agent, abort));
    } catch (error) {
      // Removed meanwhile, or another gateway's: that one knows what waits there.
      if (!hasCode(error, "AGENT_NOT_FOUND") && !hasCode(error, "UNAVAILABLE")) throw error;
    }
  }
  if (!abort.aborted) waits.value = found;
}

const HIDDEN = "next-steps";
/** Whether this browser's user does not want to be told the next steps. */
export const stepsHidden = signal(readStored(HIDDEN) === "hidden");

export function hideSteps(): void {
  stepsHidden.value = true;
  store(HIDDEN, "hidden");
}
