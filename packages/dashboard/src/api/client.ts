import { createClient, GatewayError } from "@agent-gateway/contract";

/** The gateway that served this page, with this browser's login. */
export const client = createClient({
  baseUrl: location.origin,
  fetch: async (input, init) => {
    const response = await fetch(input, init);
    if (response.status === 401) loggedOut();
    return response;
  },
});

let loggedOut: () => void = () => {};

/** Sets what happens when the gateway no longer knows this browser. */
export function onLoggedOut(handler: () => void): void {
  loggedOut = handler;
}

/** Address of a file in an agent's media folder. */
export function mediaUrl(agentId: string, mediaPath: string): string {
  const path = mediaPath.split("/").map(encodeURIComponent).join("/");
  return `/api/v1/agents/${encodeURIComponent(agentId)}/media/${path}`;
}

/** The user-facing message for any thrown value. */
export function sentence(error: unknown): string {
  if (!(error instanceof GatewayError)) {
    return "Something went wrong on this page. Reload it and try again.";
  }
  if (error.code === "UPSTREAM_UNAVAILABLE" && error.cause) {
    return "The gateway cannot be reached. Check that it is running, then try again.";
  }
  const details = error.details?.map(({ path, message }) => `${path} ${message}`).join("; ");
  return details ? `${error.message} (${details})` : error.message;
}

/** True for the error of this code. */
export const hasCode = (error: unknown, code: GatewayError["code"]): boolean =>
  error instanceof GatewayError && error.code === code;

/** What a program said that failed for the gateway; "" for any other error. */
export function outputOf(error: unknown): string {
  const output = error instanceof GatewayError ? error.extra?.stderr : undefined;
  return typeof output === "string" ? output : "";
}
