import { realpath, stat } from "node:fs/promises";
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

const known = new Map<string, Promise<ProgramTraits>>();

/**
 * Asks an installed Claude Code for its flags, once per installed version. Other programs are never run for it, since
 * nobody knows what a second start of them does. Never rejects.
 */
export async function probeProgram(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<ProgramTraits> {
  try {
    const [program] = await resolveProgram(command, cwd, env);
    const path = await realpath(program!);
    const { size, mtimeMs } = await stat(path);
    if (command.length !== 1 || size < MIN_BYTES || !/claude/i.test(path)) return UNKNOWN;
    const key = `${path}:${mtimeMs}:${size}`;
    const traits = known.get(key) ?? readHelp(path, env);
    known.set(key, traits);
    return await traits;
  } catch {
    return UNKNOWN;
  }
}

async function readHelp(path: string, env: Readonly<Record<string, string>>): Promise<ProgramTraits> {
  const { code, stdout } = await runProgram([path, "--help"], { env, timeoutMs: HELP_TIMEOUT_MS });
  if (code !== 0 || !stdout.includes("Claude Code")) return UNKNOWN;
  return { claudeCode: true, flags: new Set(stdout.match(/--[a-z][a-z-]+/g)) };
}
