import { INCIDENT_STAGES } from "@agent-gateway/contract";
import * as z from "zod";
import { isRecord } from "../lib/is-record.ts";
import { type Problem, warning } from "./problems.ts";

const atLeast = (least: number) => {
  const error = `must be a number of at least ${least}`;
  return z.number({ error }).min(least, { error });
};
const known = { error: `can only contain ${INCIDENT_STAGES.join(", ")}` };
/** What falls back to its default when it is wrong, so that a typing error does not switch the watchdog off. */
const rules = {
  stages: z.array(z.enum(INCIDENT_STAGES, known), known),
  maxPerTurn: atLeast(0).int({ error: "must be a whole number" }),
  cooldownSeconds: atLeast(0),
  quietSeconds: atLeast(1),
  readySeconds: atLeast(1),
};

export const selfHealingSection = z
  .looseObject({
    enabled: z
      .boolean()
      .default(true)
      .describe("Watches over running turns and reports those that are stuck."),
    autoRecover: z
      .boolean()
      .default(false)
      .describe("Lets the watchdog repair a stuck turn; if off, it only reports it."),
    stages: rules.stages
      .default([...INCIDENT_STAGES])
      .catch([...INCIDENT_STAGES])
      .describe("What it watches for."),
    maxPerTurn: rules.maxPerTurn
      .default(3)
      .catch(3)
      .describe("Maximum number of repairs that it tries in one turn."),
    cooldownSeconds: rules.cooldownSeconds
      .default(30)
      .catch(30)
      .describe("Pause after a repair before the next one."),
    quietSeconds: rules.quietSeconds
      .default(180)
      .catch(180)
      .describe(
        "Silence of an agent's process after which its turn counts as stuck; at least 600 while a tool runs.",
      ),
    readySeconds: rules.readySeconds
      .default(60)
      .catch(60)
      .describe("How long a process may take to get ready."),
  })
  .prefault({});

/** Warns of settings that are replaced by their defaults. */
export function checkSelfHealing(raw: unknown): Problem[] {
  if (!isRecord(raw)) return [];
  return Object.entries(rules).flatMap(([key, rule]) => {
    const parsed = rule.safeParse(raw[key]);
    return raw[key] === undefined || parsed.success
      ? []
      : [warning(`gateway.selfHealing.${key}`, `${parsed.error.issues[0]!.message}; the default is used`)];
  });
}
