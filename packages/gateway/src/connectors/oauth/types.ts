import type { lookup } from "node:dns";
import { GatewayError } from "@agent-gateway/contract";
import type { Env } from "../../config/index.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { TokenFile } from "../token-file.ts";

/** A connector as the configuration has it now. */
export interface OAuthEntry {
  label?: string | undefined;
  config?: Readonly<Record<string, unknown>> | undefined;
  credentialOwner?: string | undefined;
}

export interface OAuthDeps {
  /** The owner's connectors as they are at the moment of the call. */
  entries(): Readonly<Record<string, OAuthEntry>>;
  file: TokenFile;
  /** `MCP_OAUTH_CLIENT_ID__<ID>` and `MCP_OAUTH_SCOPES__<ID>`. */
  env(): Promise<Env> | Env;
  /** Address of the callback from outside; undefined when no browser could reach it. */
  callback(): string | undefined;
  /** Gets each value that must not appear in logs, before it is used. */
  onSecret(value: string): void;
  clock: Clock;
  log: Logger;
  /** In place of the system's. */
  lookup?: typeof lookup;
}

/** @throws GatewayError `NOT_FOUND` */
export function requireEntry(entries: Readonly<Record<string, OAuthEntry>>, id: string): OAuthEntry {
  const entry = Object.hasOwn(entries, id) ? entries[id] : undefined;
  if (!entry) throw new GatewayError("NOT_FOUND", "There is no connector with this id.");
  return entry;
}

/** `config.url` of a connector whose tokens the gateway itself holds; undefined for all others. */
export function ownedUrl(entry: OAuthEntry | undefined): string | undefined {
  const url = entry?.credentialOwner === "gateway" ? entry.config?.url : undefined;
  return typeof url === "string" ? url : undefined;
}

/** Between two sweeps. */
export const SWEEP_MS = 60_000;

/** How a sign-in ended; `provider` when its authorization server said so. */
export type Outcome = { connected: string } | { code: string; provider?: true };
