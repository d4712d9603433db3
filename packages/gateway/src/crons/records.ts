import type { CronJob, CronRun } from "@agent-gateway/contract";
import type { CronDelivery, StoredCron, StoredCronRun } from "../store/index.ts";
import type { Spec } from "./types.ts";

export const specIn = (cron: Pick<StoredCron, "spec">): Spec => JSON.parse(cron.spec) as Spec;

/** A job as it is shown. */
export function jobRecord(cron: StoredCron): CronJob {
  const { at, ...spec } = specIn(cron);
  return {
    id: cron.id,
    agentId: cron.agentId,
    name: cron.name,
    ...spec,
    scheduleAt: at === null ? null : new Date(at).toISOString(),
    type: cron.type,
    enabled: cron.enabled,
    createdBy: cron.createdBy,
    createdAt: cron.createdAt,
    updatedAt: cron.updatedAt,
    state: {
      lastRunAt: cron.lastRunAt,
      lastStatus: cron.lastStatus,
      lastError: cron.lastError,
      consecutiveErrors: cron.consecutiveErrors,
      runCount: cron.runCount,
      nextRunAt: cron.nextAt,
    },
  };
}

/** A run as it is shown, with what became of the messages that it caused. */
export function runRecord(run: StoredCronRun, deliveries: readonly CronDelivery[]): CronRun {
  return {
    id: String(run.id),
    jobId: run.job,
    runAt: run.runAt,
    startedAt: run.startedAt,
    durationMs: run.durationMs,
    status: run.state === "waiting" ? "running" : run.state,
    trigger: run.cause,
    output: run.output,
    error: run.error,
    sessionId: run.session,
    requestId: run.requestId,
    deliveries: statesOf(deliveries.filter((delivery) => delivery.run === run.id)),
  };
}

/** From the worst to the best: a reply of several messages is as far as the one that is farthest behind. */
const ORDER = ["failed", "unknown", "pending", "sending", "sent"] as const;

function statesOf(rows: readonly CronDelivery[]): CronRun["deliveries"] {
  // One that was sent again is as its last row is.
  const latest = [...new Map(rows.map((row) => [row.key, row])).values()];
  const chats = Map.groupBy(latest, ({ channel, account, chatId }) =>
    JSON.stringify([channel, account, chatId]),
  );
  return [...chats.values()].map((messages) => ({
    channel: messages[0]!.channel as CronRun["deliveries"][number]["channel"],
    chatId: messages[0]!.chatId,
    state: ORDER.find((state) => messages.some((message) => message.state === state))!,
  }));
}
