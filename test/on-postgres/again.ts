import { it } from "vitest";
import { withoutPostgres } from "../fixtures/postgres.ts";

/** Runs the tests of a file with gateways whose store is Postgres. */
export async function again(load: () => Promise<unknown>): Promise<void> {
  if (withoutPostgres()) it.skip("(Postgres is not installed)", () => {});
  else {
    process.env.TEST_STORE = "postgres";
    await load();
  }
}
