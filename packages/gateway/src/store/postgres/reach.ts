import type { Clock } from "../../lib/clock.ts";
import { isDatabaseError } from "./errors.ts";
import { type Link, LinkError, openLink } from "./link.ts";
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

const NO_ROOM = "53100";
const NO_RIGHT = "42501";

/** What a command says of something that the server could not do. */
export function commandError(place: PostgresPlace, error: unknown): unknown {
  const server = `Postgres (${serverName(place)})`;
  if (error instanceof LinkError) return new Error(`The connection to ${server} broke.`, { cause: error });
  if (!isDatabaseError(error)) return error;
  const sentence =
    error.code === NO_ROOM
      ? `The disk of ${server} is full.`
      : error.code === NO_RIGHT
        ? `${server} does not let this role do that: ${error.message}.`
        : `${server} refused what it was told: ${error.message}.`;
  return new Error(sentence, { cause: error });
}
