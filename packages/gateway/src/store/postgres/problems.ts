import { GatewayError } from "@agent-gateway/contract";
import { UnsettledError } from "../failure.ts";
import { type DatabaseError, isDatabaseError } from "./errors.ts";
import { LinkError } from "./link.ts";

const RETRY_AFTER_SECONDS = "2";

/** What everyone is told while the store does not answer. */
export const away = (cause?: unknown): GatewayError =>
  new GatewayError("UNAVAILABLE", "The gateway's store does not answer at the moment; nothing was stored.", {
    headers: { "retry-after": RETRY_AFTER_SECONDS },
    cause,
  });

/** The same, for a unit that may have been stored all the same. */
export const unsettled = (cause: unknown, outcome: Promise<boolean>): UnsettledError =>
  new UnsettledError({ headers: { "retry-after": RETRY_AFTER_SECONDS }, cause }, outcome);

/**
 * The server could not do it now, whatever the statement was: no room or memory, too many connections, only reading (a
 * standby), out of time, a lock that another transaction holds, or the tables taken away from us.
 */
export function isTemporary(error: unknown): boolean {
  if (!isDatabaseError(error)) return false;
  const { code = "" } = error;
  return (
    code.startsWith("53") ||
    ["25006", "55P03", "57014", "58030"].includes(code) ||
    isConflict(error) ||
    isLost(error)
  );
}

/** No such table or schema, or no right to use it. All were there at the start, so this is nothing that we asked wrongly. */
export const isLost = (error: unknown): error is DatabaseError =>
  isDatabaseError(error) && ["42P01", "3F000", "42501"].includes(error.code ?? "");

/** Two transactions got into each other's way; this one can be tried again at once. */
export function isConflict(error: unknown): boolean {
  return isDatabaseError(error) && (error.code === "40001" || error.code === "40P01");
}

/** What a room gets for an error of a statement or of a connection. */
export const toldAs = (error: unknown): unknown =>
  error instanceof LinkError || isTemporary(error) ? away(error) : error;
