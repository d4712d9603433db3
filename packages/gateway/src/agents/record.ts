import type { agent } from "@agent-gateway/contract";
import type * as z from "zod";
import type { AgentConfig } from "../config/index.ts";

/** An agent as the API shows it; holds no secret. */
export type AgentRecord = z.output<ReturnType<typeof agent>>;

/** The channels' state for one agent. */
export type ChannelView = Pick<AgentRecord, "channels" | "devicechat_accounts">;

/** The URL without user, password, query and fragment, which can contain keys. */
function publicAddress(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const { origin, pathname } = new URL(address);
  return origin === "null" ? undefined : origin + pathname;
}

/** Builds the record, without commands, arguments, keys and variables: each can contain a secret. */
export function agentRecord(
  config: AgentConfig,
  channels: ChannelView,
  connectors: AgentRecord["connectors"],
  runtimeStatus: AgentRecord["runtime_status"],
): AgentRecord {
  const { type, provider, model, baseUrl } = config.runtime;
  const address = baseUrl === undefined ? undefined : publicAddress(baseUrl);
  return {
    id: config.id,
    name: config.name,
    description: config.description,
    model: config.model ?? null,
    runtime: {
      type,
      ...(provider !== undefined && { provider }),
      ...(model !== undefined && { model }),
      ...(address !== undefined && { baseUrl: address }),
    },
    runtime_status: runtimeStatus,
    allow_tools: config.allowTools,
    orchestration_enabled: config.orchestration.enabled,
    connectors,
    channels: channels.channels,
    devicechat_accounts: channels.devicechat_accounts,
  };
}
