import type { Trace, TraceStep } from "@agent-gateway/contract";
import type { Store, TracedInbox, TracedOutbox, TracedTurn } from "../store/index.ts";
import type { ChannelName } from "./types.ts";

const deliverySteps = (rows: readonly TracedOutbox[]): TraceStep[] =>
  rows.flatMap((row) => [
    { step: "reply" as const, at: row.created_at, purpose: row.purpose },
    {
      step: "delivery" as const,
      at: row.settled_at ?? row.sending_at,
      state: row.state,
      attempts: row.attempts,
      providerId: row.provider_id,
      reason: row.reason,
    },
  ]);

function inboxSteps(
  row: TracedInbox,
  turn: TracedTurn | undefined,
  replies: readonly TracedOutbox[],
): TraceStep[] {
  const steps: TraceStep[] = [
    { step: "received", at: row.received_at },
    { step: "stored", at: row.received_at },
  ];
  if (row.state === "denied") steps.push({ step: "denied", at: row.settled_at, reason: row.note });
  if (row.request_id !== null) {
    steps.push({
      step: "turn",
      at: turn?.started_at ?? row.started_at,
      state: turn?.state ?? row.state,
      endedAt: turn?.ended_at ?? null,
      requestId: row.request_id,
    });
  }
  return [...steps, ...deliverySteps(replies)];
}

const messageOf = (row: TracedInbox): Trace["message"] => ({
  id: row.id,
  direction: "in",
  channel: row.channel as ChannelName,
  account: row.account,
  chatId: row.chat_id,
  senderId: row.sender_id,
  eventId: row.event_id,
  messageId: row.message_id,
  requestId: row.request_id,
  state: row.state,
  receivedAt: row.received_at,
  settledAt: row.settled_at,
  note: row.note,
});

const sentMessageOf = (row: TracedOutbox): Trace["message"] => ({
  id: row.id,
  direction: "out",
  channel: row.channel as ChannelName,
  account: row.account,
  chatId: row.chat_id,
  senderId: null,
  eventId: null,
  messageId: row.provider_id,
  requestId: null,
  state: row.state,
  receivedAt: row.created_at,
  settledAt: row.settled_at,
  note: row.reason,
});

/** Reports from the rows on disk what happened to a message; never its text. */
export function createTrace({ traces }: Pick<Store, "traces">) {
  return {
    /**
     * Finds a message by the gateway's number or request id, or by an id of its provider (of the event, the message, or a
     * reply to it).
     */
    async find(agent: string, id: string, channel?: ChannelName): Promise<Trace | undefined> {
      const number = /^\d{1,15}$/.test(id) ? Number(id) : undefined;
      const row = await traces.received(agent, { id, number, channel });
      if (!row) {
        const sent = await traces.sent(agent, { id, channel });
        return sent && { message: sentMessageOf(sent), steps: deliverySteps([sent]) };
      }
      const [turn, replies] = await Promise.all([
        row.request_id === null ? undefined : traces.turn(row.request_id),
        traces.replies(row),
      ]);
      return { message: messageOf(row), steps: inboxSteps(row, turn, replies) };
    },
  };
}
