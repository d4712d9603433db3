import { CHANNEL_NAMES, type RouteName, type Waiting, waitingOf } from "@agent-gateway/contract";
import { ago, askFor } from "../ask.ts";
import type { Connection } from "../connection.ts";
import { cliRoutes } from "../fields.ts";
import { last } from "../flags.ts";
import { print, printJson, table } from "../output.ts";
import { type ChannelsCall, channelNamed, needed } from "./call.ts";

/** `devicechat` accounts to query: the named one, else all. */
async function accountsOf(connection: Connection, agentId: string, named: string | undefined) {
  if (named !== undefined) return [named];
  const { agent } = await askFor(connection, "getAgent", { params: { agentId } });
  const ids = agent.devicechat_accounts.map((account) => String((account as { id?: unknown }).id));
  return ids.length > 0 ? ids : [undefined];
}

/** `channels pending <agent> [channel]`: all pending requests, oldest first. */
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
      waiting.push(
        ...waitingOf(channel, (await response.json()) as Parameters<typeof waitingOf>[1], account),
      );
    }
  }
  waiting.sort((a, b) => a.since - b.since);
  if (json) await printJson({ pending: waiting });
  else if (waiting.length === 0) await print("No one is waiting.\n");
  else await print(table(waiting.map(({ senderId: _, since, ...row }) => ({ ...row, since: ago(since) }))));
  return 0;
}
