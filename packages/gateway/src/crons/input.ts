import { CHANNEL_NAMES, type CronInput, type CronPatch, GatewayError } from "@agent-gateway/contract";
import { isTimezone } from "../config/index.ts";
import { intervalOf, isInterval, isPattern, momentOf, nextAfter } from "./schedule.ts";
import type { Spec, Target, Timing } from "./types.ts";

const DEFAULT_TIMEOUT_MS = 120_000;
/** An answer of 400 that names a field. */
export function refuse(path: string, message: string): never {
  throw new GatewayError("INVALID_REQUEST", `${path} ${message}.`, { details: [{ path, message }] });
}

/** When a job runs, counted from when it was made. */
export function timingOf(spec: Spec, createdAt: number): Timing {
  switch (spec.scheduleKind) {
    case "at":
      return { kind: "at", at: spec.at! };
    case "every":
      return { kind: "every", ms: intervalOf(spec.schedule!)!, from: createdAt };
    case "cron":
      return { kind: "cron", pattern: spec.schedule!, timezone: spec.timezone };
    default:
      return spec.scheduleKind satisfies never;
  }
}

/** The chats that a body names, in the long form and the short one. */
function targetsOf(input: CronPatch): Target[] | undefined {
  const short = CHANNEL_NAMES.flatMap((channel) => {
    const chatId = input[channel];
    return chatId === undefined ? [] : [{ channel, chatId }];
  });
  if (input.deliver === undefined && short.length === 0) return undefined;
  const all: Target[] = [...(input.deliver ?? []), ...short];
  const name = ({ channel, account, chatId }: Target) => JSON.stringify([channel, account, chatId]);
  return all.filter((target, at) => all.findIndex((other) => name(other) === name(target)) === at);
}

const SCHEDULING = ["scheduleKind", "schedule", "scheduleAt", "timezone"] as const;

/** Whether a body says anything about when a job runs. */
export const reschedules = (input: CronPatch): boolean =>
  SCHEDULING.some((name) => input[name] !== undefined);

/** What the schedule of a job becomes. */
function scheduleOf(input: CronPatch, before: Spec | undefined, timezone: string, now: number) {
  const { schedule, scheduleAt } = input;
  if (schedule !== undefined && scheduleAt !== undefined)
    refuse("scheduleAt", "cannot stand beside schedule: a job has one of them");
  const named = schedule !== undefined || scheduleAt !== undefined;
  if (!named && !before) refuse("schedule", "or scheduleAt is needed");
  const kind =
    input.scheduleKind ??
    (scheduleAt !== undefined
      ? "at"
      : schedule !== undefined
        ? isInterval(schedule)
          ? "every"
          : "cron"
        : before!.scheduleKind);
  if (kind === "at") {
    if (schedule !== undefined) refuse("schedule", "does not go with scheduleKind at; name scheduleAt");
    if (scheduleAt === undefined && before?.scheduleKind !== "at") refuse("scheduleAt", "is needed");
    if (scheduleAt === undefined) return { scheduleKind: kind, schedule: null, at: before!.at };
    const at = momentOf(scheduleAt, timezone);
    if (at === undefined) refuse("scheduleAt", "must be a time in ISO 8601, such as 2026-12-24T18:00");
    if (at <= now) refuse("scheduleAt", "is in the past");
    return { scheduleKind: kind, schedule: null, at };
  }
  if (scheduleAt !== undefined) refuse("scheduleAt", `does not go with scheduleKind ${kind}`);
  const text = schedule ?? (before?.scheduleKind === kind ? before.schedule : undefined);
  if (text === undefined || text === null) refuse("schedule", "is needed");
  const trimmed = text.trim();
  if (kind === "every" && intervalOf(trimmed) === undefined)
    refuse("schedule", "must be an interval of at least 60 s, such as 30m, 2h or 1d");
  if (kind === "cron" && !isPattern(trimmed))
    refuse("schedule", "must be five cron fields, @daily or its kin, or an interval such as 30m");
  return { scheduleKind: kind, schedule: trimmed, at: null };
}

/** What a job is asked to do. */
function taskOf(input: CronPatch, before: Spec | undefined): Pick<Spec, "prompt" | "command"> {
  const { prompt, command } = input;
  if (prompt !== undefined && command !== undefined)
    refuse("command", "cannot stand beside prompt: a job has one of them");
  if (prompt !== undefined) return { prompt, command: null };
  if (command !== undefined) return { prompt: null, command };
  if (!before) refuse("prompt", "or command is needed");
  return { prompt: before.prompt, command: before.command };
}

/**
 * What a body makes of a job, or of a new one.
 * @throws GatewayError `INVALID_REQUEST` with the field that is wrong
 */
export function specOf(
  input: CronInput | CronPatch,
  before: Spec | undefined,
  { timezone: preset, now, createdAt }: { timezone: string; now: number; createdAt: number },
): Spec {
  const timezone = input.timezone ?? before?.timezone ?? preset;
  if (!isTimezone(timezone)) refuse("timezone", "is not known; use an IANA name such as Europe/Berlin");
  const spec: Spec = {
    ...scheduleOf(input, before, timezone, now),
    timezone,
    ...taskOf(input, before),
    deliver: targetsOf(input) ?? before?.deliver ?? [],
    freshSession: input.freshSession ?? before?.freshSession ?? true,
    timeoutMs: input.timeoutMs ?? before?.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    deleteAfterRun: input.deleteAfterRun ?? before?.deleteAfterRun ?? false,
    catchUp: input.catchUp ?? before?.catchUp ?? true,
  };
  if (spec.command !== null && spec.deliver.length > 0)
    refuse("deliver", "does not go with a command: only the reply of an agent is delivered");
  if (spec.scheduleKind === "cron" && nextAfter(timingOf(spec, createdAt), now) === null)
    refuse("schedule", "never comes");
  return spec;
}
