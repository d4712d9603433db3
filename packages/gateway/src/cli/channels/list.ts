import type { ChannelState } from "@agent-gateway/contract";
import { ago, askFor } from "../ask.ts";
import { print, printJson, table } from "../output.ts";
import type { ChannelsCall } from "./call.ts";

type Row = ChannelState & { agent: string };

const shown = ({
  agent,
  channel,
  enabled,
  connected,
  queued,
  lastInboundAt,
  lastOutboundAt,
  lastError,
}: Row) => ({
  agent,
  channel,
  connected: enabled ? (connected ? "yes" : "no") : "off",
  waiting: queued,
  "last in": ago(lastInboundAt),
  "last out": ago(lastOutboundAt),
  "last error": lastError,
});

/** `channels list [agent]`: all channels of one agent, or the enabled channels of all agents. */
export async function listCommand({ connection, words: [agentId], json }: ChannelsCall): Promise<number> {
  const ids =
    agentId === undefined ? (await askFor(connection, "listAgents")).agents.map(({ id }) => id) : [agentId];
  const rows: Row[] = [];
  for (const id of ids) {
    const { channels } = await askFor(connection, "listChannels", { params: { agentId: id } });
    const wanted = channels.filter(({ enabled }) => enabled || agentId !== undefined);
    rows.push(...wanted.map((state) => ({ agent: id, ...state })));
  }
  if (json) await printJson({ channels: rows });
  else if (rows.length > 0) await print(table(rows.map(shown)));
  else await print("No channel is on. See docs/channels for how to connect one.\n");
  return 0;
}
