import * as z from "zod";
import { lazy } from "../lazy.ts";
import { ms } from "./common.ts";

export const ticketRequest = lazy(() =>
  z.strictObject({ agentId: z.string().min(1).max(64), sessionId: z.string().min(1).max(128) }),
);
export const ticket = lazy(() =>
  z.object({ ticket: z.string().describe("Opens one WebSocket."), expiresAt: ms() }),
);
export const screen = lazy(() =>
  z.object({
    text: z.string().describe("What is visible, one line per row, without escape sequences."),
    cursorRow: z.number().describe("From 0, at the top."),
    cursorCol: z.number().describe("From 0, at the left."),
    cols: z.number(),
    rows: z.number(),
  }),
);

/**
 * What a paired browser sends; its handler checks it, because whether the link still leads anywhere comes first.
 */
export const pairedRequest = lazy(() => z.record(z.string(), z.unknown()));
/** A pairing begun by `/cli` in a chat, by the id in its link. */
export const pairingParams = lazy(() => z.object({ pairingId: z.string() }));
export const pairingStatus = lazy(() =>
  z.object({
    state: z.enum(["waiting", "approved", "denied"]),
    code: z.string().describe("The chat shows the same code."),
    expiresAt: ms(),
  }),
);
export const initRequest = lazy(() => z.strictObject({ initData: z.string().min(1).max(8192) }));
export const pairedTicketRequest = lazy(() => z.strictObject({ sessionId: z.string().min(1).max(128) }));
export const pairedSessions = lazy(() =>
  z.object({
    agentId: z.string(),
    sessions: z.array(
      z.object({
        sessionId: z.string(),
        sessionName: z.string().nullable(),
        chatId: z.string(),
        busy: z.boolean(),
        lastActivity: ms(),
      }),
    ),
  }),
);
