import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { rowsOf } from "./fixtures/rows.ts";
import { startGateway, testConfig, until } from "./harness.ts";

const DAY = 86_400_000;
const OLD = 60_000;
const KILLS = 3;
const KIND = "history.retention";

/** A time zone in which the hour under way goes on for at least half an hour. */
function roomyHour(): { cleanupHour: number; cleanupTimezone: string } {
  const now = new Date();
  const zone = now.getUTCMinutes() < 30 ? "UTC" : "Asia/Kolkata";
  const hour = new Intl.DateTimeFormat("en", { hour: "numeric", hourCycle: "h23", timeZone: zone }).format(
    now,
  );
  return { cleanupHour: Number(hour), cleanupTimezone: zone };
}

describe("jobs of a gateway that is killed", () => {
  it("go on where they were: a clean-up that is cut off again and again is done in the end [JOBS-1, JOBS-3, JOBS-9, JOBS-10]", async () => {
    let gateway = await startGateway();
    try {
      const reply = await gateway.send("recent", { chat_id: "jobs" });
      expect(reply.status).toBe(200);
      await gateway.kill();
      const db = new DatabaseSync(join(gateway.home, "gateway.db"));
      db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${OLD})
        INSERT INTO messages (chat, session, role, content, ts)
        SELECT s.chat, s.id, 0, 'old ' || i, ${Date.now() - 30 * DAY} + i FROM n, (SELECT * FROM sessions LIMIT 1) s`);
      db.close();
      const config = testConfig({ gateway: { history: { retentionDays: 10, ...roomyHour() } } });
      const job = () => rowsOf(gateway, `SELECT * FROM jobs WHERE kind = '${KIND}'`)[0];
      const left = () =>
        Number(rowsOf(gateway, "SELECT count(*) AS n FROM messages WHERE content LIKE 'old %'")[0]!.n);
      let cut = 0;
      for (let round = 0; round < KILLS; round++) {
        gateway = await startGateway({ home: gateway.home, config });
        await until(() => job()?.state === "running", "the clean-up to begin", 20_000);
        await gateway.kill();
        if (job()?.state === "running") cut++;
      }
      expect(cut).toBeGreaterThan(0);
      gateway = await startGateway({ home: gateway.home, config });
      await until(() => left() === 0 && job()?.state === "waiting", "the clean-up to be done", 60_000);
      expect(job()).toMatchObject({ attempts: 0, note: null, holder: null });
      expect(Number(job()!.next_at)).toBeGreaterThan(Date.now());
      const { body } = await gateway.json("GET", "/api/v1/agents/assistant/chats/api-jobs/messages");
      expect((body.messages as Array<{ content: string }>).map(({ content }) => content)).toContain("recent");
      // It counts a run once its end is on disk, which this test may see first.
      const metrics = await until(async () => {
        const text = await (await gateway.request("GET", "/metrics")).text();
        return (
          new RegExp(`^agent_gateway_jobs_total\\{kind="${KIND}",outcome="ok"\\} [12]$`, "m").test(text) &&
          text
        );
      }, "the run to be counted");
      expect(metrics).toContain(`agent_gateway_job_lateness_seconds_count{kind="${KIND}"}`);
    } finally {
      await gateway[Symbol.asyncDispose]();
    }
  }, 180_000);
});
