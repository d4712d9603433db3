import type { Read } from "./records.ts";
import { scopeOf } from "./records.ts";

export interface DaysQuery {
  agentId: string;
  chatId: string;
  /** UTC milliseconds: `from` inclusive, `to` exclusive, at most 366 days apart. */
  from: number;
  to: number;
  /** Minutes east of UTC. */
  tz_offset?: number | undefined;
  session_id?: string | undefined;
}

const DAY_MS = 86_400_000;

/** Local days on which a chat has messages, ascending. One index look-up per day, however many messages there are. */
export function readActiveDays(read: Read, query: DaysQuery): string[] {
  const { from, to } = query;
  const offset = (query.tz_offset ?? 0) * 60_000;
  const scope = to > from ? scopeOf(read, query.agentId, query.chatId, query.session_id) : undefined;
  if (!scope) return [];
  const [column, owner] = scope.session === undefined ? ["chat", scope.chat] : ["session", scope.session];
  const first = `SELECT min(ts) AS ts FROM messages WHERE ${column} = ? AND ts >= ? AND ts < ?`;
  const days: string[] = [];
  for (let at = from; at < to; ) {
    const ts = read<{ ts: number | null }>(first, [owner, at, to])[0]?.ts;
    if (ts === null || ts === undefined) break;
    const day = Math.floor((ts + offset) / DAY_MS);
    days.push(new Date(day * DAY_MS).toISOString().slice(0, 10));
    at = (day + 1) * DAY_MS - offset;
  }
  return days;
}
