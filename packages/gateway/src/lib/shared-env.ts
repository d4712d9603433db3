/** Variables that any program needs to run as this user; nothing here is a secret of the gateway. */
const NAMES = new Set(
  (
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TERM COLORTERM " +
    "HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy " +
    "NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR IS_SANDBOX SystemRoot ComSpec PATHEXT USERPROFILE APPDATA TEMP TMP"
  ).split(" "),
);
const PREFIXES = ["LC_", "XDG_"];

/** Settings of model providers that users export for the programs that use them. */
const FAMILIES = {
  anthropic: ["ANTHROPIC_", "CLAUDE_"],
  openai: ["OPENAI_"],
  google: ["GEMINI_", "GOOGLE_"],
} as const;
export type ProviderFamily = keyof typeof FAMILIES;

/** Variables of an agent program inside which the gateway itself may run; a child would mistake them for its own. */
const FOREIGN = /^CLAUDE_CODE_(ENTRYPOINT|SSE_PORT|SESSION_|CHILD_|MESSAGING_)/;

/**
 * Environment of a child process: an allow-list of the gateway's own (never its keys, tokens or `GATEWAY_*`), the
 * settings of the named provider families, and `extra`, which wins.
 */
export function childEnvironment(
  host: Readonly<Record<string, string | undefined>>,
  extra: Readonly<Record<string, string>> = {},
  { families = [] }: { families?: readonly ProviderFamily[] } = {},
): Record<string, string> {
  const prefixes = [...PREFIXES, ...families.flatMap((family) => FAMILIES[family])];
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(host)) {
    if (value === undefined || FOREIGN.test(name)) continue;
    if (NAMES.has(name) || prefixes.some((prefix) => name.startsWith(prefix))) env[name] = value;
  }
  return { ...env, ...extra };
}
