import { below, exchange, jsonOf } from "../support/exchange.ts";

/** What the provider says of a token. */
export type TokenCheck =
  | { ok: true; username: string | undefined }
  /** A user-facing message. */
  | { refused: string }
  | { unreachable: true };

/** Where the bot API is, unless the settings say otherwise. */
const API_ROOT = "https://api.telegram.org";

/** The bot API's address without a slash at its end. */
export const apiRoot = ({ apiBaseUrl }: { apiBaseUrl?: string | undefined }): string =>
  (apiBaseUrl ?? API_ROOT).replace(/(?<!\/)\/+$/, "");

const REFUSED = "Telegram does not know this bot token; copy it again from @BotFather.";

/** Asks the provider whether a bot token is valid. Never rejects; limit it with `signal`. */
export async function checkToken(
  settings: { botToken: string; apiBaseUrl?: string | undefined },
  signal: AbortSignal,
): Promise<TokenCheck> {
  // It becomes part of an address.
  if (!/^[\w:-]+$/.test(settings.botToken)) return { refused: REFUSED };
  try {
    const answer = await exchange(below(apiRoot(settings), `/bot${settings.botToken}/getMe`), { signal });
    const body = jsonOf(answer);
    if (body?.ok === true) {
      const { username } = (body.result ?? {}) as { username?: unknown };
      return { ok: true, username: typeof username === "string" ? username : undefined };
    }
    return answer.status === 401 || answer.status === 404 ? { refused: REFUSED } : { unreachable: true };
  } catch {
    return { unreachable: true };
  }
}
