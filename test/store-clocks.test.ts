import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { postgresStore, withoutPostgres } from "./fixtures/postgres.ts";
import { inPostgres } from "./fixtures/rows.ts";
import { root, startGateway, until } from "./harness.ts";

const HOUR = 3_600_000;
const preload = ["--import", join(root, "test/fixtures/clock-jump.mjs")];

describe.skipIf(withoutPostgres())(
  "clocks of gateway and Postgres that are an hour apart (need Postgres)",
  () => {
    const apart = [
      ["before", HOUR],
      ["behind", -HOUR],
    ] as const;
    it.each(apart.slice(0, process.env.FAULTS ? 2 : 1))(
      "a gateway %s its store serves, tells what happens in order, and a restart closes a cut-off turn once [CLOCK-APART-1]",
      async (_where, ahead) => {
        const { files: _files, ...store } = await postgresStore();
        const numberOf = (sql: string) => Number(inPostgres(store, sql)[0]!.n);
        const options = { gateway: { store }, nodeArgs: preload, env: { CLOCK_JUMP_MS: String(ahead) } };
        const before = await startGateway(options);
        const session = (await before.send("SAY one")).body.session_id as string;
        before.process.kill("SIGUSR2");
        const two = await before.send("SAY two", { session_id: session });
        expect(two).toMatchObject({ status: 200, body: { response: "two" } });
        const turns =
          "SELECT started_at - extract(epoch FROM now()) * 1000 AS n FROM turns ORDER BY id DESC LIMIT 1";
        expect(Math.abs(numberOf(turns) - ahead)).toBeLessThan(60_000);
        // Cut off with the clock apart, and closed by a start whose clock is right again.
        const hanging = before.send("SLOW 500 20", { session_id: session }).catch(() => undefined);
        await until(() => numberOf("SELECT count(*) AS n FROM turn_parts") > 2, "some text to be stored");
        await before.kill();
        await hanging;
        await using after = await startGateway({ ...options, home: before.home });
        expect(numberOf("SELECT count(*) AS n FROM turns WHERE state = 'running'")).toBe(0);
        expect((await after.send("SAY three", { session_id: session })).body.response).toBe("three");
        const path = `/api/v1/agents/assistant/chats/api-me/messages?session_id=${session}`;
        const { body } = await after.json("GET", path);
        const said = (body.messages as { role: string; content: string; interrupted?: true }[]).filter(
          ({ role }) => role === "assistant",
        );
        expect(said.filter(({ interrupted }) => interrupted)).toHaveLength(1);
        expect(said).toHaveLength(4);
        const { events } = (await after.json("GET", "/api/v1/events?stream=false")).body as {
          events: { seq: number }[];
        };
        const numbers = events.map(({ seq }) => seq);
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        expect(numberOf("SELECT count(*) AS n FROM jobs WHERE state = 'failed'")).toBe(0);
      },
      60_000,
    );
  },
);
