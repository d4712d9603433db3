import { connect } from "./connection.ts";
import { UsageError } from "./errors.ts";
import { flagsOf } from "./fields.ts";
import { parseFlags, takeWords } from "./flags.ts";
import { fullHelp, LOCAL, nounHelp, nouns, routeHelp, routeUsage, verbsOf } from "./help.ts";
import { print } from "./output.ts";

const ROOT_USAGE = "agent-gateway <command> [arguments] [--flags]; `agent-gateway help` lists the commands.";
const wantsHelp = (tokens: readonly string[]) => {
  const end = tokens.indexOf("--");
  return tokens.slice(0, end < 0 ? undefined : end).some((token) => token === "--help" || token === "-h");
};

async function showHelp(words: readonly string[]): Promise<number> {
  const [noun, verb] = words;
  const known = noun !== undefined && (Object.hasOwn(LOCAL, noun) || nouns().includes(noun));
  const route = known ? verbsOf(noun).find(({ cli }) => cli.verb === verb) : undefined;
  await print(`${route ? routeHelp(route) : known ? nounHelp(noun) : fullHelp()}\n`);
  return 0;
}

async function runRoute(noun: string, tokens: readonly string[]): Promise<number> {
  const { words, rest } = takeWords(tokens, 1);
  const [verb] = words;
  const route = verbsOf(noun).find(({ cli }) => cli.verb === verb);
  if (!route) {
    const verbs = verbsOf(noun).map(({ cli }) => cli.verb);
    const problem = verb === undefined ? `${noun} needs a command` : `${noun} has no command ${verb}`;
    throw new UsageError(`${problem}: ${verbs.join(", ")}.`, `agent-gateway ${noun} <command>`);
  }
  try {
    const parsed = parseFlags(rest, flagsOf(route));
    const connection = connect(parsed, process.env);
    const { callRoute } = await import("./call.ts");
    return await callRoute(route, parsed, connection);
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(error.message, routeUsage(route)) : error;
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
    case "backup":
      return (await import("./backup/index.ts")).backupCommand(tokens);
    case "start":
      throw new UsageError("start comes first: it takes none of the connection's flags.");
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
  if (noun === undefined) throw new UsageError("Which command?", ROOT_USAGE);
  if (Object.hasOwn(LOCAL, noun)) {
    try {
      return await runLocal(noun, rest);
    } catch (error) {
      if (!(error instanceof UsageError) || error.usage) throw error;
      const lines = LOCAL[noun]!.map(([usage]) => `agent-gateway ${usage}`);
      throw new UsageError(error.message, lines.join("\n       "));
    }
  }
  if (nouns().includes(noun)) return runRoute(noun, rest);
  const all = [...Object.keys(LOCAL), ...nouns()].join(", ");
  throw new UsageError(`There is no command ${noun}; there are: ${all}.`, ROOT_USAGE);
}
