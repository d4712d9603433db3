import type { Target } from "../types.ts";

/** Thread that a reply belongs to. */
export const threadOf = ({ reply }: Target): { thread_ts?: string } =>
  typeof reply.thread_ts === "string" ? { thread_ts: reply.thread_ts } : {};
