import { type Change, change, sql } from "../change.ts";
import type { Sql } from "./port.ts";

/** One account of a channel of an agent. */
export interface StoredPlace {
  agentId: string;
  channel: string;
  account: string;
}

/** Each place's state with its provider: a position in the stream of events, or the last proof of life. */
export interface Positions {
  get(place: StoredPlace): Promise<string | undefined>;
  save(place: StoredPlace, value: string): Change;
}

export function createPositions({ read }: Sql): Positions {
  return {
    async get({ agentId, channel, account }) {
      const [row] = await read<{ value: string }>(
        "SELECT value FROM channel_positions WHERE agent_id = ? AND channel = ? AND account = ?",
        [agentId, channel, account],
      );
      return row?.value;
    },
    save: ({ agentId, channel, account }, value) =>
      change(
        sql(
          `INSERT INTO channel_positions (agent_id, channel, account, value) VALUES (?, ?, ?, ?)
           ON CONFLICT (agent_id, channel, account) DO UPDATE SET value = excluded.value`,
          agentId,
          channel,
          account,
          value,
        ),
      ),
  };
}
