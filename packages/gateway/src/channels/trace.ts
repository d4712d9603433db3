import type { Trace, TraceStep } from "@agent-gateway/contract";
import type { Database, Tables } from "../store/sqlite/index.ts";
import type { ChannelName } from "./types.ts";

type Inbox = Omit<Tables["channel_inbox"], "message">;
type Outbox = Omit<Tables["channel_outbox"], "target" | "content">;
type Turn = Pick<Tables["turns"], "state" | "started_at" | "ended_at">;

const INBOX =
  "id, agent_id, channel, account, event_id, chat_id, message_id, sender_id, state, request_id, session, " +
  "user_message, received_at, started_at, settled_at, note";
const OUTBOX =
  "id, agent_id, channel, account, chat_id, inbox, purpose, key, state, attempts, next_at, created_at, " +
  "sending_at, settled_at, provider_id, reason";

/** The gateway's own ids come first; provider ids can repeat, so among those the latest message wins. */
const FIND = `SELECT ${INBOX} FROM channel_inbox WHERE agent_id = :agent AND (:channel = '' OR channel = :channel)
  AND id IN (
    SELECT id FROM channel_inbox WHERE request_id = :id
    UNION SELECT id FROM channel_inbox WHERE id = :number
    UNION SELECT id FROM channel_inbox WHERE agent_id = :agent AND (event_id = :id OR message_id = :id)
    UNION SELECT inbox FROM channel_outbox WHERE agent_id = :agent AND provider_id = :id)
  ORDER BY request_id IS :id DESC, id = :number DESC, id DESC LIMIT 1`;
const FIND_SENT = `SELECT ${OUTBOX} FROM channel_outbox
  WHERE agent_id = :agent AND provider_id = :id AND (:channel = '' OR channel = :channel) ORDER BY id DESC LIMIT 1`;
const TURN = "SELECT state, started_at, ended_at FROM turns WHERE request_id = ? ORDER BY id DESC LIMIT 1";
/** Messages that were joined in one turn share its replies. */
const REPLIES = `SELECT ${OUTBOX} FROM channel_outbox WHERE inbox = :inbox
  OR inbox IN (SELECT id FROM channel_inbox WHERE request_id = :request) ORDER BY id`;

/** Fills in the table names of a statement that is prepared with placeholders only. */
function bind(sql: string, values: Readonly<Record<string, string | number | null>>) {
  const params: (string | number | null)[] = [];
  const text = sql.replace(/:([a-z]+)/g, (_, name: string) => {
    params.push(values[name] ?? null);
    return "?";
  });
  return [text, params] as const;
}

const deliverySteps = (rows: readonly Outbox[]): TraceStep[] =>
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

function inboxSteps(row: Inbox, turn: Turn | undefined, replies: readonly Outbox[]): TraceStep[] {
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

const messageOf = (row: Inbox): Trace["message"] => ({
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

const sentMessageOf = (row: Outbox): Trace["message"] => ({
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
export function createTrace({ db }: { db: Pick<Database, "slow"> }) {
  const query = <T>(sql: string, values: Readonly<Record<string, string | number | null>>) =>
    db.slow<T>(...bind(sql, values));

  return {
    /**
     * Finds a message by the gateway's number or request id, or by an id of its provider (of the event, the message, or a
     * reply to it).
     */
    async find(agent: string, id: string, channel: ChannelName | "" = ""): Promise<Trace | undefined> {
      const number = /^\d{1,15}$/.test(id) ? Number(id) : null;
      const [row] = await query<Inbox>(FIND, { agent, id, number, channel });
      if (!row) {
        const [sent] = await query<Outbox>(FIND_SENT, { agent, id, channel });
        return sent && { message: sentMessageOf(sent), steps: deliverySteps([sent]) };
      }
      const [turns, replies] = await Promise.all([
        row.request_id === null ? [] : db.slow<Turn>(TURN, [row.request_id]),
        query<Outbox>(REPLIES, { inbox: row.id, request: row.request_id }),
      ]);
      return { message: messageOf(row), steps: inboxSteps(row, turns[0], replies) };
    },
  };
}
