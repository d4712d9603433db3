import * as z from "zod";
import { lazy } from "../lazy.ts";
import { INCIDENT_ACTIONS, INCIDENT_OUTCOMES, INCIDENT_STAGES } from "./incidents.ts";
import { attachment } from "./messages.ts";
import { usage } from "./usage.ts";

/** What a turn emits, in order. The log numbers them from 1 as `seq`. */
export const turnEvent = lazy(() =>
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("text_delta"), text: z.string() }),
    z.object({ type: z.literal("thinking"), text: z.string() }),
    z.object({
      type: z.literal("tool_use"),
      name: z.string(),
      id: z.string(),
      title: z.string().optional(),
      /** JSON, at most 4 KiB of it. */
      input: z.string().optional(),
    }),
    z.object({
      type: z.literal("tool_result"),
      id: z.string(),
      is_error: z.boolean(),
      /** At most 4 KiB of it. */
      result: z.string().optional(),
    }),
    /** The agent retries its model call after a failure; `of` is the maximum number of retries. */
    z.object({
      type: z.literal("retry"),
      attempt: z.number(),
      of: z.number(),
      /** HTTP status of the failed attempt. */
      status: z.number().optional(),
      message: z.string(),
    }),
    /** The watchdog found the turn stuck, did something about it, or saw it go on. */
    z.object({
      type: z.literal("incident"),
      stage: z.enum(INCIDENT_STAGES),
      action: z.enum(INCIDENT_ACTIONS).nullable(),
      outcome: z.enum(INCIDENT_OUTCOMES),
    }),
    z.object({ type: z.literal("attachment"), attachment: attachment() }),
    z.object({ type: z.literal("timeout"), message: z.string(), resumable: z.literal(true) }),
    z.object({
      type: z.literal("result"),
      text: z.string(),
      session_id: z.string(),
      duration_ms: z.number().optional(),
      interrupted: z.literal(true).optional(),
      /** The store could not take the reply: it is kept for ten minutes, and stored as soon as possible. */
      stored: z.literal(false).optional(),
      attachments: z.array(attachment()).optional(),
      usage: usage().optional(),
    }),
    z.object({ type: z.literal("error"), message: z.string(), code: z.string().optional() }),
  ]),
);
