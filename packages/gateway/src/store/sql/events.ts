import { answering, type Change, change, sql } from "../change.ts";
import type { Param, Statement } from "../statement.ts";
import type { Sql } from "./port.ts";

/** Something that happened, for the feed. `data` holds ids, states and counts; texts stay where they are. */
export interface NewEvent {
  type: string;
  /** Unix ms. */
  at: number;
  /** Only keys that reach this agent see it; without one, only admins do. */
  agentId?: string | undefined;
  data?: Readonly<Record<string, unknown>> | undefined;
  /** Row of the message whose text it tells. */
  message?: number | undefined;
  /** Told only if this holds when the unit comes to it. */
  while?: EventCondition | undefined;
}

/** A session that exists, or a message of the outbox in one of these states. */
export type EventCondition =
  | { session: string }
  | { delivery: number; states: ReadonlyArray<"pending" | "sending" | "sent" | "unknown"> };

/** An event with its public number. */
export interface StoredEvent {
  seq: number;
  type: string;
  at: number;
  agentId: string | null;
  data: Record<string, unknown>;
  /** The beginning of the message's text, if it was asked for and still exists. */
  text: string | null;
  /** True when the message is longer than `text`. */
  cut: boolean;
}

/** Which events to read. */
export interface EventFilter {
  /** Undefined: all. */
  types?: readonly string[] | undefined;
  /** Agents whose events are read; undefined: those of all. */
  agents?: readonly string[] | undefined;
  /** Whether events of no agent are read too. */
  ownerless: boolean;
  /** Whether the texts of messages are read. */
  texts: boolean;
}

/** The numbers given so far. */
export interface EventBounds {
  /** The newest number; 0 before the first. */
  last: number;
  /** Everything up to this number has been removed. */
  removed: number;
}

/**
 * The feed's rows. Units that add events may commit in any order, so an event gets its number only afterwards, from
 * `number`: those who number follow one another, and whoever has seen a number will never see a lower one appear.
 */
export interface Events {
  add(event: NewEvent): Change;
  /** Numbers events that have none, the oldest first, `limit` at most; answers how many it numbered. */
  number(limit: number): Change<number>;
  bounds(): Promise<EventBounds>;
  /** Events with `after < seq <= upTo`, oldest first. */
  after(after: number, upTo: number, limit: number, filter: EventFilter): Promise<StoredEvent[]>;
  /** The latest events up to `upTo`, oldest first. */
  latest(upTo: number, limit: number, filter: EventFilter): Promise<StoredEvent[]>;
  /**
   * Removes what is older than the newest `keep` events, and the oldest of these as far as they are from before `since`
   * (Unix ms); at most `limit` at a time. Answers how many it removed.
   */
  prune(keep: number, since: number, limit: number): Change<number>;
}

/** Whether a statement adds an event: the store announces units that told something. */
export const isEvent = ({ sql }: Statement): boolean => sql.startsWith(INTO_EVENTS);

const INTO_EVENTS = "INSERT INTO events (type, agent_id, at, data, message)";

/** A text is cut to this many characters. */
const TEXT_CHARS = 16_384;
/** Up to this many numbers are read as a short read. */
const SHORT = 1_000;

interface Row extends Omit<StoredEvent, "agentId" | "data" | "cut"> {
  agent_id: string | null;
  data: string;
  cut: number;
}

const marks = (values: readonly unknown[]) => values.map(() => "?").join(", ");

function conditionOf(condition: EventCondition | undefined): { where: string; params: Param[] } {
  if (!condition) return { where: "", params: [] };
  if ("session" in condition)
    return {
      where: " WHERE EXISTS (SELECT 1 FROM sessions WHERE uuid = ?)",
      params: [condition.session],
    };
  const { delivery, states } = condition;
  return {
    where: ` WHERE EXISTS (SELECT 1 FROM channel_outbox WHERE id = ? AND state IN (${marks(states)}))`,
    params: [delivery, ...states],
  };
}

