import { Readable } from "node:stream";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { postgresStore, withoutPostgres } from "../../fixtures/postgres.ts";
import { until } from "../../harness.ts";
import { openOnPostgres } from "../history/store.ts";

const COUNT = 2500;
const never = new AbortController().signal;

const lines = Array.from({ length: COUNT }, (_, n) =>
  JSON.stringify({
    chatId: "api-chat",
    sessionId: n % 5 === 0 ? "there" : "new",
    role: "user",
    content: `imported number ${n}`,
    ts: 1000 + n,
  }),
);

describe.skipIf(withoutPostgres())("an import into a chat that exists (needs Postgres)", () => {
  it("moves its messages in small steps, keeps nobody waiting, and shows all of them at once [IMPORT-STEPS-1]", async () => {
    const place = await postgresStore();
    const store = await openOnPostgres({}, place);
    const other = new pg.Client(place.url);
    await other.connect();
    const query = async (text: string) => (await other.query(text)).rows as Array<Record<string, unknown>>;
    try {
      await store.add("a", "api-chat", [{ session: "there", content: "before", ts: 1 }]);
      const lock = `hashtext('${place.schema}')`;
      await query(`SET search_path = ${place.schema}`);
      await query(`CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF (SELECT count(*) FROM changed) > 1000 THEN RAISE EXCEPTION 'too much at once'; END IF;
        PERFORM pg_advisory_xact_lock_shared(${lock});
        RETURN NULL; END $$`);
      for (const table of ["messages", "message_search"]) {
        await query(`CREATE TRIGGER watch AFTER UPDATE ON ${table} REFERENCING NEW TABLE AS changed
          FOR EACH STATEMENT EXECUTE FUNCTION watch()`);
      }
      await query(`SELECT pg_advisory_lock(${lock})`);
      const body = Readable.from([`${lines.join("\n")}\n`], { objectMode: false });
      const running = store.history.import("a", body, { signal: never });
      const waiting = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND objid::bigint = (${lock})::bigint & 4294967295`;
      await until(async () => (await query(waiting)).length === 1, "the first step to be under way");

      await store.add("a", "api-chat", [{ session: "there", content: "during", ts: 900_000 }]);
      const scope = { agentId: "a", chatId: "api-chat" };
      const page = async () => store.history.page({ ...scope, limit: 50, order: "desc" });
      const found = async () => store.history.search({ ...scope, q: "imported", limit: 1, offset: 0 });
      expect((await page()).messages.map(({ content }) => content)).toEqual(["during", "before"]);
      expect((await found()).total).toBe(0);
      expect(await store.history.chats("a")).toMatchObject([{ messageCount: 2 }]);

      await query(`SELECT pg_advisory_unlock(${lock})`);
      expect(await running).toEqual({ imported: COUNT, skipped: 0, sessions: 2 });
      expect((await page()).messages.map(({ content }) => content).slice(0, 2)).toEqual([
        "during",
        `imported number ${COUNT - 1}`,
      ]);
      expect((await found()).total).toBe(COUNT);
      expect(await store.history.chats("a")).toMatchObject([{ messageCount: COUNT + 2 }]);
      const counts = (await store.history.chatSessions("a", "api-chat")).map(
        ({ sessionId, messageCount }) => [sessionId, messageCount],
      );
      expect(counts).toEqual([
        ["there", COUNT / 5 + 2],
        ["new", (COUNT / 5) * 4],
      ]);
      expect(await store.read("SELECT 1 FROM chats WHERE agent_id LIKE 'import%'")).toEqual([]);
    } finally {
      await other.end();
      await store.close();
    }
  });
});
