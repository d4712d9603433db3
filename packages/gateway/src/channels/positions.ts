import type { Database } from "../db/index.ts";
import type { ChannelPlace } from "./types.ts";

/** Each place's state with its provider: a position in the stream of events, or the last proof of life. */
export function createPositions(db: Database) {
  return {
    get({ agentId, channel, account }: ChannelPlace): string | undefined {
      return db.all<{ value: string }>(
        "SELECT value FROM channel_positions WHERE agent_id = ? AND channel = ? AND account = ?",
        [agentId, channel, account],
      )[0]?.value;
    },
    async save({ agentId, channel, account }: ChannelPlace, value: string): Promise<void> {
      await db.write({
        sql: `INSERT INTO channel_positions (agent_id, channel, account, value) VALUES (?, ?, ?, ?)
              ON CONFLICT (agent_id, channel, account) DO UPDATE SET value = excluded.value`,
        params: [agentId, channel, account, value],
      });
    },
  };
}
export type Positions = ReturnType<typeof createPositions>;
