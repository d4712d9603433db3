import { type Command, commands, fieldsOfCommand, flagNames } from "./fields.ts";
import { kebab } from "./flags.ts";

/** Commands that do not come from a route: usage and description. Some belong to a noun that also has routes. */
export const LOCAL: Readonly<Record<string, readonly (readonly [usage: string, summary: string])[]>> = {
  start: [["start [--config FILE] [--port N]", "Run the gateway."]],
  config: [["config check [--config FILE]", "Report errors and warnings in the configuration."]],
  doctor: [["doctor", "Check the installation for problems."]],
  backup: [
    [
      "backup create <file> [--no-logs]",
      "Save the home directory and all rows to one archive; the gateway can keep running.",
    ],
    ["backup verify <file>", "Check an archive and everything in it."],
    [
      "backup restore <file> [--force] [--to <url|sqlite>] [--schema NAME]",
      "Restore an archive, its rows to the configured store or another; --force moves what is there aside.",
    ],
  ],
  store: [
    ["store version", "Show the schema of the database, and the oldest one whose gateways may use it."],
    [
      "store downgrade --to <version> [--discard]",
      "Take the database back to an older schema; --discard allows the loss of what that one cannot hold.",
    ],
    [
      "store copy --from <url|sqlite> --to <url|sqlite> [--schema NAME]",
      "Copy the store of a stopped gateway into an empty one, and compare both; run it again to go on.",
    ],
    ["store contract", "Give up the way back: older gateways may not use the database any more."],
  ],
  service: [
    [
      "service install [--system] [--run-as USER] [--name NAME]",
      "Run the gateway as a service of systemd or launchd, from now on and after each start of the machine.",
    ],
    ["service status [--system] [--name NAME]", "Show whether that service is installed, and runs."],
    ["service uninstall [--system] [--name NAME]", "Stop and remove that service; the gateway's home stays."],
  ],
  channels: [
    ["channels list [agent]", "Show the state of one agent's channels, or of all."],
    ["channels pending <agent> [channel] [--account ID]", "List pending pairing requests."],
    [
      "channels policy <agent> <channel> [--dm-policy RULE] [--group-policy RULE] [--pairing] [--require-mention] [--account ID]",
      "Show or change who may write; RULE is open, allowlist or disabled.",
    ],
    ["channels trace <agent> <message> [--channel NAME]", "Trace a message, with times."],
  ],
  devicechat: [
    [
      "devicechat link <agent> [--account ID]",
      "Link a phone: show the QR code and wait until it is scanned.",
    ],
  ],
  trace: [
    [
      "trace <message> [--agent ID] [--channel NAME]",
      "Trace a message, with any agent that the key can reach.",
    ],
  ],
  events: [
    [
      "events follow [--types LIST] [--agent ID] [--after NUMBER] [--include text]",
      "Show what happens as it happens; with --json, one JSON object per line.",
    ],
  ],
  sessions: [
    [
      "sessions attach <agent> <session>",
      "Watch the terminal of a session and type into it; Ctrl+] leaves, and the program goes on.",
    ],
  ],
  packages: [
    [
      "packages changelog <name> [--from VERSION] [--to VERSION]",
      "Show what changed after the installed version of gateway or agent-cli, up to the newest.",
    ],
  ],
  completion: [["completion bash|zsh|fish", "Print a shell completion script."]],
  api: [["api <METHOD> <path> [--data JSON] [-o FILE]", "Call any of the gateway's URLs."]],
};

/** Local commands that need a running gateway. */
const WITH_GATEWAY = new Set(["channels", "devicechat", "events", "packages", "sessions", "trace"]);

const CONNECTION = `Connection:
  --url URL     the gateway, default http://127.0.0.1:10850 (or GATEWAY_URL)
  --key KEY     the API key (or GATEWAY_API_KEY)
  --json        print one JSON value and nothing else
  --data JSON   an object merged into a write request`;

export const nouns = (): string[] => [...new Set(commands.map(({ noun }) => noun))];

/** True for a command that does not come from a route. */
export const isLocal = (noun: string, verb: string | undefined): boolean =>
  Object.hasOwn(LOCAL, noun) &&
  (!nouns().includes(noun) || LOCAL[noun]!.some(([usage]) => usage.split(" ")[1] === verb));

/** Commands of a noun that come from routes. */
export const commandsOf = (noun: string): Command[] =>
  commands.filter((command) => command.noun === noun && !isLocal(noun, command.verb));

/** Verbs of a noun, local ones first. */
export const verbsOf = (noun: string): string[] => [
  ...(LOCAL[noun] ?? []).map(([usage]) => usage.split(" ")[1] ?? "").filter((word) => /^[a-z]/.test(word)),
  ...commandsOf(noun).map(({ verb }) => verb),
];

const argumentName = (name: string) => (name === "*" ? "path" : kebab(name).replace(/-id$/, ""));

/** `agent-gateway messages send <agent> <message> --chat <text> [flags]` */
export function commandUsage(command: Command): string {
  const [route] = command.routes;
  const { noun, verb, args = [] } = route.cli;
  const words = args.map((name) => ` <${argumentName(name)}>`);
  if (route.rawBody) words.push(route.rawBody === "ndjson" ? " <file|->" : " <file>");
  const fields = fieldsOfCommand(command).filter(({ name }) => !args.includes(name));
  const required = fields
    .filter((field) => field.required)
    .map((field) => ` --${flagNames(command.routes, field)[0]} <${field.hint}>`);
  const optional = fields.some((field) => !field.required) ? " [flags]" : "";
  return `agent-gateway ${noun} ${verb}${words.join("")}${required.join("")}${optional}`;
}

const aligned = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd()).join("\n");
};

const summaryOf = ({ routes: [route] }: Command) => route.cli.summary ?? route.summary;

export function commandHelp(command: Command): string {
  const [route] = command.routes;
  const rows = fieldsOfCommand(command).map((field): [string, string] => {
    const names = flagNames(command.routes, field).map((name) => `--${name}`);
    const needed = field.required ? "required" : "";
    const about = [field.schema.description, needed].filter(Boolean).join("; ");
    return [`${names.join(", ")}${field.hint ? ` <${field.hint}>` : ""}`, about];
  });
  if (route.rawReply && route.rawReply !== "sse") rows.push(["-o, --output <file>", "save the reply"]);
  const flags = rows.length > 0 ? `\n\nFields:\n${aligned(rows)}` : "";
  return `${summaryOf(command)}\n\nUsage: ${commandUsage(command)}${flags}\n\n${CONNECTION}`;
}

export function nounHelp(noun: string): string {
  const rows = commandsOf(noun).map((command): [string, string] => [
    commandUsage(command).replace("agent-gateway ", ""),
    summaryOf(command),
  ]);
  return `Usage: agent-gateway ${noun} <command>\n\n${aligned([...(LOCAL[noun] ?? []), ...rows])}\n\n${CONNECTION}`;
}

export function fullHelp(): string {
  const groups = nouns().map((noun): [string, string] => [noun, verbsOf(noun).join(", ")]);
  const here = Object.entries(LOCAL).filter(([noun]) => !WITH_GATEWAY.has(noun));
  return `Usage: agent-gateway <command> [arguments] [--flags]

On this machine:
${aligned(here.flatMap(([, lines]) => lines))}

With a running gateway (see \`agent-gateway <noun> --help\`):
${aligned([...groups, ...LOCAL.trace!])}

${CONNECTION}
  --help, --version`;
}
