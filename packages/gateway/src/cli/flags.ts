import { UsageError } from "./errors.ts";

/** One flag: its key, and whether it takes no value. */
export interface Flag {
  key: string;
  boolean?: boolean;
  /** The value it implies, if it takes none. */
  fixed?: string;
}
/** Flags by their kebab-case or one-letter names. */
export type Flags = ReadonlyMap<string, Flag>;

export interface Parsed {
  /** Every value given, in order; `"true"` and `"false"` for booleans. */
  values: Map<string, string[]>;
  positionals: string[];
}

/** Flags that every command takes. */
export const GLOBAL_FLAGS: Flags = new Map<string, Flag>([
  ["url", { key: "url" }],
  ["key", { key: "key" }],
  ["data", { key: "data" }],
  ["json", { key: "json", boolean: true }],
  ["help", { key: "help", boolean: true }],
  ["h", { key: "help", boolean: true }],
]);

/** Normalises `chat_id`, `chatId` and `chat-id` to `chat-id`. */
export const kebab = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();

const isFlag = (token: string) => /^-(?:-.|[A-Za-z])/.test(token);

interface Read {
  flag: Flag;
  value: string;
  /** Number of tokens consumed. */
  size: 1 | 2;
}

/** The flag at the start of `tokens`; null if no flag has this name. */
function readFlag(tokens: readonly string[], flags: Flags): Read | null {
  const [token = "", next] = tokens;
  const [, name = "", given] = /^--?([^=]+)(?:=([\s\S]*))?$/.exec(token) ?? [];
  const flag = flags.get(kebab(name));
  if (!flag) {
    const negated = name.startsWith("no-") ? flags.get(kebab(name.slice(3))) : undefined;
    return negated?.boolean && given === undefined ? { flag: negated, value: "false", size: 1 } : null;
  }
  if (flag.fixed !== undefined && given === undefined) return { flag, value: flag.fixed, size: 1 };
  if (flag.boolean) {
    if (given !== undefined && given !== "true" && given !== "false") {
      throw new UsageError(`--${name} must be true or false.`);
    }
    return { flag, value: given ?? "true", size: 1 };
  }
  if (given !== undefined) return { flag, value: given, size: 1 };
  if (next === undefined || next.startsWith("--")) throw new UsageError(`--${name} needs a value.`);
  return { flag, value: next, size: 2 };
}

/**
 * Parses a command line: `--name value`, `--name=value`, `--no-name`; after `--` nothing is a flag.
 * @throws UsageError for an unknown flag or a missing value
 */
export function parseFlags(tokens: readonly string[], flags: Flags): Parsed {
  const values = new Map<string, string[]>();
  const positionals: string[] = [];
  for (let at = 0; at < tokens.length; ) {
    const token = tokens[at]!;
    if (token === "--") {
      positionals.push(...tokens.slice(at + 1));
      break;
    }
    if (!isFlag(token)) {
      positionals.push(token);
      at++;
      continue;
    }
    const read = readFlag(tokens.slice(at, at + 2), flags);
    if (!read) throw new UsageError(`Unknown flag ${token.split("=")[0]}.`);
    values.set(read.flag.key, [...(values.get(read.flag.key) ?? []), read.value]);
    at += read.size;
  }
  return { values, positionals };
}

/** The first `count` words that are not flags, and everything else in order; stops at a flag that is not global. */
export function takeWords(tokens: readonly string[], count: number): { words: string[]; rest: string[] } {
  const words: string[] = [];
  const rest: string[] = [];
  let at = 0;
  while (at < tokens.length && words.length < count) {
    const token = tokens[at]!;
    if (token === "--") break;
    if (!isFlag(token)) {
      words.push(token);
      at++;
      continue;
    }
    const read = readFlag(tokens.slice(at, at + 2), GLOBAL_FLAGS);
    if (!read) break;
    rest.push(...tokens.slice(at, at + read.size));
    at += read.size;
  }
  return { words, rest: [...rest, ...tokens.slice(at)] };
}

/** The last value of a flag. */
export const last = (parsed: Parsed, key: string): string | undefined => parsed.values.get(key)?.at(-1);
export const isOn = (parsed: Parsed, key: string): boolean => last(parsed, key) === "true";