/** The condition that a filter stands for, with its parameters. */
function condition({ types, agents, ownerless }: EventFilter): { where: string; params: Param[] } {
  const parts: string[] = [];
  const params: Param[] = [];
  if (types) {
    parts.push(`e.type IN (${marks(types)})`);
    params.push(...types);
  }
  if (agents) {
    const some = agents.length > 0 ? `e.agent_id IN (${marks(agents)})` : "1 = 0";
    parts.push(ownerless ? `(e.agent_id IS NULL OR ${some})` : some);
    params.push(...agents);
  } else if (!ownerless) parts.push("e.agent_id IS NOT NULL");
  return { where: parts.map((part) => ` AND ${part}`).join(""), params };
}

const select = (where: string, texts: boolean) =>
  texts
    ? `SELECT e.seq, e.type, e.at, e.agent_id, e.data, substr(m.content, 1, ${TEXT_CHARS}) AS text,
         CASE WHEN length(m.content) > ${TEXT_CHARS} THEN 1 ELSE 0 END AS cut
       FROM events AS e LEFT JOIN messages AS m ON m.id = e.message WHERE ${where}`
    : `SELECT e.seq, e.type, e.at, e.agent_id, e.data, NULL AS text, 0 AS cut FROM events AS e WHERE ${where}`;

const eventOf = ({ agent_id, data, cut, ...row }: Row): StoredEvent => ({
  ...row,
  agentId: agent_id,
  data: JSON.parse(data) as Record<string, unknown>,
  cut: cut === 1,
});

export function createEvents({ read, slow }: Sql): Events {
  return {
    add({ type, at, agentId, data, message, while: condition }) {
      const when = conditionOf(condition);
      return change(
        sql(
          `${INTO_EVENTS} SELECT ?, ?, ?, ?, ?${when.where}`,
          type,
          agentId ?? null,
          at,
          JSON.stringify(data ?? {}),
          message ?? null,
          ...when.params,
        ),
      );
    },

    number: (limit) =>
      answering(
        ([, numbered]) => numbered!.changes,
        // Takes the row's lock, so that no one else numbers meanwhile, even where several gateways write.
        sql("UPDATE event_numbers SET last = last"),
        sql(
          `UPDATE events SET seq = fresh.seq FROM (
             SELECT id, (SELECT last FROM event_numbers) + row_number() OVER (ORDER BY id) AS seq
             FROM events WHERE seq IS NULL ORDER BY id LIMIT ?) AS fresh
           WHERE events.id = fresh.id`,
          limit,
        ),
        sql(
          `UPDATE event_numbers
           SET last = coalesce((SELECT max(seq) FROM events WHERE seq > event_numbers.last), last)`,
        ),
      ),

    async bounds() {
      const [row] = await read<EventBounds>("SELECT last, removed FROM event_numbers");
      return row ?? { last: 0, removed: 0 };
    },

    async after(after, upTo, limit, filter) {
      const { where, params } = condition(filter);
      const text = `${select(`e.seq > ? AND e.seq <= ?${where}`, filter.texts)} ORDER BY e.seq LIMIT ?`;
      const fetch = upTo - after <= SHORT ? read : slow;
      return (await fetch<Row>(text, [after, upTo, ...params, limit])).map(eventOf);
    },

    async latest(upTo, limit, filter) {
      const { where, params } = condition(filter);
      const text = `${select(`e.seq <= ?${where}`, filter.texts)} ORDER BY e.seq DESC LIMIT ?`;
      return (await slow<Row>(text, [upTo, ...params, limit])).map(eventOf).reverse();
    },

    prune: (keep, since, limit) =>
      answering(
        ([, removed]) => removed!.changes,
        sql(
          `UPDATE event_numbers SET removed = coalesce(
             (SELECT seq - 1 FROM events
              WHERE seq IS NOT NULL
                AND ((seq > event_numbers.last - ? AND at >= ?) OR seq > event_numbers.removed + ?)
              ORDER BY seq LIMIT 1), last)`,
          keep,
          since,
          limit,
        ),
        sql("DELETE FROM events WHERE seq <= (SELECT removed FROM event_numbers)"),
      ),
  };
}
