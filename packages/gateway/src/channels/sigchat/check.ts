import { createApi, type Settings } from "./api.ts";

/** LINE's verdict on a token; `refused` is a user-facing message. */
export type TokenCheck = { ok: true } | { refused: string } | { unreachable: true };

/** Asks LINE whether the channel access token is valid. Never rejects; limit it with `signal`. */
export async function checkToken(settings: Settings, signal: AbortSignal): Promise<TokenCheck> {
  const { channelAccessToken } = settings;
  // It becomes a header.
  if (!channelAccessToken || !/^[\x21-\x7e]+$/.test(channelAccessToken)) return refusal;
  try {
    const { status } = await createApi(settings).get("/v2/bot/info", signal);
    if (status === 200) return { ok: true };
    return status === 401 || status === 403 ? refusal : { unreachable: true };
  } catch {
    return { unreachable: true };
  }
}

const refusal = {
  refused: "LINE does not know this channel access token; issue one in the LINE Developers console.",
};
