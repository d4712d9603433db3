import type { AgentConfig } from "../config/index.ts";
import type { AdapterFactory, ChannelName } from "./types.ts";

/** Loads a channel's code and its provider's library: nothing is in memory until an agent has the channel. */
export async function loadChannel(channel: ChannelName): Promise<AdapterFactory> {
  switch (channel) {
    case "botchat":
      return (await import("./botchat/index.ts")).createAdapter;
    case "guildchat":
      return (await import("./guildchat/index.ts")).createAdapter;
    case "devicechat":
      return (await import("./devicechat/index.ts")).createAdapter;
    case "cloudchat":
      return (await import("./cloudchat/index.ts")).createAdapter;
    case "sigchat":
      return (await import("./sigchat/index.ts")).createAdapter;
    case "teamchat":
      return (await import("./teamchat/index.ts")).createAdapter;
    default:
      return channel satisfies never;
  }
}

/** What a provider says about a token; `refused` is a user-facing message. */
type TokenVerdict = { ok: true } | { refused: string } | { unreachable: true };
type CheckedChannel = "botchat" | "guildchat" | "sigchat" | "teamchat";

/** Asks a channel's provider whether the token in `settings`, the channel's block, is valid. Never rejects. */
export async function checkToken<C extends CheckedChannel>(
  channel: C,
  settings: NonNullable<AgentConfig[C]>,
  signal: AbortSignal,
): Promise<TokenVerdict> {
  const { botToken = "", apiBaseUrl } = settings as NonNullable<AgentConfig["botchat"]>;
  switch (channel) {
    case "botchat":
      return (await import("./botchat/index.ts")).checkToken({ botToken, apiBaseUrl }, signal);
    case "guildchat":
      return (await import("./guildchat/index.ts")).checkToken({ botToken, apiBaseUrl }, signal);
    case "sigchat":
      return (await import("./sigchat/index.ts")).checkToken(
        settings as NonNullable<AgentConfig["sigchat"]>,
        signal,
      );
    default:
      return (await import("./teamchat/index.ts")).checkToken(
        settings as NonNullable<AgentConfig["teamchat"]>,
        signal,
      );
  }
}
