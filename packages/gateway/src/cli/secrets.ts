import { isSecretName } from "../lib/secret-names.ts";
import { Interrupted, UsageError } from "./errors.ts";
import { kebab, type Parsed } from "./flags.ts";
import type { RouteInput } from "./request.ts";

/** Placeholder for a secret to be read from standard input. */
const FROM_STDIN = "-";
const MAX_STDIN_CHARS = 64 * 1024;
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const BACKSPACE = new Set(["\u007f", "\b"]);

/** Prompts for one line on the terminal, without echo. */
function askHidden(question: string): Promise<string> {
  const { stdin, stderr } = process;
  stderr.write(question);
  stdin.setRawMode(true).setEncoding("utf8").resume();
  return new Promise((resolve, reject) => {
    let typed = "";
    const end = (settle: () => void) => {
      stdin.off("data", onData).setRawMode(false).pause();
      stderr.write("\n");
      settle();
    };
    const onData = (text: string) => {
      for (const character of text) {
        if (character === CTRL_C) return end(() => reject(new Interrupted()));
        if (character === "\r" || character === "\n" || character === CTRL_D)
          return end(() => resolve(typed));
        typed = BACKSPACE.has(character) ? typed.slice(0, -1) : typed + character;
      }
    };
    stdin.on("data", onData);
  });
}

async function readLines(): Promise<string[]> {
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) {
    text += chunk as string;
    if (text.length > MAX_STDIN_CHARS) throw new UsageError("Standard input is too long for a secret.");
  }
  return text.split(/\r?\n/).filter((line) => line.trim() !== "");
}

/**
 * Fills in the secrets given as `-`: prompts without echo on a terminal, else reads one line each from standard
 * input, in the order of the flags.
 * @throws UsageError if there are too few or too many lines; Interrupted
 */
export async function fillSecrets({ body }: RouteInput, parsed: Parsed): Promise<void> {
  if (!body) return;
  const names = [...parsed.values.keys()]
    .map((key) => key.replace(/^field:/, ""))
    .filter((name) => isSecretName(name) && body[name] !== undefined);
  const asked = names.filter((name) => body[name] === FROM_STDIN);
  if (asked.length < names.length) {
    process.stderr.write(
      "Note: every user of this machine can read a program's arguments; pass - and type the secret.\n",
    );
  }
  if (asked.length === 0) return;
  if (process.stdin.isTTY) {
    for (const name of asked) body[name] = (await askHidden(`${kebab(name)}: `)).trim();
  } else {
    const lines = await readLines();
    if (lines.length !== asked.length) {
      throw new UsageError(`Standard input must have one line for each of: ${asked.map(kebab).join(", ")}.`);
    }
    for (const [index, name] of asked.entries()) body[name] = lines[index]?.trim();
  }
  const empty = asked.find((name) => body[name] === "");
  if (empty !== undefined) throw new UsageError(`Nothing was typed for ${kebab(empty)}.`);
}
