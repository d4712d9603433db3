import { UsageError } from "./errors.ts";
import { commands, fieldsOfCommand, flagNames } from "./fields.ts";
import { LOCAL, nouns, verbsOf } from "./help.ts";

export const COMPLETION_USAGE = "agent-gateway completion bash|zsh|fish";
const GLOBAL = ["--url", "--key", "--json", "--data", "--help"];

/** Verbs by noun; empty for one-word commands. */
function verbs(): [noun: string, verbs: string[]][] {
  const all = new Set([...Object.keys(LOCAL), ...nouns()]);
  return [...all].map((noun) => [noun, noun === "completion" ? ["bash", "zsh", "fish"] : verbsOf(noun)]);
}

/** Flags by `noun verb`. */
function flags(): [command: string, flags: string[]][] {
  const local: [string, string[]][] = Object.values(LOCAL)
    .flat()
    .map(([usage]) => [usage.split(" [")[0]!.replace(/ <.*/, ""), usage.match(/--[a-z-]+/g) ?? []]);
  const fromRoutes = commands.map((command): [string, string[]] => [
    `${command.noun} ${command.verb}`,
    fieldsOfCommand(command).flatMap((field) => flagNames(command.routes, field).map((name) => `--${name}`)),
  ]);
  return [...new Map([...fromRoutes, ...local.filter(([, names]) => names.length > 0)])];
}

const cases = (rows: [string, string[]][], act: (words: string) => string) =>
  rows
    .filter(([, words]) => words.length > 0)
    .map(([key, words]) => `    "${key}") ${act(words.join(" "))} ;;`)
    .join("\n");

const bash = () => `# agent-gateway completion for bash: source <(agent-gateway completion bash)
_agent_gateway() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="" flags=""
  case "\${COMP_WORDS[1]}" in
${cases(verbs(), (words) => `words="${words}"`)}
  esac
  case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${cases(flags(), (words) => `flags="${words}"`)}
  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags ${GLOBAL.join(" ")}" -- "$current"))
  elif [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "${verbs()
      .map(([noun]) => noun)
      .join(" ")} help" -- "$current"))
  elif [[ $COMP_CWORD -eq 2 ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -F _agent_gateway agent-gateway
`;

const zsh = () => `#compdef agent-gateway
# agent-gateway completion for zsh: source <(agent-gateway completion zsh)
_agent_gateway() {
  local -a nouns verbs flags
  nouns=(${verbs()
    .map(([noun]) => noun)
    .join(" ")} help)
  case "$words[2]" in
${cases(verbs(), (words) => `verbs=(${words})`)}
  esac
  case "$words[2] $words[3]" in
${cases(flags(), (words) => `flags=(${words})`)}
  esac
  if [[ "$PREFIX" == -* ]]; then compadd -- $flags ${GLOBAL.join(" ")}
  elif (( CURRENT == 2 )); then compadd -- $nouns
  elif (( CURRENT == 3 )); then compadd -- $verbs
  else _files
  fi
}
if (( $+functions[compdef] )); then compdef _agent_gateway agent-gateway; fi
`;

const fish = () => {
  const first = verbs().map(([noun]) => `complete -c agent-gateway -n __fish_use_subcommand -f -a ${noun}`);
  const second = verbs()
    .filter(([, words]) => words.length > 0)
    .map(
      ([noun, words]) =>
        `complete -c agent-gateway -n "__fish_seen_subcommand_from ${noun}; and not __fish_seen_subcommand_from ${words.join(" ")}" -f -a "${words.join(" ")}"`,
    );
  const third = flags().flatMap(([command, names]) => {
    const seen = command.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`);
    return names.map((name) => `complete -c agent-gateway -n "${seen.join("; and ")}" -l ${name.slice(2)}`);
  });
  const global = GLOBAL.map((name) => `complete -c agent-gateway -l ${name.slice(2)}`);
  const head = "# agent-gateway completion for fish: agent-gateway completion fish | source";
  return `${[head, ...first, ...second, ...third, ...global].join("\n")}\n`;
};

const SHELLS: Readonly<Record<string, () => string>> = { bash, zsh, fish };

/** The completion script for a shell, generated from the declared routes. */
export function completionScript(shell: string | undefined): string {
  const make = shell !== undefined && Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (!make) throw new UsageError("completion needs the name of a shell.", COMPLETION_USAGE);
  return make();
}
