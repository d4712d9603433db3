import { type ErrorDetail, GatewayError } from "@agent-gateway/contract";
import { hasVariable } from "../config/index.ts";
import { isRecord } from "../lib/is-record.ts";
import type { UpdateAgent } from "./input.ts";

/** Channels that an update can change; `cloudchat` is configured only in the file. */
export const PATCHABLE = ["botchat", "guildchat", "devicechat", "sigchat", "teamchat"] as const;
export type PatchableChannel = (typeof PATCHABLE)[number];
type Raw = Record<string, unknown>;

/** An update of one channel, by the keys of its block; null clears. */
export interface ChannelPatch {
  channel: PatchableChannel;
  /** Keys of the block itself. */
  plain: ReadonlyMap<string, unknown>;
  /** Keys of the `devicechat` account that the update names. */
  account: ReadonlyMap<string, unknown>;
  accountId: string | undefined;
  secrets: ReadonlyMap<string, string | null>;
}

const SECRETS = new Set([
  "botToken",
  "signingSecret",
  "channelSecret",
  "channelAccessToken",
  "webhookSecret",
]);
const ACCOUNT = new Set([
  "label",
  "dmPolicy",
  "dmAllowlist",
  "pairing",
  "groupPolicy",
  "groupAllowlist",
  "requireMention",
  "sendReadReceipts",
  "reactionLevel",
]);
const TEAM_PAIR = ["teamchat_bot_token", "teamchat_signing_secret"] as const;

const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const snake = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Name of a field of the update: `teamchat_bot_token`. */
export const fieldOf = (channel: PatchableChannel, key: string): string => `${channel}_${snake(key)}`;

function channelPatch(channel: PatchableChannel, input: UpdateAgent): ChannelPatch | undefined {
  const fields = Object.entries(input)
    .filter(([name, value]) => name.startsWith(`${channel}_`) && value !== undefined)
    .map(([name, value]) => [camel(name.slice(channel.length + 1)), value] as const);
  const rest = fields.filter(([key]) => key !== "accountId");
  if (rest.length === 0) return undefined;
  const isAccount = (key: string) => channel === "devicechat" && ACCOUNT.has(key);
  const values = new Map<string, unknown>(rest);
  // The older form of a policy sets two things.
  if (values.get("dmPolicy") === "pairing") {
    values.set("dmPolicy", "allowlist");
    if (!values.has("pairing")) values.set("pairing", true);
  }
  for (const [key, value] of values) if (Array.isArray(value)) values.set(key, [...new Set(value)]);
  const of = (test: (key: string) => boolean) => [...values].filter(([key]) => test(key));
  return {
    channel,
    plain: new Map(of((key) => !SECRETS.has(key) && !isAccount(key))),
    account: new Map(of(isAccount)),
    accountId: input.devicechat_account_id,
    secrets: new Map(of((key) => SECRETS.has(key)) as [string, string | null][]),
  };
}

/**
 * The channel part of an update.
 * @throws {GatewayError} `INVALID_REQUEST` for fields that do not fit together; `FORBIDDEN` when a key below admin
 * says where a bot's token is sent to.
 */
export function channelPatches(input: UpdateAgent, isAdmin: boolean): ChannelPatch[] {
  const details: ErrorDetail[] = [];
  const [token, secret] = TEAM_PAIR.map((field) => input[field]);
  if ((token === undefined) !== (secret === undefined) || (token === null) !== (secret === null)) {
    const path = TEAM_PAIR[token === undefined || (token === null && secret !== undefined) ? 0 : 1];
    details.push({ path, message: "teamchat_bot_token and teamchat_signing_secret go together" });
  }
  const patches = PATCHABLE.map((channel) => channelPatch(channel, input)).filter(
    (patch) => patch !== undefined,
  );
  for (const { channel, plain, account } of patches) {
    for (const [key, value] of [...plain, ...account]) {
      if (typeof value !== "string" || !hasVariable(value)) continue;
      details.push({ path: fieldOf(channel, key), message: "must not refer to a variable" });
    }
  }
  if (details.length > 0) throw new GatewayError("INVALID_REQUEST", undefined, { details });
  const addressed = patches.flatMap(({ channel, plain }) =>
    [...plain.keys()].filter((key) => key.endsWith("Url")).map((key) => fieldOf(channel, key)),
  );
  if (addressed.length > 0 && !isAdmin) {
    throw new GatewayError("FORBIDDEN", `Only an admin key may set ${addressed.join(", ")}.`);
  }
  return patches;
}

function merge(into: Raw, values: ReadonlyMap<string, unknown>): void {
  for (const [key, value] of values) {
    if (value === null) delete into[key];
    else into[key] = value;
  }
}

/** The accounts of a `devicechat` block; `default` while there is none. */
function accountsOf(block: Raw): Raw[] {
  if (!Array.isArray(block.accounts) || block.accounts.length === 0) block.accounts = [{ id: "default" }];
  return (block.accounts as unknown[]).filter(isRecord);
}

/**
 * Changes the channel's block in the agent's entry of the file; secrets are references by then.
 * @throws {GatewayError} `INVALID_REQUEST` for an account that is not configured.
 */
export function applyChannelPatch(
  entry: Raw,
  { channel, plain, account, accountId }: ChannelPatch,
  references: ReadonlyMap<string, string | null>,
): void {
  const block: Raw = isRecord(entry[channel]) ? entry[channel] : {};
  merge(block, plain);
  merge(block, references);
  if (account.size > 0) {
    const accounts = accountsOf(block);
    const chosen = accountId === undefined ? accounts[0] : accounts.find(({ id }) => id === accountId);
    if (!chosen) {
      const details = [{ path: "devicechat_account_id", message: "is not an account of this agent" }];
      throw new GatewayError("INVALID_REQUEST", undefined, { details });
    }
    merge(chosen, account);
  }
  // An empty block means nothing, except that it turns `devicechat` on.
  if (Object.keys(block).length > 0 || channel === "devicechat") entry[channel] = block;
  else delete entry[channel];
}
