import * as z from "zod";
import { lazy } from "../lazy.ts";
import { limit } from "./common.ts";

/** Everything that the feed can tell, also what only later parts of the product make happen. */
export const FEED_TYPES = [
  "message.received",
  "turn.started",
  "turn.finished",
  "turn.failed",
  "session.created",
  "session.deleted",
  "session.restarted",
  "channel.connected",
  "channel.disconnected",
  "channel.knock",
  "delivery.failed",
  "delivery.unknown",
  "cron.finished",
  "incident.opened",
  "incident.closed",
  "connector.connected",
  "connector.disconnected",
  "agent.created",
  "agent.updated",
  "agent.deleted",
  "agent.placed",
  "agent.unplaced",
  "config.reloaded",
  "config.refused",
  "spend.warning",
  "spend.reached",
  "package.updated",
  "gateway.started",
  "gateway.stopping",
  "hook.disabled",
  "task.queued",
  "task.started",
  "task.waiting",
  "task.completed",
  "task.failed",
  "task.cancelled",
  "voice.opened",
  "voice.closed",
  "node.ready",
  "node.draining",
  "node.gone",
] as const;
export type FeedType = (typeof FEED_TYPES)[number];

/** Largest number of events in one reply. */
const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 50;
/** Longer lists can only repeat themselves. */
const MAX_TYPES_CHARS = 2000;

/** The types that a list of names stands for; undefined if one of them is unknown. */
function typesNamed(list: string): readonly FeedType[] | undefined {
  const chosen = new Set<FeedType>();
  for (const name of list.split(",")) {
    const found = FEED_TYPES.filter(
      (type) => name === type || name === "*" || (name.endsWith(".*") && type.startsWith(name.slice(0, -1))),
    );
    if (found.length === 0) return undefined;
    for (const type of found) chosen.add(type);
  }
  return [...chosen];
}

/** The number of an event, as text. */
export const EVENT_SEQ = /^\d{1,15}$/;

export const feedEvent = lazy(() =>
  z.object({
    id: z.string().describe("`evt_<seq>`."),
    type: z.string(),
    timestamp: z.string().describe("ISO 8601."),
    data: z.looseObject({
      agentId: z.string().optional(),
      text: z.string().optional().describe("Only with `include=text`."),
      truncated: z.literal(true).optional().describe("Set when `text` was cut."),
    }),
  }),
);
export type FeedEvent = z.output<ReturnType<typeof feedEvent>>;

export const feedPage = lazy(() =>
  z.object({
    events: z.array(feedEvent()),
    hasMore: z.boolean(),
    nextCursor: z.number().describe("What `after` takes next."),
  }),
);

export type FeedPage = z.output<ReturnType<typeof feedPage>>;

export const feedQuery = lazy(() =>
  z.object({
    types: z
      .string()
      .max(MAX_TYPES_CHARS)
      .describe("Types separated by commas; `turn.*` means all of a noun, `*` all.")
      .transform((list, context) => {
        const types = typesNamed(list);
        if (types) return types;
        context.issues.push({
          code: "custom",
          input: list,
          message: "must be types of events, <noun>.* or *, separated by commas",
        });
        return z.NEVER;
      })
      .optional(),
    agent: z.string().describe("Only this agent's events.").optional(),
    after: z
      .string()
      .regex(EVENT_SEQ, { error: "must be the number of an event" })
      .describe("The number after which to begin; without it, a stream is live and a list shows the latest.")
      .transform(Number)
      .optional(),
    include: z
      .literal("text", { error: "can only be text" })
      .describe("Adds the texts of messages.")
      .optional(),
    stream: z
      .enum(["true", "false"], { error: "must be true or false" })
      .describe("`false`: a list in place of a stream.")
      .optional()
      .transform((text) => text !== "false"),
    limit: limit(DEFAULT_LIMIT, MAX_LIMIT).describe("For a list."),
  }),
);
