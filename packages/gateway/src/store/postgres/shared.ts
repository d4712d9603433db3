import type { Placement, SeenNode, Shared } from "../directory.ts";
import { IDS_AT_ONCE } from "../ids.ts";
import type { Row } from "../statement.ts";
import type { PostgresStatement } from "./batch.ts";
import { isDatabaseError } from "./errors.ts";
import type { Link } from "./link.ts";
import { type Lane, LIMITS_MS, type Pool } from "./pool.ts";
import { toldAs } from "./problems.ts";
import { settings } from "./settings.ts";

const plain = (text: string, ...values: PostgresStatement["values"]): PostgresStatement => ({ text, values });

const reserving = (count: number) =>
  plain("UPDATE id_blocks SET reserved = reserved + $1 WHERE name = 'message' RETURNING reserved", count);

/** Reserves the first ids that this gateway gives; resolves to the id before them. */
export async function reserveFirst(link: Link, path: string): Promise<number> {
  const results = await link.run([settings(path, LIMITS_MS.short), reserving(IDS_AT_ONCE)], LIMITS_MS.short);
  return Number(results[1]!.rows[0]!.reserved) - IDS_AT_ONCE;
}

const lock = (agentId: string) => plain("SELECT 1 FROM placements WHERE agent_id = $1 FOR UPDATE", agentId);

/** What lets several gateways share the store. */
export function createShared(pool: Pool, path: string): Shared {
  /** One transaction; answers the rows of its last statement. */
  const run = async (lane: Lane, ...statements: PostgresStatement[]): Promise<Row[]> => {
    try {
      const results = await pool.run(lane, [settings(path, LIMITS_MS[lane]), ...statements]);
      return results.at(-1)!.rows;
    } catch (error) {
      throw toldAs(error);
    }
  };
  return {
    directory: {
      async beat({ bootId, name, address, home, leaseMs }) {
        await run(
          "renewals",
          plain(
            `INSERT INTO nodes (boot_id, name, address, home, counter, lease_ms) VALUES ($1, $2, $3, $4, 1, $5)
             ON CONFLICT (boot_id) DO UPDATE SET counter = nodes.counter + 1, lease_ms = excluded.lease_ms`,
            ...[bootId, name, address, home, leaseMs],
          ),
        );
      },
      async look() {
        // In this order: whoever owns something has registered before.
        const placements = await run(
          "short",
          plain(
            `SELECT agent_id AS "agentId", boot_id AS "bootId", fence, workspace FROM placements ORDER BY agent_id`,
          ),
        );
        const nodes = await run(
          "short",
          plain(
            `SELECT boot_id AS "bootId", name, address, home, counter, lease_ms AS "leaseMs" FROM nodes ORDER BY boot_id`,
          ),
        );
        return { nodes: nodes as unknown as SeenNode[], placements: placements as unknown as Placement[] };
      },
      async take(agentId, { bootId, workspace }, seen) {
        const rows = seen
          ? await run(
              "short",
              // Waits for the units of the owner that are in flight, which a mere UPDATE would overtake.
              lock(agentId),
              plain(
                `UPDATE placements SET boot_id = $2, workspace = $3, fence = fence + 1
                 WHERE agent_id = $1 AND boot_id IS NOT DISTINCT FROM $4 AND fence = $5 RETURNING fence`,
                ...[agentId, bootId, workspace, seen.bootId, seen.fence],
              ),
            )
          : await run(
              "short",
              plain(
                `INSERT INTO placements (agent_id, boot_id, fence, workspace) VALUES ($1, $2, 1, $3)
                 ON CONFLICT DO NOTHING RETURNING fence`,
                ...[agentId, bootId, workspace],
              ),
            );
        return rows[0] && Number(rows[0].fence);
      },
      async free(agentId, bootId, { forget = false } = {}) {
        await run(
          "short",
          lock(agentId),
          plain(
            `UPDATE placements SET boot_id = NULL, fence = fence + 1${forget ? ", workspace = NULL" : ""}
             WHERE agent_id = $1 AND boot_id = $2`,
            ...[agentId, bootId],
          ),
        );
      },
      async leave(bootId) {
        await run(
          "short",
          plain("SELECT 1 FROM placements WHERE boot_id = $1 ORDER BY agent_id FOR UPDATE", bootId),
          plain("UPDATE placements SET boot_id = NULL, fence = fence + 1 WHERE boot_id = $1", bootId),
          plain("DELETE FROM nodes WHERE boot_id = $1", bootId),
        );
      },
    },
    // Whoever takes the agent at this moment has locked its row: this then waits, and finds the new fence.
    fence: ({ agentId, bootId, fence }) => ({
      sql: `SELECT CAST(CASE count(*) WHEN 1 THEN '1' ELSE 'FENCED' END AS integer) FROM (
              SELECT 1 FROM placements WHERE agent_id = ? AND boot_id = ? AND fence = ? FOR KEY SHARE) AS own`,
      params: [agentId, bootId, fence],
      lasting: true,
    }),
    isFenced: (error) => isDatabaseError(error) && error.code === "22P02" && error.message.includes("FENCED"),
    async reserveIds(count) {
      const [row] = await run("short", reserving(count));
      return Number(row!.reserved) - count + 1;
    },
  };
}
