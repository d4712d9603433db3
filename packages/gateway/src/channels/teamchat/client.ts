import { type WebClient as Client, WebClient, type WebClientOptions } from "@slack/web-api";
import type { AgentConfig } from "../../config/index.ts";
import { onNewConnection } from "../support/exchange.ts";
import { fetchBeginning } from "../support/last-piece.ts";
import { apiRoot } from "./check.ts";

export type Settings = Pick<NonNullable<AgentConfig["teamchat"]>, "botToken" | "apiBaseUrl">;
export type { Client };

/** The library would otherwise write to the console, including sent messages. */
const silent: NonNullable<WebClientOptions["logger"]> = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => "error" as never,
  setName() {},
};

/**
 * A client for one call or a few that end with `signal`; nothing is sent twice by itself.
 * @param begin called right before each request is complete
 */
export function clientFor(
  { botToken, apiBaseUrl }: Settings,
  signal: AbortSignal,
  begin?: () => void,
): Client {
  return new WebClient(botToken, {
    slackApiUrl: `${apiRoot({ apiBaseUrl })}/`,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    logger: silent,
    fetch: (url, init) => ask(url, init, signal, begin),
  });
}

/** A wait for answers that tell none. */
const RATE_LIMIT_SECONDS = "30";

async function ask(
  url: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
  signal: AbortSignal,
  begin: (() => void) | undefined,
): Promise<Response> {
  const made = { ...init, headers: onNewConnection(init?.headers), redirect: "manual", signal } as const;
  const response = await (begin ? fetchBeginning(url, made, begin) : fetch(url, made));
  if (response.status !== 429 || response.headers.has("retry-after")) return response;
  // The library takes a 429 without a wait for a broken connection.
  const headers = new Headers(response.headers);
  headers.set("retry-after", RATE_LIMIT_SECONDS);
  return new Response(response.body, { status: 429, headers });
}
