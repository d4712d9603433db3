import type { AgentConfig } from "../config/index.ts";

/** What a provider says of a token; `refused` is a sentence for the user. */
type TokenVerdict = { ok: true } | { refused: string } | { unreachable: true };
type Checker = (settings: never, signal: AbortSignal) => Promise<TokenVerdict>;

/** Loaded when a token is judged: few gateways ever need one of them. */
const CHECKERS = {
  botchat: async (): Promise<Checker> => (await import("./botchat/check.ts")).checkToken,
  guildchat: async (): Promise<Checker> => (await import("./guildchat/check.ts")).checkToken,
  sigchat: async (): Promise<Checker> => (await import("./sigchat/check.ts")).checkToken,
  teamchat: async (): Promise<Checker> => (await import("./teamchat/check.ts")).checkToken,
};

/** Asks the channel's provider whether the token in `settings`, the channel's block, is good. Bound it by `signal`. */
export async function checkToken<C extends keyof typeof CHECKERS>(
  channel: C,
  settings: NonNullable<AgentConfig[C]>,
  signal: AbortSignal,
): Promise<TokenVerdict> {
  const check = await CHECKERS[channel]();
  return check(settings as never, signal);
}
