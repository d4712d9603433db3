import type { RouteName } from "@agent-gateway/contract";
import { askFor } from "../ask.ts";
import { CliError, UsageError } from "../errors.ts";
import { cliRoutes } from "../fields.ts";
import { last, type Parsed } from "../flags.ts";
import { showReply } from "../output.ts";
import { type Channel, type ChannelsCall, channelNamed, needed } from "./call.ts";

const KEYS = ["dm_policy", "group_policy", "pairing", "require_mention"] as const;
const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Changes to make, by flag name. */
function changesOf(parsed: Parsed): [string, unknown][] {
  return KEYS.flatMap((key) => {
    const text = last(parsed, key);
    if (text === undefined) return [];
    return [[key, key === "pairing" || key === "require_mention" ? text === "true" : text]];
  });
}

/** The policy from the agent's record. */
async function present({ connection }: ChannelsCall, agentId: string, channel: Channel, account?: string) {
  const { agent } = await askFor(connection, "getAgent", { params: { agentId } });
  if (channel !== "devicechat") return agent.channels[channel] ?? null;
  const accounts = agent.devicechat_accounts as { id: string }[];
  const found = account === undefined ? accounts[0] : accounts.find(({ id }) => id === account);
  if (!found) throw new CliError("The agent has no such devicechat account.");
  return found;
}

/** `channels policy <agent> <channel>`: shows the policy, after the changes that flags ask for. */
export async function policyCommand(call: ChannelsCall): Promise<number> {
  const { connection, parsed, words, json } = call;
  const agentId = needed(words[0], "agent");
  const channel = channelNamed(needed(words[1], "channel"));
  const account = last(parsed, "account");
  if (account !== undefined && channel !== "devicechat") {
    throw new UsageError("--account is for devicechat only.");
  }
  const changes = changesOf(parsed);
  const params = { agentId };
  const own = cliRoutes.find(
    ({ cli }) => cli.noun === "channels" && cli.verb === "policy" && cli.fixed?.channel === channel,
  );
  if (changes.length > 0 && own) {
    const body = Object.fromEntries(changes.map(([key, value]) => [camel(key), value]));
    const response = await connection.call(own.name as RouteName, { params, body });
    await showReply(await response.json(), json);
    return 0;
  }
  if (changes.length > 0 && channel === "cloudchat") {
    throw new CliError("cloudchat is configured in config.json only.");
  }
  if (changes.length > 0) {
    const fields = changes.map(([key, value]) => [`${channel}_${key}`, value]);
    if (account !== undefined) fields.push(["devicechat_account_id", account]);
    await askFor(connection, "updateAgent", { params, body: Object.fromEntries(fields) });
  }
  await showReply(await present(call, agentId, channel, account), json);
  return 0;
}
