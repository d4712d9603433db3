import * as z from "zod";
import { lazy } from "../lazy.ts";
import { MAX_LABEL_CHARS, MAX_MESSAGE_CHARS } from "../limits.ts";
import { CHANNEL_NAMES, channelName } from "./channel-health.ts";
import { agentId, label, limit, ms } from "./common.ts";

/** Jobs that one agent may have. */
export const MAX_CRONS = 100;
const MAX_TIMEOUT_MS = 3_600_000;
const MAX_TARGETS = 10;
const MAX_ARGUMENTS = 100;
const DEFAULT_RUNS = 20;
const MAX_RUNS = 100;

const scheduleKind = lazy(() => z.enum(["cron", "at", "every"]));
const runStatus = lazy(() => z.enum(["running", "ok", "error", "skipped", "interrupted"]));
const trigger = lazy(() => z.enum(["schedule", "manual", "catch_up"]));

const target = lazy(() =>
  z.strictObject({
    channel: channelName(),
    chatId: z.string().min(1).max(128).describe("The provider's id of the chat."),
    account: z.string().min(1).max(32).optional().describe("Account of `devicechat`."),
  }),
);

export const cronJob = lazy(() =>
  z.object({
    id: z.string(),
    agentId: z.string(),
    name: z.string(),
    scheduleKind: scheduleKind(),
    schedule: z.string().nullable().describe("Five cron fields, `@daily` and its kin, or an interval."),
    scheduleAt: z.string().nullable().describe("ISO 8601, in UTC."),
    timezone: z.string(),
    type: z.enum(["agent", "command"]),
    prompt: z.string().nullable(),
    command: z.union([z.string(), z.array(z.string())]).nullable(),
    deliver: z.array(target()),
    freshSession: z.boolean(),
    timeoutMs: z.number(),
    deleteAfterRun: z.boolean(),
    catchUp: z.boolean(),
    enabled: z.boolean(),
    createdBy: z.enum(["key", "agent"]),
    createdAt: ms(),
    updatedAt: ms(),
    state: z.object({
      lastRunAt: ms().nullable(),
      lastStatus: z.enum(["ok", "error", "skipped"]).nullable(),
      lastError: z.string().nullable(),
      consecutiveErrors: z.number(),
      runCount: z.number(),
      nextRunAt: ms().nullable(),
    }),
  }),
);
export type CronJob = z.output<ReturnType<typeof cronJob>>;

export const cronRun = lazy(() =>
  z.object({
    id: z.string(),
    jobId: z.string(),
    runAt: ms().describe("When it was due."),
    startedAt: ms().nullable().describe("Null while it waits for a place, and for a run that was skipped."),
    durationMs: z.number().nullable(),
    status: runStatus(),
    trigger: trigger(),
    output: z.string().nullable().describe("The last 16 KiB."),
    error: z.string().nullable(),
    sessionId: z.string().nullable(),
    requestId: z.string().nullable(),
    deliveries: z
      .array(
        z.object({
          channel: channelName(),
          chatId: z.string(),
          state: z.enum(["pending", "sending", "sent", "failed", "unknown"]),
        }),
      )
      .describe("As long as the channel keeps its messages: 30 days."),
  }),
);
export type CronRun = z.output<ReturnType<typeof cronRun>>;

const noNul = (text: string) => !text.includes("\0");
const argument = () => z.string().max(MAX_MESSAGE_CHARS).refine(noNul, { error: "must hold no NUL" });

/** What a person may set of a job; a null prompt or command is none. */
const settings = () => ({
  name: label(MAX_LABEL_CHARS).refine((text) => text.trim() !== "", { error: "must not be empty" }),
  scheduleKind: scheduleKind().optional(),
  schedule: z
    .string()
    .max(200)
    .optional()
    .describe("Five cron fields, `@daily` and its kin, or an interval like `30m`, `2h`, `1d`."),
  scheduleAt: z.string().max(64).optional().describe("ISO 8601; without an offset, in the job's time zone."),
  timezone: z.string().max(64).optional().describe("IANA name; default `gateway.timezone`."),
  prompt: z
    .string()
    .max(MAX_MESSAGE_CHARS)
    .refine((text) => text.trim() !== "", { error: "must not be empty" })
    .optional()
    .describe("What the agent is asked."),
  command: z
    .union([
      argument().refine((text) => text.trim() !== "", { error: "must not be empty" }),
      z
        .array(argument())
        .min(1)
        .max(MAX_ARGUMENTS)
        .refine(([program]) => program !== "", { error: "must begin with a program" }),
    ])
    .optional()
    .describe("Program and arguments, or a line for `/bin/sh -c`; admin keys only."),
  deliver: z.array(target()).max(MAX_TARGETS).optional().describe("Chats that get the reply."),
  ...(Object.fromEntries(
    CHANNEL_NAMES.map((channel) => [
      channel,
      z.string().min(1).max(128).optional().describe(`A chat of \`${channel}\` that gets the reply.`),
    ]),
  ) as Record<(typeof CHANNEL_NAMES)[number], z.ZodOptional<z.ZodString>>),
  freshSession: z.boolean().optional().describe("A new session for each run."),
  timeoutMs: z.number().int().min(1).max(MAX_TIMEOUT_MS).optional(),
  deleteAfterRun: z.boolean().optional().describe("Deletes the job after its first success."),
  catchUp: z.boolean().optional().describe("Makes up, once, for runs that were missed."),
  enabled: z.boolean().optional(),
});

export const cronInput = lazy(() => z.strictObject({ agentId: agentId(), ...settings() }));
export type CronInput = z.output<ReturnType<typeof cronInput>>;
export const cronPatch = lazy(() => z.strictObject(settings()).partial());
export type CronPatch = z.output<ReturnType<typeof cronPatch>>;

export const cronParams = lazy(() => z.object({ id: z.string() }));
export const cronQuery = lazy(() => z.object({ agent: z.string().optional() }));
export const cronRunsQuery = lazy(() => z.object({ limit: limit(DEFAULT_RUNS, MAX_RUNS) }));
export const cronRunQuery = lazy(() =>
  z.object({
    wait: z
      .enum(["true", "false"], { error: "must be true or false" })
      .describe("`false`: answers at once.")
      .optional()
      .transform((text) => text !== "false"),
  }),
);
export const cronStatus = lazy(() =>
  z.object({
    total: z.number(),
    enabled: z.number(),
    running: z.number(),
    nextRunAt: ms().nullable(),
  }),
);
