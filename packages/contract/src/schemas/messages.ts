import * as z from "zod";
import { lazy } from "../lazy.ts";
import { MAX_LABEL_CHARS, MAX_MESSAGE_CHARS, MAX_MESSAGE_FILES } from "../limits.ts";
import { chatId, label, sessionId } from "./common.ts";
import { usage } from "./usage.ts";

/** A file in the agent's media folder that belongs to its reply. A `file` always has a name, type and size. */
export const attachment = lazy(() =>
  z.object({
    type: z.enum(["image", "file"]),
    url: z.string(),
    name: z.string().optional(),
    mime: z.string().optional(),
    /** Bytes. */
    size: z.number().optional(),
  }),
);
export type Attachment = z.output<ReturnType<typeof attachment>>;

const hint = lazy(() =>
  z
    .string()
    .max(MAX_MESSAGE_CHARS)
    .optional()
    .transform((text) => (text?.trim() ? text.trim() : undefined)),
);

/** Empty and blank strings are ignored; `n` must be at least 1. */
export const imageParams = lazy(() =>
  z.object({
    model: hint(),
    quality: hint(),
    size: hint(),
    aspect_ratio: hint(),
    image_ref: hint(),
    n: z.number().min(1).optional(),
  }),
);
export const videoParams = lazy(() =>
  z.object({
    model: hint(),
    resolution: hint(),
    aspect_ratio: hint(),
    image_ref: hint(),
    duration: z.number().int().min(1).optional(),
  }),
);

/** Counts characters as people do; scans the text only if its code units leave the answer open. */
const charsOf = (text: string): number =>
  text.length > MAX_MESSAGE_CHARS && text.length <= 2 * MAX_MESSAGE_CHARS ? [...text].length : text.length;

export const messageText = lazy(() =>
  z
    .string()
    .refine((text) => text.trim() !== "", { error: "must not be empty" })
    .refine((text) => charsOf(text) <= MAX_MESSAGE_CHARS, {
      error: `must be at most ${MAX_MESSAGE_CHARS} characters`,
      params: { code: "MESSAGE_TOO_LONG" },
    }),
);

export const sendMessage = lazy(() =>
  z.object({
    message: messageText(),
    chat_id: chatId(),
    session_id: sessionId().optional(),
    stream: z.boolean().default(false),
    timeout_ms: z.number().min(1).max(3_600_000).default(60_000),
    media_files: z.array(z.string()).max(MAX_MESSAGE_FILES).optional(),
    store_user_message: z.boolean().default(true),
    image_params: imageParams().optional(),
    video_params: videoParams().optional(),
  }),
);

export const messageReply = lazy(() =>
  z.object({
    request_id: z.string(),
    agent_id: z.string(),
    response: z.string(),
    session_id: z.string(),
    duration_ms: z.number(),
    interrupted: z.literal(true).optional(),
    /** The store could not take the reply: it is kept for ten minutes, and stored as soon as possible. */
    stored: z.literal(false).optional(),
    attachments: z.array(attachment()).optional(),
    usage: usage(),
  }),
);
export const commandReply = lazy(() =>
  z.object({
    command: z.string(),
    session_id: z.string(),
    result: z.record(z.string(), z.unknown()),
  }),
);

export const injection = lazy(() =>
  z.object({
    content: messageText(),
    senderName: label(MAX_LABEL_CHARS).min(1).optional(),
  }),
);
export const greeting = lazy(() => z.object({ chat_id: chatId(), session_id: sessionId() }));
