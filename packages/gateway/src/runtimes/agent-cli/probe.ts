import { realpath, stat } from "node:fs/promises";
import { basename } from "node:path";
import { resolveProgram, runProgram } from "../../lib/process.ts";

/** What is known of a program before it is started. */
export interface ProgramTraits {
  /** It is Claude Code itself: history can be handed to it message by message. */
  claudeCode: boolean;
  /** Its long options, as its help lists them; empty for any other program. */
  flags: ReadonlySet<string>;
}

const UNKNOWN: ProgramTraits = { claudeCode: false, flags: new Set() };
/** Claude Code is one large executable or script bundle; a wrapper or test program is smaller. */
const MIN_BYTES = 1024 * 1024;
/** `claude --help` takes 0.2 s. */
const HELP_TIMEOUT_MS = 3000;

const known = new Map<string, Promise<ProgramTraits | undefined>>();
const versions = new Map<string, Promise<string | null>>();

/** A program as it is on disk. */
export interface LocatedProgram {
  path: string;
  /** Tells one installed version from the next. */
  key: string;
  bytes: number;
  /** It goes by Claude Code's name, or is large and lies in a folder of that name. */
  claude: boolean;
}

/** Finds the file that a command of one word starts; null for a longer one or where there is none. */
export async function locateProgram(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<LocatedProgram | null> {
  if (command.length !== 1) return null;
  try {
    const [program] = await resolveProgram(command, cwd, env);
    const path = await realpath(program!);
    const { size, mtimeMs } = await stat(path);
    const claude = basename(program!) === "claude" || (size >= MIN_BYTES && /claude/i.test(path));
    return { path, key: `${path}:${mtimeMs}:${size}`, bytes: size, claude };
  } catch {
    return null;
  }
}

/**
 * Asks an installed Claude Code for its flags, once per installed version. Other programs are never run for this,
 * because a second start of them could have side effects. Never rejects.
 */
export async function probeProgram(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<ProgramTraits> {
  const program = await locateProgram(command, cwd, env);
  if (!program?.claude || program.bytes < MIN_BYTES) return UNKNOWN;
  const traits = known.get(program.key) ?? readHelp(program.path, env);
  known.set(program.key, traits);
  const found = await traits;
  // It was too slow, say: that tells nothing of what it can do.
  if (!found) known.delete(program.key);
  return found ?? UNKNOWN;
}

/** Version of an installed Claude Code, once per installed version; null for any other program. Never rejects. */
export async function readVersion(
  program: LocatedProgram,
  env: Readonly<Record<string, string>>,
): Promise<string | null> {
  if (!program.claude) return null;
  const version =
    versions.get(program.key) ??
    runProgram([program.path, "--version"], { env, timeoutMs: HELP_TIMEOUT_MS }).then(({ code, stdout }) =>
      code === 0 ? (/^\d+\.\d+[\w.+-]*/.exec(stdout.trim())?.[0] ?? null) : null,
    );
  versions.set(program.key, version);
  return version;
}

async function readHelp(
  path: string,
  env: Readonly<Record<string, string>>,
): Promise<ProgramTraits | undefined> {
  const { code, stdout } = await runProgram([path, "--help"], { env, timeoutMs: HELP_TIMEOUT_MS });
  if (code === null) return undefined;
  if (code !== 0 || !stdout.includes("Claude Code")) return UNKNOWN;
  return { claudeCode: true, flags: new Set(stdout.match(/--[a-z][a-z-]+/g)) };
}
