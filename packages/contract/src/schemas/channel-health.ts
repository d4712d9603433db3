import * as z from "zod";
import { lazy } from "../lazy.ts";
import { MAX_ACCOUNT_ID_CHARS, MAX_SENDER_ID_CHARS } from "../limits.ts";
import { ms } from "./common.ts";

/** The chat channels, by the names used in paths, configuration blocks and stored chat ids. */
export const CHANNEL_NAMES = [
  "botchat",
  "guildchat",
  "devicechat",
  "cloudchat",
  "sigchat",
  "teamchat",
] as const;
export const channelName = lazy(() => z.enum(CHANNEL_NAMES));

const health = lazy(() => ({
  connected: z.boolean().describe("What the connection to the provider last proved, not what is configured."),
  lastInboundAt: ms().nullable(),
  lastOutboundAt: ms().nullable(),
  lastError: z.string().nullable(),
  queued: z.number().describe("Messages waiting for their turn, and replies waiting to be sent."),
  unknown: z
    .number()
    .describe("Replies of the last 30 days that may or may not have arrived; see `deliveries`."),
}));
export const channelState = lazy(() =>
  z.object({
    channel: channelName(),
    enabled: z.boolean(),
    configured: z.boolean().describe("True if it has what it needs to connect, even while it is off."),
    ...health(),
    accounts: z
      .array(z.looseObject({ id: z.string(), ...health() }))
      .optional()
      .describe("`devicechat` only: each linked number."),
  }),
);
export type ChannelState = z.output<ReturnType<typeof channelState>>;

export const traceStep = lazy(() =>
  z.object({
    step: z.enum(["received", "stored", "denied", "turn", "reply", "delivery"]),
    at: ms().nullable().describe("Null if it has not happened yet."),
    state: z.string().optional().describe("State of a turn or a delivery."),
    endedAt: ms().nullable().optional(),
    requestId: z.string().optional(),
    purpose: z.string().optional().describe("Kind of reply: the answer, a notice, a pairing code."),
    attempts: z.number().optional(),
    providerId: z.string().nullable().optional(),
    reason: z.string().nullable().optional(),
  }),
);
export const trace = lazy(() =>
  z.object({
    message: z.object({
      id: z.number(),
      direction: z.enum(["in", "out"]).describe("`out`: not sent in answer to a message."),
      channel: channelName(),
      account: z.string(),
      chatId: z.string(),
      senderId: z.string().nullable(),
      eventId: z.string().nullable(),
      messageId: z.string().nullable(),
      requestId: z.string().nullable(),
      state: z.string(),
      receivedAt: ms(),
      settledAt: ms().nullable(),
      note: z.string().nullable(),
    }),
    steps: z.array(traceStep()),
  }),
);
export type Trace = z.output<ReturnType<typeof trace>>;
export type TraceStep = z.output<ReturnType<typeof traceStep>>;

export const allow = lazy(() =>
  z.object({
    channel: channelName(),
    id: z
      .string()
      .trim()
      .min(1)
      .max(MAX_SENDER_ID_CHARS)
      .describe("Stable id of the user or group, as its provider writes it."),
    kind: z.enum(["user", "group"]).default("user").describe("Which list to add it to."),
    account_id: z.string().max(MAX_ACCOUNT_ID_CHARS).optional().describe("Account of `devicechat`."),
  }),
);
