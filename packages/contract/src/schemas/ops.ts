import * as z from "zod";
import { lazy } from "../lazy.ts";
import { runtimeStatus } from "./agents.ts";
import { chatId } from "./common.ts";
import { INCIDENT_STAGES } from "./incidents.ts";

export const createShares = lazy(() =>
  z.object({
    agent_id: z.string(),
    session_id: z.string(),
    chat_id: chatId(),
    refs: z
      .array(z.object({ path: z.string().min(1).max(4096) }))
      .min(1)
      .max(20),
    ttl_seconds: z.number().int().min(10).max(86_400).default(1800),
  }),
);
export const shareItem = lazy(() =>
  z.object({
    share_id: z.string(),
    token: z.string(),
    url: z.string().optional(),
    expires_at: z.number(),
  }),
);
export const liveSession = lazy(() =>
  z.object({
    chatId: z.string(),
    sessionId: z.string(),
    source: z.string(),
    busy: z.boolean(),
    pid: z.number().nullable(),
    model: z.string().nullable().describe("Model in use, if the program reports it."),
    spawnedAt: z.number().nullable(),
    lastActivity: z.number(),
    backend: z.enum(["headless", "pty"]).describe("Whether its program runs in a terminal."),
    incident: z
      .object({ id: z.string(), stage: z.enum(INCIDENT_STAGES) })
      .nullable()
      .describe("The latest open incident of its turn."),
  }),
);
export const statusQuery = lazy(() =>
  z.object({
    include: z
      .enum(["activity"], { error: "must be activity" })
      .optional()
      .describe("`activity` adds what happened in the last 24 hours."),
  }),
);
const activity = lazy(() => {
  const counts = () => z.array(z.number());
  const measures = () => z.array(z.number().nullable());
  return z.object({
    from: z
      .number()
      .describe("When the first step began; with the gateway, if it has run for less than a day."),
    stepMs: z
      .number()
      .describe("Length of a step. Every list has one entry for each step, the oldest first."),
    received: counts().describe("Messages received."),
    replies: counts().describe("Replies stored."),
    turns: counts().describe("Turns that ended."),
    failed: counts().describe("Those of them that failed."),
    p50Ms: measures().describe("Half of the turns took no longer, to 10 %; null where none ended."),
    p95Ms: measures().describe("95 % of the turns took no longer, to 10 %; null where none ended."),
    memory: measures().describe("The most memory that was seen, in bytes; null where nobody looked."),
  });
});
export const status = lazy(() =>
  z.object({
    status: z.string(),
    version: z.string(),
    startedAt: z.number(),
    uptime: z.number(),
    store: z
      .object({
        driver: z.enum(["sqlite", "postgres"]),
        ok: z.boolean().describe("False while the store does not answer."),
        latencyMs: z.number().nullable().describe("How long its latest answer took."),
      })
      .describe("Where messages are stored."),
    agents: z.array(
      z.object({
        id: z.string(),
        isRunning: z.boolean().describe("False for an agent that cannot start."),
        runtime: z.string().describe("What runs the agent; for `auto`, the one that was chosen."),
        problem: z.string().nullable().describe("Why the agent cannot start."),
        lastError: runtimeStatus().shape.lastError,
        sessions: z.array(liveSession()),
        messagesReceived: z.number(),
        messagesSent: z.number(),
        channels: z.record(z.string(), z.unknown()),
      }),
    ),
    activity: activity().optional().describe("With `include=activity`; counted since the start."),
  }),
);
export const processes = lazy(() =>
  z.object({
    processes: z.array(
      z.object({
        pid: z.number(),
        ppid: z.number(),
        cpu: z.number(),
        rssKb: z.number(),
        command: z.string(),
      }),
    ),
    numCpus: z.number(),
  }),
);
export const routeMeta = lazy(() =>
  z.object({
    method: z.string(),
    path: z.string(),
    auth: z.enum(["none", "key", "write", "admin", "ticket", "signature"]),
    summary: z.string(),
    tag: z.string(),
  }),
);
export const command = lazy(() => z.object({ name: z.string(), description: z.string(), usage: z.string() }));
export const login = lazy(() => z.object({ key: z.string().min(1).max(512) }));
