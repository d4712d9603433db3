import * as z from "zod";
import { lazy } from "../lazy.ts";

const counts = () => ({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cacheReadTokens: z.number(),
  cacheWriteTokens: z.number(),
  /** In the configured currency. */
  cost: z.number(),
  /** Some of the tokens were not reported and are estimated from the length of the text. */
  estimated: z.boolean(),
});

/** What one turn used. */
export const usage = lazy(() => z.object(counts()));
export type Usage = z.output<ReturnType<typeof usage>>;

const sum = lazy(() =>
  z.object({
    turns: z.number(),
    ...counts(),
    /** Some of the tokens have no price, and their cost is missing. */
    unpriced: z.boolean(),
  }),
);

const USAGE_GROUPS = ["day", "agent", "key", "model", "source", "session"] as const;
const isGroup = (name: string): name is (typeof USAGE_GROUPS)[number] =>
  (USAGE_GROUPS as readonly string[]).includes(name);

const isDay = (text: string) => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
};
const day = () =>
  z.string().refine(isDay, { error: "must be a day, YYYY-MM-DD" }).meta({ format: "date" }).optional();

export const usageQuery = lazy(() =>
  z.object({
    from: day(),
    to: day(),
    group: z
      .string()
      .optional()
      .transform((text, context) => {
        const names = [
          ...new Set(
            text === undefined || text.trim() === "" ? [] : text.split(",").map((name) => name.trim()),
          ),
        ];
        const groups = names.filter(isGroup);
        if (groups.length < names.length) {
          context.addIssue({ code: "custom", message: `must be a list of ${USAGE_GROUPS.join(", ")}` });
          return z.NEVER;
        }
        return groups;
      }),
    agent: z.string().optional(),
    key: z.string().optional(),
  }),
);

export const usageReport = lazy(() =>
  z.object({
    from: z.string(),
    to: z.string(),
    timezone: z.string(),
    currency: z.string(),
    rows: z.array(
      sum().extend({
        day: z.string().nullable().optional(),
        agent: z.string().nullable().optional(),
        /** Null for turns that no key caused. */
        key: z.string().nullable().optional(),
        model: z.string().nullable().optional(),
        source: z.string().nullable().optional(),
        session: z.string().nullable().optional(),
      }),
    ),
    total: sum(),
  }),
);
export type UsageReport = z.output<ReturnType<typeof usageReport>>;
