import type { Problem } from "./problems.ts";
import type { Config } from "./schema.ts";

/** Paths on disk; all absolute. */
export interface Paths {
  home: string;
  configFile: string;
  database: string;
  logs: string;
  agentDir(agentId: string): string;
  sessionDir(agentId: string, chatId: string, sessionId: string): string;
  mediaDir(agentId: string): string;
}

/** The running configuration and its changes. */
export interface ConfigStore {
  readonly current: Config;
  /** Called after each applied reload with the new and the old configuration; returns the unsubscriber. */
  onChange(listener: (next: Config, previous: Config) => void): () => void;
  /** Called when the changed file was read: with the errors for which it was refused, or with none. */
  onReload(listener: (errors: readonly Problem[]) => void): () => void;
  /**
   * Changes the file: `edit` gets the raw parsed JSON (including unknown keys and key order) and mutates it. The
   * result is validated, written atomically under the one lock, and applied before the promise resolves. Rejects
   * with a `GatewayError` and writes nothing if it would not load. Anything `edit` awaits also happens under the lock.
   */
  update(edit: (raw: Record<string, unknown>) => void | Promise<void>): Promise<Config>;
  close(): Promise<void>;
}
