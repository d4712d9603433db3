import { splitAllowed } from "../mcp-names.ts";
import type { OpenOptions } from "../types.ts";
import { GATEWAY_SERVER } from "./tool-server.ts";

/** How the process finds its conversation. */
export type Conversation = { type: "new"; id: string } | { type: "resume"; id: string };

/** Claude Code reserves about 33,000 tokens; with a window below this it would compact before it began (2.1.329). */
const MIN_WINDOW_TOKENS = 60_000;

/**
 * Tools of Claude Code that reach beyond their session or wait for someone who is not there: other sessions on the
 * machine, unsolicited turns, questions to a terminal.
 */
const WITHHELD_TOOLS = [
  "ListAgents",
  "SendMessage",
  "CronCreate",
  "CronDelete",
  "CronList",
  "ScheduleWakeup",
  "Monitor",
  "AskUserQuestion",
  "EnterPlanMode",
  "ExitPlanMode",
  "EnterWorktree",
  "ExitWorktree",
];

export type ArgumentOptions = Pick<OpenOptions, "allowTools" | "instructions" | "tools"> & {
  /** File that lists tool servers outside the gateway. */
  mcpFile?: string | undefined;
};

/**
 * Arguments of one start. Except for `optional` ones all flags are as old as the stream-JSON mode itself, so that a
 * program that merely speaks the protocol can ignore them.
 * @param optional flags that the installed version is known to have.
 */
export function buildArguments(
  options: ArgumentOptions,
  conversation: Conversation,
  model: string | undefined,
  optional: ReadonlySet<string>,
): string[] {
  const args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];
  args.push("--verbose", "--include-partial-messages", ...about(conversation, model));
  // Every tool use is asked over the control channel and answered there by the agent's configuration.
  args.push("--permission-prompt-tool", "stdio", ...toolArguments(options));
  const servers = options.tools.length > 0 ? { [GATEWAY_SERVER]: { type: "sdk", name: GATEWAY_SERVER } } : {};
  args.push("--mcp-config", JSON.stringify({ mcpServers: servers }));
  if (options.mcpFile !== undefined) args.push(options.mcpFile);
  args.push("--strict-mcp-config", ...instructionArguments(options, optional));
  return args;
}

/**
 * Arguments of a start in a terminal, where nobody is asked for permission.
 * @param settings for the program, as JSON, where the installed version is known to take them so
 */
export function buildTerminalArguments(
  options: ArgumentOptions & { settings: string },
  conversation: Conversation,
  model: string | undefined,
  optional: ReadonlySet<string>,
): string[] {
  const args = [...about(conversation, model), "--dangerously-skip-permissions", ...toolArguments(options)];
  args.push("--mcp-config", options.mcpFile ?? JSON.stringify({ mcpServers: {} }), "--strict-mcp-config");
  args.push(...instructionArguments(options, optional));
  if (optional.has("--settings")) args.push("--settings", options.settings);
  return args;
}

function about(conversation: Conversation, model: string | undefined): string[] {
  return [
    ...(model === undefined ? [] : ["--model", model]),
    conversation.type === "resume" ? "--resume" : "--session-id",
    conversation.id,
  ];
}

function toolArguments({ allowTools }: ArgumentOptions): string[] {
  if (allowTools === true) return ["--disallowedTools", WITHHELD_TOOLS.join(",")];
  // Reading tools do not ask for permission, so tools that are not allowed must be absent.
  return ["--tools", allowTools === false ? "" : splitAllowed(allowTools).program.join(",")];
}

function instructionArguments({ instructions }: ArgumentOptions, optional: ReadonlySet<string>): string[] {
  return [
    ...(instructions === undefined ? [] : ["--append-system-prompt", notAFlag(instructions)]),
    // Otherwise a resumed conversation keeps the instructions from its first start.
    ...(optional.has("--system-prompt-snapshot") ? ["--system-prompt-snapshot", "off"] : []),
  ];
}

/** Agents can write their instructions, which must not pass for a flag. */
const notAFlag = (text: string): string => (text.startsWith("-") ? `\n${text}` : text);

/** Settings of the agent program that follow from how the gateway runs it. */
export function runtimeEnvironment(
  contextWindow: number | undefined,
  configDir: string | undefined,
): Record<string, string> {
  return {
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    // Work that continues after the answer would write into the next turn.
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
    CLAUDE_CODE_DISABLE_CRON: "1",
    ...(contextWindow !== undefined && contextWindow >= MIN_WINDOW_TOKENS
      ? { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(contextWindow) }
      : {}),
    ...(configDir === undefined ? {} : { CLAUDE_CONFIG_DIR: configDir }),
  };
}
