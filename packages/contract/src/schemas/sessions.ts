import * as z from "zod";
import { lazy } from "../lazy.ts";
import { MAX_LABEL_CHARS, MAX_MESSAGE_CHARS } from "../limits.ts";
import { chatId, label, ms } from "./common.ts";

export const session = lazy(() =>
  z.object({ id: z.string(), name: z.string(), createdAt: ms(), lastActivity: ms() }),
);
export const sessionInfo = lazy(() =>
  z.object({
    sessionId: z.string(),
    sessionName: z.string(),
    messageCount: z.number(),
    contextPercent: z.number(),
    createdAt: ms(),
    lastActivity: ms(),
  }),
);
const name = lazy(() =>
  label(MAX_LABEL_CHARS).refine((text) => text.trim() !== "", { error: "must not be empty" }),
);
export const createSession = lazy(() =>
  z.object({
    chat_id: chatId(),
    prompt: z.string().max(MAX_MESSAGE_CHARS).optional(),
    name: label(MAX_LABEL_CHARS).optional(),
  }),
);
export const renameSession = lazy(() =>
  z
    .object({ chat_id: chatId(), session_name: name().optional(), sessionName: name().optional() })
    .refine((body) => body.session_name !== undefined || body.sessionName !== undefined, {
      error: "is required",
      path: ["session_name"],
    }),
);
export const streamQuery = lazy(() =>
  z.object({
    chat_id: chatId(),
    request_id: z.string().optional(),
    after_seq: z
      .string()
      .regex(/^\d{1,15}$/, { error: "must be a whole number" })
      .meta({ type: "integer", minimum: 0 })
      .transform(Number)
      .optional(),
  }),
);
export const sessionRecord = lazy(() =>
  z.object({
    chatId: z.string(),
    sessionId: z.string(),
    source: z.string(),
    messageCount: z.number(),
    createdAt: ms(),
    lastActivity: ms(),
    lastMessage: z.string().nullable(),
    sessionName: z.string().nullable(),
    imageConfig: z.record(z.string(), z.unknown()).nullable(),
    videoConfig: z.record(z.string(), z.unknown()).nullable(),
    model: z.string().nullable(),
  }),
);
