import { GatewayError, type Model } from "@agent-gateway/contract";
import type { Button, WebApp } from "../types.ts";

/** A slash command, as sessions read it. */
export interface Command {
  name: "/session" | "/clear" | "/compact" | "/stop" | "/restart" | "/model";
  argument: string;
}

export interface CommandText {
  text: string;
  buttons?: readonly Button[];
  webApp?: WebApp;
}

/** Commands that do not wait for earlier messages. */
const URGENT = /^\/(?:stop|session|restart|model|help|start|cli)(?:\s|$)/i;
export const isUrgent = (text: string): boolean => URGENT.test(text.trim());

/** What messengers send automatically when somebody opens a bot, and what people try first. */
export const isHelp = (text: string): boolean => /^\/(?:start|help)(?:\s|$)/i.test(text.trim());

/** The command that opens the agent's terminal, where it has one. */
export const isCli = (text: string): boolean => /^\/cli(?:\s|$)/i.test(text.trim());

/** Limit on the models in a picker: providers limit the number of buttons, and no one reads more. */
const MAX_BUTTONS = 10;

export function helpText(commands: readonly { name: string; description: string }[]): string {
  const lines = commands.map(({ name, description }) => `${name} - ${description}`);
  return `Send a message to talk to the agent. Commands:\n\n${lines.join("\n")}`;
}

/** Told when the process that `/restart` started is there. */
export const AGENT_IS_BACK = "The agent is back.";

/** A command's result as text. */
export function describeResult(command: string, result: Readonly<Record<string, unknown>>): CommandText {
  switch (command) {
    case "/session":
      return {
        text: `Session: ${result.name}\nMessages: ${result.messageCount}\nContext in use: ${result.contextPercent} %`,
      };
    case "/clear":
      return { text: "This conversation was cleared." };
    case "/compact":
      return {
        text:
          result.archivedMessages === 0
            ? "There is nothing to compact yet."
            : `Compacted: ${result.archivedMessages} messages summarised, ${result.keptMessages} kept.`,
      };
    case "/stop":
      return { text: result.stopped ? "Stopped." : "Nothing is running." };
    case "/restart":
      return { text: "The agent is restarting." };
    case "/model":
      return modelText(result);
    default:
      return { text: "Done." };
  }
}

function modelText({ model, models }: Readonly<Record<string, unknown>>): CommandText {
  if (!Array.isArray(models)) return { text: `This session now uses ${model}.` };
  const list = models as Model[];
  const current = model ? `Model of this session: ${model}.` : "This session uses the agent's own model.";
  if (list.length === 0) return { text: `${current}\nChange it with /model <id>.` };
  const lines = list.map(({ alias, name }) => `/model ${alias} - ${name}`);
  return {
    text: `${current}\n\n${lines.join("\n")}`,
    buttons: list
      .slice(0, MAX_BUTTONS)
      .map(({ alias, name }) => ({ label: name, command: `/model ${alias}` })),
  };
}

/** The message for a command that failed; undefined if the reason does not concern the user. */
export function refusalText(error: unknown): string | undefined {
  return error instanceof GatewayError && error.status < 500 ? error.message : undefined;
}
