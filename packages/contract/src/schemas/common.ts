import * as z from "zod";
import { lazy } from "../lazy.ts";
import { AGENT_ID, CHAT_ID } from "../limits.ts";

/** Caller identity; a bad one is answered with `INVALID_CHAT_ID`, so its issues carry that marker. */
export const chatId = lazy(() =>
  z
    .string()
    .regex(CHAT_ID, { error: "must be 1-128 characters of A-Za-z0-9._@:+- and neither . nor .." })
    .meta({ code: "INVALID_CHAT_ID" }),
);
/** Characters that break a line, control a terminal, or change the direction of surrounding text. */
const STEERING = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u;

/** A display name, which lists, logs and terminals show unchanged. */
export const label = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => !STEERING.test(text), {
      error: "must be one line, without control characters or marks that override text direction",
    });
export const agentId = lazy(() =>
  z.string().regex(AGENT_ID, { error: "must be a-z, then up to 31 of a-z 0-9 _ -" }),
);
/** Gateway-generated lower-case UUID. Any other string simply matches no session. */
export const sessionId = lazy(() => z.string().min(1).max(128));
export const ms = lazy(() => z.number());

export const agentParams = lazy(() => z.object({ agentId: z.string() }));
export const sessionParams = lazy(() => z.object({ agentId: z.string(), sessionId: z.string() }));
export const chatParams = lazy(() => z.object({ agentId: z.string(), chatId: z.string() }));
export const chatIdInput = lazy(() => z.object({ chat_id: chatId() }));

/** A query parameter that must be a finite number. */
export const numeric = lazy(() =>
  z
    .string()
    .trim()
    .refine((text) => text !== "" && Number.isFinite(Number(text)), { error: "must be a number" })
    .meta({ type: "number" })
    .transform(Number),
);

/** How many entries of a list to return; more than `most` means `most`. */
export const limit = (preset: number, most: number) =>
  z
    .string()
    .regex(/^0*[1-9]\d*$/, { error: "must be a positive integer" })
    .meta({ type: "integer", minimum: 1, maximum: most, default: preset })
    .optional()
    .transform((text) => Math.min(Number(text ?? preset), most));
