import { GatewayError } from "@agent-gateway/contract";

export const PLACEHOLDER_NAME = "New session";
const MAX_CHARS = 60;

/** Derives a session's name from its first message: the first line, cut between words. No model is asked. */
export function nameFrom(prompt: string): string {
  const line = prompt
    .split(/\r?\n/)
    .map((part) => part.replace(/[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, " ").trim())
    .find((part) => part !== "");
  if (!line) return PLACEHOLDER_NAME;
  const plain = line.replace(/^[#>*\-\s]+/, "").trim() || line;
  const chars = [...plain];
  if (chars.length <= MAX_CHARS) return plain;
  const cut = chars.slice(0, MAX_CHARS).join("");
  const space = cut.lastIndexOf(" ");
  return `${(space > MAX_CHARS / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

export const sessionGone = () => new GatewayError("SESSION_NOT_FOUND", "This chat has no such session.");
