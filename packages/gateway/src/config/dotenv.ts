import { writeFileAtomic } from "../lib/atomic-file.ts";
import { readNamed } from "../lib/guarded/index.ts";
import { createMutex } from "../lib/mutex.ts";
import { PathError } from "../lib/safe-path.ts";

/**
 * The names of connectors, which are part of some keys, may have a hyphen. A byte order mark counts as a space, and
 * other separators of lines than CR and LF are part of the value.
 */
const LINE = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_-]*)\s*=(.*)$/s;
export type Variables = Readonly<Record<string, string>>;
/** New values by key; `null` removes one. */
export type Changes = Readonly<Record<string, string | null>>;

const KEY = /^[A-Za-z_][A-Za-z0-9_-]*$/;

function unquote(raw: string): string {
  const value = raw.trim();
  const quote = value[0];
  const quoted = value.length > 1 && (quote === '"' || quote === "'") && value.endsWith(quote);
  return quoted ? value.slice(1, -1) : value;
}

/** Reads `KEY=value` lines; ignores all others, strips surrounding quotes; the last value wins. */
export function parseDotenv(text: string): Variables {
  const entries: [string, string][] = [];
  for (const line of text.split(/[\r\n]/)) {
    const match = LINE.exec(line);
    if (match) entries.push([match[1]!, unquote(match[2]!)]);
  }
  return Object.fromEntries(entries);
}

/** Sets one key and leaves every other line as it is; `null` removes it. */
export function editDotenv(text: string, key: string, value: string | null): string {
  if (!KEY.test(key)) throw new TypeError("not a variable name");
  if (value !== null && /[\r\n]/.test(value)) throw new TypeError("a value must be one line");
  const lines = text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
  const kept = lines.filter((line) => LINE.exec(line)?.[1] !== key).join("");
  const ended = /[^\r\n]$/.test(kept) ? `${kept}\n` : kept;
  if (value === null) return ended;
  // Only values that would not read back unchanged need quotes.
  return `${ended}${key}=${unquote(value) === value ? value : `"${value}"`}\n`;
}

const MAX_BYTES = 4 * 1024 * 1024;
async function readText(path: string): Promise<string> {
  const bytes = await readNamed(path, MAX_BYTES + 1);
  if (bytes.length > MAX_BYTES) throw new RangeError("the file is too large");
  return bytes.toString("utf8");
}

/** The variables in a file; none if it does not exist or cannot be read. */
export async function readDotenv(path: string): Promise<Variables> {
  return parseDotenv(await readText(path).catch(() => ""));
}

const oneWriter = createMutex();

/**
 * Changes keys of a file, atomically, mode 0600, under the one lock of all such files.
 * @param change gets the variables as they are then; nothing is written when it returns nothing. Must not wait.
 * @throws Error if the file cannot be read or written, or would become too large to be read.
 */
export function changeDotenv(path: string, change: (now: Variables) => Changes | undefined): Promise<void> {
  return oneWriter(async () => {
    const text = await readText(path).catch((error: unknown) => {
      if (error instanceof PathError && error.problem === "missing") return "";
      throw error;
    });
    const changes = change(parseDotenv(text));
    if (changes === undefined) return;
    const edited = Object.entries(changes).reduce((so, [key, value]) => editDotenv(so, key, value), text);
    if (Buffer.byteLength(edited) > MAX_BYTES) throw new RangeError("the file would be too large");
    await writeFileAtomic(path, edited, { mode: 0o600, forceMode: true });
  });
}

/** Sets (or with `null` removes) one key of a file, like {@link changeDotenv}. */
export const writeDotenv = (path: string, key: string, value: string | null): Promise<void> =>
  changeDotenv(path, () => ({ [key]: value }));
