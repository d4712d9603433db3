import { plainMessage } from "../plain-message.ts";

const MAX_CHARS = 500;

/** What may not leave the machine: keys, bearer tokens, addresses with credentials, and paths. */
const HIDDEN: readonly [RegExp, string][] = [
  [/\b(?:sk|pk|ghp|gho|xox[abp]|AKIA|AIza)[-_A-Za-z0-9]{6,}/g, "[hidden]"],
  [/\b(bearer|token|api[-_ ]?key|password|secret)(["']?\s*[:=]\s*|\s+)["']?[^\s"',;]{6,}/gi, "$1 [hidden]"],
  [/\/\/[^\s/@]+:[^\s/@]+@/g, "//[hidden]@"],
  [/(^|[\s"'`(=[])(?:~|[A-Za-z]:)?[\\/](?:[^\s"'`()[\]/\\]+[\\/])[^\s"'`()[\]]*/g, "$1[path]"],
];

/** Turns an agent program's error into a user-facing message. */
export function safeSentence(reported: string, otherwise: string): string {
  let text = plainMessage(reported)
    .slice(0, MAX_CHARS * 8)
    .replaceAll(/\s+/g, " ")
    .trim();
  for (const [pattern, replacement] of HIDDEN) text = text.replaceAll(pattern, replacement);
  if (text === "") return otherwise;
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS - 1)}…` : text;
}
