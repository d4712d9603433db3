import { API_VERSION, apiBase } from "./address.ts";

/** What the provider says of a token. */
export type TokenCheck =
  | { ok: true }
  /** A user-facing message. */
  | { refused: string }
  | { unreachable: true };

/** For users whose token is not one. */
export const TOKEN_REFUSED =
  "Discord does not know this bot token; copy it again from the Bot page of the developer portal.";

/** Asks the provider whether a bot token is valid. Never rejects; limit it with `signal`. */
export async function checkToken(
  settings: { botToken: string; apiBaseUrl?: string | undefined },
  signal: AbortSignal,
): Promise<TokenCheck> {
  // It becomes a header.
  if (!/^[\w.+/=-]+$/.test(settings.botToken)) return { refused: TOKEN_REFUSED };
  try {
    const { status, body } = await fetch(`${apiBase(settings.apiBaseUrl)}/v${API_VERSION}/users/@me`, {
      headers: { authorization: `Bot ${settings.botToken}` },
      redirect: "manual",
      signal,
    });
    await body?.cancel();
    if (status >= 200 && status < 300) return { ok: true };
    return status === 401 || status === 403 ? { refused: TOKEN_REFUSED } : { unreachable: true };
  } catch {
    return { unreachable: true };
  }
}
