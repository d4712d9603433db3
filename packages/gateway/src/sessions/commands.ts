import { COMMAND, GatewayError } from "@agent-gateway/contract";

/** The slash commands, for `/api/v1/commands` and the errors that list them. */
export const COMMANDS = [
  {
    name: "/session",
    usage: "/session",
    description: "Name, message count and context use of this session.",
  },
  { name: "/clear", usage: "/clear", description: "Forget everything said in this session." },
  { name: "/compact", usage: "/compact", description: "Summarise the older part of this session." },
  { name: "/stop", usage: "/stop", description: "Interrupt the running turn." },
  { name: "/restart", usage: "/restart", description: "Restart this session's agent process." },
  {
    name: "/model",
    usage: "/model [id or alias]",
    description: "List the models, or set this session's model.",
  },
] as const;
export type CommandName = (typeof COMMANDS)[number]["name"];

export interface Command {
  name: CommandName;
  argument: string;
}

/**
 * Parses a slash command. Undefined for a message: text that does not start with `/` and a letter, or whose first word
 * contains another `/`. Throws `UNKNOWN_COMMAND` for any other `/word`.
 */
export function parseCommand(message: string): Command | undefined {
  const match = COMMAND.exec(message.trim());
  if (!match) return undefined;
  const word = `/${match[1]!.toLowerCase()}`;
  const known = COMMANDS.find((command) => command.name === word);
  if (!known) {
    const list = COMMANDS.map((command) => command.name).join(", ");
    throw new GatewayError(
      "UNKNOWN_COMMAND",
      `There is no command ${word.slice(0, 40)}; the commands are ${list}.`,
    );
  }
  return { name: known.name, argument: (match[2] ?? "").trim() };
}
