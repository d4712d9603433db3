import { routeList } from "@agent-gateway/contract";
import { type CliRoute, fieldsOf, flagNames } from "./fields.ts";
import { kebab } from "./flags.ts";

/** Commands that run here instead of calling the gateway: usage and what they do. */
export const LOCAL: Readonly<Record<string, readonly (readonly [usage: string, summary: string])[]>> = {
  start: [["start [--config FILE] [--port N]", "Run the gateway."]],
  config: [["config check [--config FILE]", "Tell what is wrong with the configuration."]],
  doctor: [["doctor", "Look for what keeps the gateway from working well."]],
  backup: [
    [
      "backup create <file> [--no-logs]",
      "Put the home directory into one archive, also while the gateway runs.",
    ],
    ["backup verify <file>", "Read an archive to its end and check all that is in it."],
    [
      "backup restore <file> [--force]",
      "Make the home directory from an archive; --force moves the present one aside.",
    ],
  ],
  completion: [["completion bash|zsh|fish", "Print a script that completes commands in the shell."]],
  api: [["api <METHOD> <path> [--data JSON] [-o FILE]", "Call any address of the gateway."]],
};

const CONNECTION = `Connection:
  --url URL     the gateway, default http://127.0.0.1:10850 (or GATEWAY_URL)
  --key KEY     the API key (or GATEWAY_API_KEY)
  --json        print one JSON value and nothing else
  --data JSON   an object merged into a write request`;

/** Routes with a place on the command line. */
export const cliRoutes: readonly CliRoute[] = routeList.filter(
  (route): route is CliRoute => route.cli !== undefined,
);

export const nouns = (): string[] => [...new Set(cliRoutes.map(({ cli }) => cli.noun))];
export const verbsOf = (noun: string): CliRoute[] => cliRoutes.filter(({ cli }) => cli.noun === noun);

const argumentName = (name: string) => (name === "*" ? "path" : kebab(name).replace(/-id$/, ""));

/** `agent-gateway messages send <agent> <message> --chat <text> [flags]` */
export function routeUsage(route: CliRoute): string {
  const { noun, verb, args = [] } = route.cli;
  const words = args.map((name) => ` <${argumentName(name)}>`);
  if (route.rawBody) words.push(route.rawBody === "ndjson" ? " <file|->" : " <file>");
  const fields = fieldsOf(route).filter(({ name }) => !args.includes(name));
  const required = fields
    .filter((field) => field.required)
    .map((field) => ` --${flagNames(route, field)[0]} <${field.hint}>`);
  const optional = fields.some((field) => !field.required) ? " [flags]" : "";
  return `agent-gateway ${noun} ${verb}${words.join("")}${required.join("")}${optional}`;
}

const aligned = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd()).join("\n");
};

export function routeHelp(route: CliRoute): string {
  const rows = fieldsOf(route).map((field): [string, string] => {
    const names = flagNames(route, field).map((name) => `--${name}`);
    const needed = field.required ? "required" : "";
    const about = [field.schema.description, needed].filter(Boolean).join("; ");
    return [`${names.join(", ")}${field.hint ? ` <${field.hint}>` : ""}`, about];
  });
  if (route.rawReply && route.rawReply !== "sse") rows.push(["-o, --output <file>", "save the reply"]);
  const flags = rows.length > 0 ? `\n\nFields:\n${aligned(rows)}` : "";
  return `${route.summary}\n\nUsage: ${routeUsage(route)}${flags}\n\n${CONNECTION}`;
}

export function nounHelp(noun: string): string {
  const rows = verbsOf(noun).map((route): [string, string] => [
    routeUsage(route).replace("agent-gateway ", ""),
    route.summary,
  ]);
  return `Usage: agent-gateway ${noun} <command>\n\n${aligned([...(LOCAL[noun] ?? []), ...rows])}\n\n${CONNECTION}`;
}

export function fullHelp(): string {
  const groups = nouns().map((noun): [string, string] => [
    noun,
    verbsOf(noun)
      .map(({ cli }) => cli.verb)
      .join(", "),
  ]);
  return `Usage: agent-gateway <command> [arguments] [--flags]

On this machine:
${aligned(Object.values(LOCAL).flat())}

With a running gateway (\`agent-gateway <noun> --help\` tells more):
${aligned(groups)}

${CONNECTION}
  --help, --version`;
}
