import * as z from "zod";
import { lazy } from "../lazy.ts";

/** How a running turn can be stuck. */
export const INCIDENT_STAGES = ["not_ready", "no_output", "dialog", "busy_screen", "exited"] as const;
export type IncidentStage = (typeof INCIDENT_STAGES)[number];

/** What can be done about it, in the order in which the watchdog tries it; `resend` is left to people. */
export const INCIDENT_ACTIONS = ["key", "restart", "headless", "resend"] as const;
export type IncidentAction = (typeof INCIDENT_ACTIONS)[number];

export const INCIDENT_OUTCOMES = ["open", "recovered", "gave_up", "ended"] as const;
export type IncidentOutcome = (typeof INCIDENT_OUTCOMES)[number];

export const incident = lazy(() => {
  const action = z.enum(INCIDENT_ACTIONS);
  return z.object({
    id: z.string(),
    sessionId: z.string(),
    chatId: z.string(),
    requestId: z.string().describe("The turn."),
    stage: z.enum(INCIDENT_STAGES),
    detectedAt: z.number(),
    evidence: z.string().describe("What was seen, at most 500 characters, with secrets masked."),
    action: action.nullable().describe("What the watchdog does now or next; null if it does nothing."),
    allowed: z.array(action).describe("What can be asked for now."),
    actions: z
      .array(
        z.object({
          action,
          at: z.number(),
          by: z.enum(["watchdog", "person"]),
          ok: z.boolean().describe("False if it could not be done."),
        }),
      )
      .describe("What was done, oldest first."),
    outcome: z.enum(INCIDENT_OUTCOMES),
    closedAt: z.number().nullable(),
  });
});
export type Incident = z.output<ReturnType<typeof incident>>;

export const incidentAct = lazy(() => z.object({ action: z.enum(INCIDENT_ACTIONS) }));
