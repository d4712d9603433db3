import { isRecord } from "../lib/is-record.ts";
import { type Problem, warning } from "./problems.ts";
import { CONFIG_VERSION } from "./schema.ts";

type Raw = Record<string, unknown>;
type Version = [number, number, number];

function parse(version: unknown): Version | null {
  const match =
    typeof version === "string" ? /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:[-+].*)?$/.exec(version) : null;
  return match && [Number(match[1]), Number(match[2]), Number(match[3])];
}

function older(a: Version, b: Version): boolean {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at !== -1 && a[at]! < b[at]!;
}

/** Settings of `devicechat` from before it had a list of accounts. */
const FLAT_ACCOUNT = [
  "label",
  "dmPolicy",
  "dmAllowlist",
  "groupPolicy",
  "groupAllowlist",
  "requireMention",
  "pairing",
  "sendReadReceipts",
  "reactionLevel",
] as const;

/** Moves the older settings of `devicechat` into the list of accounts, whatever the file's declared version. */
function listDeviceAccounts(raw: Raw): void {
  for (const entry of Array.isArray(raw.agents) ? (raw.agents as unknown[]) : []) {
    const block = isRecord(entry) ? entry.devicechat : undefined;
    if (!isRecord(block) || (Array.isArray(block.accounts) && block.accounts.length > 0)) continue;
    const flat = FLAT_ACCOUNT.filter((key) => key in block);
    if (flat.length === 0) continue;
    block.accounts = [{ id: "default", ...Object.fromEntries(flat.map((key) => [key, block[key]])) }];
    for (const key of flat) delete block[key];
  }
}

/** Each step migrates an older file to version `to`. */
const STEPS: readonly { to: Version; change(raw: Raw): void }[] = [
  {
    // The default changed from 0.0.0.0 to 127.0.0.1; files that relied on the old default keep it.
    to: [1, 0, 13],
    change(raw) {
      raw.gateway ??= {};
      const { gateway } = raw;
      if (typeof gateway === "object" && gateway !== null && !("bind" in gateway)) {
        Object.assign(gateway, { bind: "0.0.0.0" });
      }
    },
  },
  { to: [2, 0, 0], change() {} },
];

/**
 * Migrates an older file's JSON in place. A file without `configVersion` counts as current: it was written by hand
 * for this version.
 * @returns `from` is the old version if something changed, else null.
 */
export function migrate(raw: Raw): { from: string | null; problems: Problem[] } {
  listDeviceAccounts(raw);
  if (raw.configVersion === undefined) return { from: null, problems: [] };
  const version = parse(raw.configVersion);
  const current = parse(CONFIG_VERSION)!;
  if (!version) {
    return {
      from: null,
      problems: [warning("configVersion", "is not a version; reading the file as current")],
    };
  }
  if (older(current, version)) {
    const message = `is newer than this gateway's ${CONFIG_VERSION}; unknown settings are ignored`;
    return { from: null, problems: [warning("configVersion", message)] };
  }
  if (!older(version, current)) return { from: null, problems: [] };
  for (const step of STEPS) if (older(version, step.to)) step.change(raw);
  raw.configVersion = CONFIG_VERSION;
  return { from: version.join("."), problems: [] };
}
