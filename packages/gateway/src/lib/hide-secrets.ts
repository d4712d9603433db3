/** What may not leave the machine: keys, bearer tokens, addresses with credentials, and paths. */
const HIDDEN: readonly [RegExp, string][] = [
  [/\b(?:sk|pk|ghp|gho|xox[abp]|AKIA|AIza)[-_A-Za-z0-9]{6,}/g, "[hidden]"],
  [/\b(bearer|token|api[-_ ]?key|password|secret)(["']?\s*[:=]\s*|\s+)["']?[^\s"',;]{6,}/gi, "$1 [hidden]"],
  [/\/\/[^\s/@:]+:[^\s/@]+@/g, "//[hidden]@"],
  [/(^|[\s"'`(=[])(?:~|[A-Za-z]:)?[\\/](?:[^\s"'`()[\]/\\]+[\\/])[^\s"'`()[\]]*/g, "$1[path]"],
];

/** A text from outside without what looks like a secret or a path. For at most 4,000 characters. */
export function hideSecrets(text: string): string {
  return HIDDEN.reduce((rest, [pattern, replacement]) => rest.replaceAll(pattern, replacement), text);
}
