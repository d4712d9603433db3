import { realpath } from "node:fs/promises";
import { basename } from "node:path";
import { resolveProgram } from "../../lib/process.ts";
import type { LimitRequest, Limits } from "./limit-request.ts";
import { limitClaude, limitCodex, limitGemini, limitOpencode, limitQwen } from "./limits.ts";

/** An agent program that the gateway knows. */
export interface KnownProgram {
  /** Display name. */
  name: string;
  /** Its packages and binaries. */
  files: readonly string[];
  /** How it introduces itself in its answer to `initialize`. */
  agentName: RegExp;
  /** Variables that are always set; the agent's own take precedence. */
  env?: Readonly<Record<string, string>>;
  /** How its tools are limited; null if it has no option for that. */
  limit: ((request: LimitRequest) => Promise<Limits>) | null;
  /** Name of the tool of a call that has no name field: from its id or from its first title. */
  toolName?(call: { id: string; title: string | null; first: boolean }): string | null;
}

const singleWord = (title: string | null) => (title !== null && /^[\w.-]{1,64}$/.test(title) ? title : null);

/** Tried versions: opencode 1.18, Gemini CLI 0.61, Qwen Code 0.24, codex-acp 2.6, claude-agent-acp 0.49 and 0.100. */
export const PROGRAMS: readonly KnownProgram[] = [
  {
    name: "opencode",
    files: ["opencode-ai", "opencode"],
    agentName: /^opencode$/i,
    limit: limitOpencode,
    toolName: ({ title, first }) => (first ? singleWord(title) : null),
  },
  {
    name: "Gemini CLI",
    files: ["@google/gemini-cli", "gemini-cli", "gemini"],
    agentName: /^gemini-cli$/i,
    // It accepts no tool servers in a folder that is not marked as trusted.
    env: { GEMINI_CLI_TRUST_WORKSPACE: "true" },
    limit: limitGemini,
    toolName: ({ id }) => /^(\w+?)__/.exec(id)?.[1] ?? null,
  },
  {
    name: "Qwen Code",
    files: ["@qwen-code/qwen-code", "qwen-code", "qwen"],
    agentName: /^qwen-code$/i,
    limit: limitQwen,
  },
  {
    name: "codex-acp",
    files: ["@agentclientprotocol/codex-acp"],
    agentName: /^@agentclientprotocol\/codex-acp$/i,
    limit: limitCodex,
  },
  {
    name: "claude-agent-acp",
    files: [
      "@agentclientprotocol/claude-agent-acp",
      "@zed-industries/claude-code-acp",
      "claude-agent-acp",
      "claude-code-acp",
    ],
    agentName: /claude-(?:agent|code)-acp$/i,
    limit: limitClaude,
  },
  {
    name: "codex-acp (Zed)",
    files: ["@zed-industries/codex-acp"],
    agentName: /^(?:@zed-industries\/)?codex-acp$/i,
    limit: null,
  },
  { name: "GitHub Copilot CLI", files: ["@github/copilot", "copilot"], agentName: /copilot/i, limit: null },
  { name: "Cline", files: ["cline"], agentName: /^cline\b/i, limit: null },
  { name: "Auggie", files: ["@augmentcode/auggie", "auggie"], agentName: /auggie/i, limit: null },
  { name: "Goose", files: ["goose"], agentName: /^goose$/i, limit: null },
];

/** The program that a command starts, by its package or its file; undefined for one that is not known. */
export async function recogniseCommand(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<KnownProgram | undefined> {
  const [first] = await resolveProgram(command, cwd, env).catch(() => []);
  const real = first === undefined ? undefined : await realpath(first).catch(() => first);
  const words = [...(real === undefined ? [] : [real]), ...command.slice(0, 4)];
  return words.map(recogniseWord).find((program) => program !== undefined);
}

/** The program, by the name it reports. */
export function recogniseAgent(agentName: string | null): KnownProgram | undefined {
  return agentName === null ? undefined : PROGRAMS.find((program) => program.agentName.test(agentName));
}

function recogniseWord(word: string): KnownProgram | undefined {
  const path = word.replaceAll("\\", "/");
  const inPackage = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
  const asPackage = /^(?:@[\w.-]+\/)?[\w.-]+(?=@|$)/.exec(path)?.[0];
  const file = basename(path).replace(/\.(?:exe|cmd|[cm]?js)$/, "");
  for (const name of [inPackage, asPackage, file]) {
    const found = PROGRAMS.find(({ files }) => name !== undefined && files.includes(name));
    if (found) return found;
  }
  return undefined;
}

const LIMITABLE = PROGRAMS.flatMap(({ name, limit }) => (limit ? [name] : [])).join(", ");

/** Why an agent with limited tools does not start on a program that cannot limit them. */
export function cannotLimit({ name }: KnownProgram): string {
  return (
    `allowTools cannot be enforced for ${name}, so the agent does not start: ` +
    `set allowTools to true, or run it on a program whose tools can be limited (${LIMITABLE}, Claude Code).`
  );
}

/** Warning for the owner of an agent with limited tools on an unknown program. */
export function mayNotLimit(name: string): string {
  return (
    `The gateway does not know how to limit the tools of ${name}: ` +
    "allowTools applies only as far as the program asks for permission."
  );
}
