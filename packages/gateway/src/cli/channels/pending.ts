import { CHANNEL_NAMES, type RouteName } from "@agent-gateway/contract";
import type { Connection } from "../connection.ts";
import { cliRoutes } from "../fields.ts";
import { last } from "../flags.ts";
import { print, printJson, table } from "../output.ts";
import { ago, askFor } from "./ask.ts";
import { type Channel, type ChannelsCall, channelNamed, needed } from "./call.ts";

/** Who waits, in the same words for all channels. */
interface Waiting {
  channel: Channel;
  account?: string;
  kind: string;
  /** Of the sender, or of the group that asks. */
  id: string;
  name: string | null;
  code: string | null;
  since: number;
}
/** An entry as the channels' routes have it, in either of their forms. */
interface Entry {
  kind: string;
  code?: string;
  senderId?: string;
  senderName?: string;
  chatId?: string;
  guildId?: string | null;
  createdAt?: number;
  userId?: string;
  displayName?: string;
  firstSeen?: number;
}

const waitingOf = (channel: Channel, account: string | undefined, entry: Entry): Waiting => ({
  channel,
  ...(account !== undefined && { account }),
  kind: entry.kind,
  id:
    entry.userId ??
    (entry.kind === "guild" ? entry.guildId : entry.kind === "group" ? entry.chatId : entry.senderId) ??
    "",
  name: entry.displayName ?? entry.senderName ?? null,
  code: entry.code ?? null,
  since: entry.firstSeen ?? entry.createdAt ?? 0,
});

/** Accounts of `devicechat` to ask: the named one, else all. */
async function accountsOf(connection: Connection, agentId: string, named: string | undefined) {
  if (named !== undefined) return [named];
  const { agent } = await askFor(connection, "getAgent", { params: { agentId } });
  const ids = agent.devicechat_accounts.map((account) => String((account as { id?: unknown }).id));
  return ids.length > 0 ? ids : [undefined];
}

/** `channels pending <agent> [channel]`: all that wait, oldest first. */
export async function pendingCommand({ connection, parsed, words, json }: ChannelsCall): Promise<number> {
  const agentId = needed(words[0], "agent");
  const channels = words[1] === undefined ? CHANNEL_NAMES : [channelNamed(words[1])];
  const waiting: Waiting[] = [];
  for (const channel of channels) {
    const route = cliRoutes.find(
      ({ cli }) => cli.noun === "channels" && cli.verb === "pending" && cli.fixed?.channel === channel,
    )!;
    const accounts =
      channel === "devicechat" ? await accountsOf(connection, agentId, last(parsed, "account")) : [undefined];
    for (const account of accounts) {
      const query = account === undefined ? {} : { account_id: account };
      const response = await connection.call(route.name as RouteName, { params: { agentId }, query });
      const lists = Object.values((await response.json()) as Record<string, Entry[]>);
      waiting.push(...lists.flat().map((entry) => waitingOf(channel, account, entry)));
    }
  }
  waiting.sort((a, b) => a.since - b.since);
  if (json) await printJson({ pending: waiting });
  else if (waiting.length === 0) await print("Nobody waits.\n");
  else await print(table(waiting.map(({ since, ...row }) => ({ ...row, since: ago(since) }))));
  return 0;
}
