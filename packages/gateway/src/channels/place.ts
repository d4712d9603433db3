import type { AgentConfig } from "../config/index.ts";
import { CHANNELS, type ChannelName, type ChannelPlace } from "./types.ts";

/** Identifies a place in maps. */
export const placeKey = ({ agentId, channel, account }: ChannelPlace): string =>
  `${agentId}/${channel}/${account}`;

/** The chat id under which history keeps a chat of a channel. */
export const storedChatId = (channel: string, chatId: string): string => `${channel}-${chatId}`;

/** The place of a row; its channel name was valid when the row was written. */
export const placeOf = (row: { agent_id: string; channel: string; account: string }): ChannelPlace => ({
  agentId: row.agent_id,
  channel: row.channel as ChannelName,
  account: row.account,
});

/** True when the agent's entry has what the channel needs to send, even while the channel is off. */
export function isConfigured(agent: AgentConfig, channel: ChannelName): boolean {
  switch (channel) {
    case "botchat":
    case "guildchat":
    case "teamchat":
      return Boolean(agent[channel]?.botToken);
    case "devicechat":
      return agent.devicechat !== undefined;
    case "cloudchat":
      return Boolean(agent.cloudchat?.accessToken && agent.cloudchat.phoneNumberId);
    case "sigchat":
      return Boolean(agent.sigchat?.channelAccessToken);
    default:
      return channel satisfies never;
  }
}

/** True when the agent's entry enables the channel and has the required settings. */
export const isEnabled = (agent: AgentConfig, channel: ChannelName): boolean =>
  agent[channel]?.enabled === true && isConfigured(agent, channel);

/** Accounts of `devicechat`: `default` while none is configured. */
export function deviceAccounts(agent: AgentConfig): string[] {
  const ids = (agent.devicechat?.accounts ?? []).map(({ id }) => id);
  return ids.length > 0 ? ids : ["default"];
}

/** All places of an agent that should be connected. */
export function placesOf(agent: AgentConfig): ChannelPlace[] {
  return CHANNELS.filter((channel) => isEnabled(agent, channel)).flatMap((channel) =>
    (channel === "devicechat" ? deviceAccounts(agent) : [""]).map((account) => ({
      agentId: agent.id,
      channel,
      account,
    })),
  );
}

/** Fields that decide who may write: a change to these alone keeps the connection. */
const POLICY = new Set([
  "dmPolicy",
  "dmAllowlist",
  "groupPolicy",
  "groupAllowlist",
  "pairing",
  "requireMention",
  "label",
  "coalesceMs",
  "progressMs",
  "accounts",
]);

/** Changes exactly when a place has to be reconnected. */
export function connectionKey(
  agent: AgentConfig,
  place: ChannelPlace,
  publicUrl: string | undefined,
): string {
  const connecting = (fields: object) => Object.entries(fields).filter(([name]) => !POLICY.has(name));
  const account = agent.devicechat?.accounts.find(({ id }) => id === place.account);
  // An account that is not in the list yet has the defaults.
  const { sendReadReceipts = true, reactionLevel = "ack" } = account ?? {};
  return JSON.stringify([
    agent.workspace,
    publicUrl,
    connecting(agent[place.channel] ?? {}),
    place.channel === "devicechat" ? [sendReadReceipts, reactionLevel] : [],
  ]);
}
