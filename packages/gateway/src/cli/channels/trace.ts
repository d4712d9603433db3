import { GatewayError, type Trace, type TraceStep } from "@agent-gateway/contract";
import { askFor } from "../ask.ts";
import { CliError } from "../errors.ts";
import { last } from "../flags.ts";
import { print, printJson, table } from "../output.ts";
import { type ChannelsCall, needed } from "./call.ts";

interface TraceCall extends Omit<ChannelsCall, "words"> {
  message: string | undefined;
  /** Undefined means any agent that the key can reach. */
  agentId: string | undefined;
}

/** Details of a step besides its time. */
const detailOf = ({ state, purpose, attempts, providerId, reason, endedAt, at }: TraceStep): string =>
  [
    purpose,
    state,
    attempts !== undefined && attempts > 1 && `${attempts} attempts`,
    providerId && `id ${providerId}`,
    typeof endedAt === "number" && at !== null && `took ${endedAt - at} ms`,
    reason,
  ]
    .filter(Boolean)
    .join(", ");

const clockTime = (at: number | null) => (at === null ? "not yet" : new Date(at).toISOString());

/** A trace for people. */
export function describeTrace(agentId: string, { message, steps }: Trace): string {
  const { channel, account, chatId, state, receivedAt, senderId, requestId } = message;
  const facts = {
    agent: agentId,
    channel: account ? `${channel} (${account})` : channel,
    chat: chatId,
    ...(senderId !== null && { sender: senderId }),
    ...(requestId !== null && { request: requestId }),
    state,
  };
  const head = Object.entries(facts).map(([name, value]) => `${name}: ${value}\n`);
  const rows = steps.map((step) => ({
    step: step.step,
    time: clockTime(step.at),
    after: step.at === null ? "" : `+${step.at - receivedAt} ms`,
    detail: detailOf(step),
  }));
  return `${head.join("")}\n${table(rows)}`;
}

/** Finds a message with one agent, or with any that the key can reach, and shows its trace. */
export async function traceOf({ connection, parsed, json, message, agentId }: TraceCall): Promise<number> {
  const messageId = needed(message, "message");
  const channel = last(parsed, "channel");
  const ids =
    agentId === undefined ? (await askFor(connection, "listAgents")).agents.map(({ id }) => id) : [agentId];
  for (const id of ids) {
    try {
      const found = await askFor(connection, "traceMessage", {
        params: { agentId: id, messageId },
        query: channel === undefined ? {} : { channel },
      });
      if (json) await printJson({ agent: id, ...found });
      else await print(describeTrace(id, found));
      return 0;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== "NOT_FOUND") throw error;
    }
  }
  throw new CliError("No channel message has this id.");
}
