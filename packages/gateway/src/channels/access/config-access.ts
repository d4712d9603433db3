import { GatewayError } from "@agent-gateway/contract";
import { type AgentConfig, type ConfigStore, hasVariable } from "../../config/index.ts";
import { isRecord } from "../../lib/is-record.ts";
import type { ChannelPlace } from "../types.ts";
import { canonicalId, canonicalSet } from "./ids.ts";
import type { Knock } from "./knocks.ts";
import type { Policy, SenderChannel } from "./policy.ts";

type Raw = Record<string, unknown>;

/** The implicit account while none is configured. */
export const DEFAULT_ACCOUNT = "default";

interface Settings {
  dmPolicy?: "open" | "allowlist" | "disabled" | "pairing" | undefined;
  dmAllowlist?: readonly string[];
  groupPolicy?: Settings["dmPolicy"];
  groupAllowlist?: readonly string[];
  requireMention?: boolean | undefined;
  pairing?: boolean | undefined;
}

function settingsOf(agent: AgentConfig, channel: SenderChannel, account: string): Settings {
  if (channel !== "devicechat") return agent[channel] ?? {};
  const known = agent.devicechat?.accounts.find(({ id }) => id === account);
  if (known) return known;
  // A removed account admits no one; `default` exists while none is configured.
  return account === DEFAULT_ACCOUNT ? {} : { dmPolicy: "disabled", groupPolicy: "disabled" };
}

const ruleOf = (policy: Settings["dmPolicy"]) =>
  policy === undefined || policy === "pairing" ? "allowlist" : policy;

/** The policy in the agent's entry. */
export function configPolicy(agent: AgentConfig, channel: SenderChannel, account: string): Policy {
  const settings = settingsOf(agent, channel, account);
  return {
    dmPolicy: ruleOf(settings.dmPolicy),
    dmAllowlist: canonicalSet(channel, settings.dmAllowlist ?? []),
    groupPolicy: channel === "cloudchat" ? "disabled" : ruleOf(settings.groupPolicy),
    groupAllowlist: canonicalSet(channel, settings.groupAllowlist ?? []),
    requireMention: channel !== "sigchat" && (settings.requireMention ?? true),
    pairing: settings.dmPolicy === "pairing" || (settings.pairing ?? true),
    restrictions: new Map(),
  };
}

/** The object in the file's JSON that holds the lists; created if missing. */
function blockOf(entry: Raw, { channel, account }: ChannelPlace): Raw {
  entry[channel] ??= {};
  const block = entry[channel];
  if (!isRecord(block)) throw new GatewayError("CONFLICT", "This channel's settings cannot be changed here.");
  if (channel !== "devicechat") return block;
  if (!Array.isArray(block.accounts)) block.accounts = [];
  const accounts = block.accounts as unknown[];
  const known = accounts.find((one): one is Raw => isRecord(one) && one.id === account);
  if (known) return known;
  // The account was removed after the knock.
  if (account !== DEFAULT_ACCOUNT) throw new GatewayError("CONFLICT", "This account is not configured.");
  const made: Raw = { id: account };
  accounts.push(made);
  return made;
}

/** Adds an id to the list in `config.json`, effective at once. Existing entries stay, references included. */
export async function allowInConfig(
  config: ConfigStore,
  place: ChannelPlace,
  kind: Knock["kind"],
  id: string,
): Promise<void> {
  const { agentId, channel } = place;
  if (hasVariable(id)) throw new GatewayError("CONFLICT", "This id cannot be added to a list.");
  await config.update((raw) => {
    const entries = Array.isArray(raw.agents) ? (raw.agents as unknown[]) : [];
    const entry = entries.find((one) => isRecord(one) && one.id === agentId);
    if (!isRecord(entry)) throw new GatewayError("CONFLICT", "The agent's entry cannot be changed here.");
    const block = blockOf(entry, place);
    const key = kind === "dm" ? "dmAllowlist" : "groupAllowlist";
    const list = Array.isArray(block[key]) ? (block[key] as unknown[]) : [];
    if (list.some((one) => canonicalId(channel, String(one)) === id)) return;
    block[key] = [...list, id];
  });
}
