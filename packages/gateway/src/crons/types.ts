import type { CHANNEL_NAMES } from "@agent-gateway/contract";

export type ChannelName = (typeof CHANNEL_NAMES)[number];

/** When a job runs. Times are Unix milliseconds. */
export type Timing =
  | { kind: "cron"; pattern: string; timezone: string }
  | { kind: "at"; at: number }
  /** Every `ms` milliseconds, counted from `from`. */
  | { kind: "every"; ms: number; from: number };

/** A chat that gets the reply. */
export interface Target {
  channel: ChannelName;
  chatId: string;
  account?: string | undefined;
}

/** What is stored of a job as JSON: all that its owner sets, but its name and whether it is enabled. */
export interface Spec {
  scheduleKind: Timing["kind"];
  schedule: string | null;
  /** Unix milliseconds. */
  at: number | null;
  timezone: string;
  prompt: string | null;
  command: string | string[] | null;
  deliver: Target[];
  freshSession: boolean;
  timeoutMs: number;
  deleteAfterRun: boolean;
  catchUp: boolean;
}

/** The session in which an agent calls a tool. */
export interface CronToolScope {
  readonly agentId: string;
  /** Stored chat id; known at the call. */
  readonly chatId: string;
}

export type CronToolName = "cron_list" | "cron_create" | "cron_update" | "cron_delete" | "cron_run";
