import type { AgentConfig } from "../../config/index.ts";
import { type Answer, below, exchange } from "../support/exchange.ts";

export const PROVIDER = "LINE";
/** Source: https://developers.line.biz/en/reference/messaging-api/#domain-name */
const API = "https://api.line.me";
const DATA_API = "https://api-data.line.me";

export type Settings = Pick<
  NonNullable<AgentConfig["sigchat"]>,
  "channelAccessToken" | "apiBaseUrl" | "dataApiBaseUrl"
>;

/**
 * Calls of the messaging API. The provider's own client cannot end a call, and leaves out the path of a base URL; the
 * shapes of the bodies are its own.
 */
export function createApi({ channelAccessToken, apiBaseUrl, dataApiBaseUrl }: Settings) {
  const authorization = `Bearer ${channelAccessToken ?? ""}`;
  return {
    get: (path: string, signal: AbortSignal): Promise<Answer> =>
      exchange(below(apiBaseUrl ?? API, path), { headers: { authorization }, signal }),

    post: (
      path: string,
      body: object,
      signal: AbortSignal,
      { headers, begin }: { headers?: Record<string, string>; begin?: () => void } = {},
    ): Promise<Answer> =>
      exchange(below(apiBaseUrl ?? API, path), {
        method: "POST",
        headers: { authorization, "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
        signal,
        ...(begin && { begin }),
      }),

    /** Where a file lies, and what to show for it. */
    blob: (messageId: string) => ({
      url: below(dataApiBaseUrl ?? DATA_API, `/v2/bot/message/${encodeURIComponent(messageId)}/content`),
      headers: { authorization },
    }),
  };
}
export type Api = ReturnType<typeof createApi>;
