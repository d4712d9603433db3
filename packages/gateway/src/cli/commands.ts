import { connect } from "./connection.ts";
import { UsageError } from "./errors.ts";
import { chooseRoute, flagsOf } from "./fields.ts";
import { type Flag, parseFlags, takeWords } from "./flags.ts";
import {
  commandHelp,
  commandsOf,
  commandUsage,
  fullHelp,
  isLocal,
  LOCAL,
  nounHelp,
  nouns,
  verbsOf,
} from "./help.ts";
import { print } from "./output.ts";

const ROOT_USAGE = "agent-gateway <command> [arguments] [--flags]; `agent-gateway help` lists the commands.";
const wantsHelp = (tokens: readonly string[]) => {
  const end = tokens.indexOf("--");
  return tokens.slice(0, end < 0 ? undefined : end).some((token) => token === "--help" || token === "-h");
};

async function showHelp(words: readonly string[]): Promise<number> {
  const [noun, verb] = words;
  const known = noun !== undefined && (Object.hasOwn(LOCAL, noun) || nouns().includes(noun));
  const command = known ? commandsOf(noun).find((one) => one.verb === verb) : undefined;
  await print(`${command ? commandHelp(command) : known ? nounHelp(noun) : fullHelp()}\n`);
  return 0;
}

async function runRoute(noun: string, tokens: readonly string[]): Promise<number> {
  const { words, rest } = takeWords(tokens, 1);
  const [verb] = words;
  const command = commandsOf(noun).find((one) => one.verb === verb);
  if (!command) {
    const problem = verb === undefined ? `${noun} needs a command` : `${noun} has no command ${verb}`;
    throw new UsageError(`${problem}: ${verbsOf(noun).join(", ")}.`, `agent-gateway ${noun} <command>`);
  }
  try {
    const shared = new Map<string, Flag>(command.routes.flatMap((route) => [...flagsOf(route)]));
    const route = chooseRoute(command, parseFlags(rest, shared));
    const parsed = parseFlags(rest, flagsOf(route));
    const connection = connect(parsed, process.env);
    const { callRoute } = await import("./call.ts");
    return await callRoute(route, parsed, connection);
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(error.message, commandUsage(command)) : error;
  }
}

async function runLocal(noun: string, tokens: readonly string[]): Promise<number> {
  switch (noun) {
    case "api": {
      const { callApi, parseApi } = await import("./api.ts");
      const parsed = parseApi(tokens);
      return callApi(parsed, connect(parsed, process.env));
    }
    case "config":
      return (await import("./config-check.ts")).configCommand(tokens);
    case "doctor":
      return (await import("./doctor/index.ts")).doctorCommand(tokens);
    case "store":
      return (await import("./store.ts")).storeCommand(tokens);
    case "service":
      return (await import("./service/index.ts")).serviceCommand(tokens);
    case "backup":
      return (await import("./backup/index.ts")).backupCommand(tokens);
    case "channels":
    case "devicechat":
      return (await import("./channels/index.ts")).channelsCommand(tokens);
    case "trace":
      return (await import("./channels/index.ts")).traceCommand(tokens);
    case "packages":
      return (await import("./packages.ts")).changelogCommand(tokens);
    case "events":
      return (await import("./events.ts")).eventsCommand(tokens);
    case "sessions":
      return (await import("./attach.ts")).attachCommand(tokens);
    case "start":
      throw new UsageError("start must come first and does not accept connection flags.");
    default: {
      const { completionScript } = await import("./completion.ts");
      await print(completionScript(tokens[0]));
      return 0;
    }
  }
}

/**
 * Runs a command line.
 * @returns the exit code
 * @throws UsageError, CliError, GatewayError, Interrupted
 */
export async function runCommand(argv: readonly string[]): Promise<number> {
  if (argv[0] === "help") return showHelp(argv.slice(1));
  const { words, rest } = takeWords(argv, 1);
  const [noun] = words;
  if (wantsHelp(rest)) return showHelp([...words, ...takeWords(rest, 1).words]);
  if (noun === undefined) throw new UsageError("No command given.", ROOT_USAGE);
  const [verb] = takeWords(rest, 1).words;
  if (isLocal(noun, verb)) {
    try {
      return await runLocal(noun, rest);
    } catch (error) {
      if (!(error instanceof UsageError) || error.usage) throw error;
      const all = LOCAL[noun]!.map(([usage]) => usage);
      const own = all.filter((usage) => usage.startsWith(`${noun} ${verb} `));
      const lines = (own.length > 0 ? own : all).map((usage) => `agent-gateway ${usage}`);
      throw new UsageError(error.message, lines.join("\n       "));
    }
  }
  if (nouns().includes(noun)) return runRoute(noun, rest);
  const all = [...Object.keys(LOCAL), ...nouns()].join(", ");
  throw new UsageError(`Unknown command ${noun}. Commands: ${all}.`, ROOT_USAGE);
}
