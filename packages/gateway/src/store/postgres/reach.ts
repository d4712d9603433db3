import type { Clock } from "../../lib/clock.ts";
import { isDatabaseError } from "./errors.ts";
import { type Link, openLink } from "./link.ts";
import { type PostgresPlace, serverName } from "./place.ts";

/** The server is there, and will not have us: wrong password, no such role or database, no right to connect. */
export const isRefused = (error: unknown): error is Error =>
  isDatabaseError(error) && ["28000", "28P01", "3D000", "42501"].includes(error.code ?? "");

export const reasonOf = (error: unknown): string =>
  (error as { code?: string }).code ?? (error as Error).message.replace(/\.$/, "");

/**
 * A connection for a command, which is tried once.
 * @throws Error with a sentence
 */
export async function reach(place: PostgresPlace, clock: Clock): Promise<Link> {
  try {
    return await openLink(place, clock);
  } catch (error) {
    const server = serverName(place);
    throw new Error(
      isRefused(error)
        ? `Postgres (${server}) refused the connection: ${error.message}.`
        : `Postgres (${server}) cannot be reached: ${reasonOf(error)}.`,
      { cause: error },
    );
  }
}
