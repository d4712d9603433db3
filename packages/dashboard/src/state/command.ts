import { COMMAND } from "@agent-gateway/contract";
import type { CommandReply } from "../api/types.ts";

/** True for a text that the gateway takes as a slash command. */
export const isCommand = (text: string): boolean => COMMAND.test(text.trim());

const count = (value: unknown, noun: string) => `${value} ${noun}${value === 1 ? "" : "s"}`;

/** Describes a command's result in a sentence. */
export function describeResult({ command, result }: CommandReply): string {
  switch (command) {
    case "/session":
      return `**${result.name}**: ${count(result.messageCount, "message")}, ${result.contextPercent} % of the context used.`;
    case "/clear":
      return "All messages in this session have been deleted.";
    case "/compact":
      return result.archivedMessages === 0
        ? "The session is short, so there was nothing to compact."
        : `Summarised ${count(result.archivedMessages, "older message")} and kept ${result.keptMessages}.`;
    case "/stop":
      return result.stopped ? "Stopped." : "Nothing was running.";
    case "/restart":
      return "The agent's process is restarting.";
    case "/model":
      return describeModel(result);
    default:
      return `\`${command}\`: \`${JSON.stringify(result)}\``;
  }
}

function describeModel({ model, models }: Record<string, unknown>): string {
  if (!Array.isArray(models)) return `This session now uses **${model}**.`;
  const lines = (models as { id: string; alias: string; name: string }[]).map(
    ({ id, alias, name }) => `- \`${alias || id}\`: ${name}`,
  );
  const current = model ? `This session uses **${model}**.` : "This session uses the agent's own model.";
  return lines.length > 0 ? `${current} To choose from:\n\n${lines.join("\n")}` : current;
}
