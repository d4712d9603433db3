import type { Connector } from "../../api/types.ts";
import { formatNumber, fullTime } from "../../components/format.ts";

/** How a connector stands, in a few words. */
export function stateOf({ connected, credentialOwner, missing, secretNames }: Connector): string {
  if (connected) return "Connected";
  if (credentialOwner === "gateway") return "Not signed in";
  if (credentialOwner === "external") return "Waits for the program that holds its access token";
  if (secretNames.length === 0) return "Its server is not configured correctly; edit it";
  return `Missing: ${missing.join(", ")}`;
}

/** What is wrong with its access; "" while nothing is. */
export function troubleOf({ refresh }: Connector): string {
  if (!refresh) return "";
  const { consecutiveFailures, unrefreshable, nextAttemptAt } = refresh;
  if (unrefreshable) return "Its access can no longer be renewed. Sign in again.";
  const times = `${formatNumber(consecutiveFailures)} ${consecutiveFailures === 1 ? "time" : "times"}`;
  const next = nextAttemptAt === null ? "Sign in again." : `Next attempt: ${fullTime(nextAttemptAt)}.`;
  return `Its access could not be renewed (${times} in a row). ${next}`;
}

const FAILURES: Readonly<Record<string, string>> = {
  access_denied: "The provider was told not to allow it.",
  connector_gone: "The connector was changed or removed meanwhile.",
  exchange_failed: "The provider's reply could not be exchanged for access; the gateway's log says why.",
  expired_link: "The link had expired, or it was used already.",
  missing_code: "The provider sent no code with its reply.",
};

/** Why a sign-in failed. The code comes from the address, so anybody can write it. */
export function signInFailure(code: string): string {
  const why = Object.hasOwn(FAILURES, code) ? FAILURES[code] : "The provider did not allow it.";
  return `The sign-in to the connector failed. ${why} Sign in again.`;
}
