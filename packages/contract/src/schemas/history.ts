import * as z from "zod";
import { lazy } from "../lazy.ts";
import { ms, numeric } from "./common.ts";
import { attachment } from "./messages.ts";
import { messageError, messageStep } from "./steps.ts";

export const message = lazy(() =>
  z.object({
    role: z.enum(["user", "assistant"]),
    content: z.string(),
    ts: ms(),
    sessionId: z.string(),
    id: z.number().optional(),
    interrupted: z.literal(true).optional(),
    senderName: z.string().optional(),
    attachments: z.array(attachment()).optional(),
    mediaFiles: z.array(z.string()).optional(),
    /** Set on the reply of a failed turn; `content` is then the text so far. */
    error: messageError().optional(),
    /** Only with `include=steps`. */
    steps: z.array(messageStep()).optional(),
  }),
);
export const chat = lazy(() =>
  z.object({ chatId: z.string(), messageCount: z.number(), lastActivity: z.string() }),
);
export const chatSession = lazy(() =>
  z.object({
    sessionId: z.string(),
    messageCount: z.number(),
    createdAt: z.string(),
    lastActivity: z.string(),
    name: z.string().optional(),
  }),
);

/** A count that falls back to `fallback` when it is absent, not a number or below 1, and is clamped to `max`. */
const lenientCount = (fallback: number, max: number) =>
  z
    .string()
    .meta({ type: "integer", minimum: 1, maximum: max, default: fallback })
    .optional()
    .transform((text) => {
      const value = Math.floor(Number(text?.trim() || Number.NaN));
      return Number.isFinite(value) && value >= 1 ? Math.min(value, max) : fallback;
    });

export const messagesQuery = lazy(() =>
  z.object({
    limit: lenientCount(50, 1000),
    before: numeric().optional(),
    after: numeric().optional(),
    before_id: numeric().optional(),
    after_id: numeric().optional(),
    session_id: z.string().optional(),
    order: z
      .string()
      .meta({ enum: ["asc", "desc"], default: "desc" })
      .optional()
      .transform((text) => (text ?? "desc").toLowerCase())
      .pipe(z.enum(["asc", "desc"])),
    include: z.enum(["steps"], { error: "must be steps" }).optional(),
  }),
);
export const messagesPage = lazy(() =>
  z.object({
    messages: z.array(message()),
    hasMore: z.boolean(),
    nextCursor: z.number().nullable(),
    nextCursorId: z.number().nullable(),
  }),
);
export const searchQuery = lazy(() =>
  z.object({
    q: z.string().refine((text) => text.trim() !== "", { error: "must not be empty" }),
    limit: lenientCount(20, 100),
    offset: z
      .string()
      .meta({ type: "integer", minimum: 0, default: 0 })
      .optional()
      .transform((text) => {
        const value = Math.floor(Number(text?.trim() || Number.NaN));
        return Number.isFinite(value) && value >= 0 ? value : 0;
      }),
    session_id: z.string().optional(),
  }),
);
export const searchPage = lazy(() => z.object({ messages: z.array(message()), total: z.number() }));

const MAX_WINDOW_MS = 366 * 24 * 3600 * 1000;
export const activeDaysQuery = lazy(() =>
  z
    .object({
      from: numeric(),
      to: numeric(),
      tz_offset: numeric().optional(),
      session_id: z.string().optional(),
    })
    .refine((query) => query.to - query.from <= MAX_WINDOW_MS, {
      error: "must be at most 366 days after from",
      path: ["to"],
    }),
);
export const activeDays = lazy(() => z.object({ days: z.array(z.string()) }));

export const exportQuery = lazy(() => z.object({ chat_id: z.string().optional() }));
export const importReply = lazy(() =>
  z.object({ imported: z.number(), skipped: z.number(), sessions: z.number() }),
);
export const importLine = lazy(() =>
  z.object({
    chatId: z.string(),
    sessionId: z.string(),
    sessionName: z.string().nullish(),
    role: z.enum(["user", "assistant"]),
    content: z.string(),
    ts: z.number().int().min(0),
    error: messageError().optional(),
    steps: z.array(messageStep()).optional(),
  }),
);
