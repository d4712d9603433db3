import * as z from "zod";
import { route, type SocketDecl } from "../route.ts";
import { screen, ticket, ticketRequest } from "../schemas/terminal.ts";

const ptyStreamTicket = route({
  method: "POST",
  path: "/api/v1/pty-stream-ticket",
  auth: "admin",
  summary: "Issue a single-use ticket, valid for 30 seconds, for the terminal of a session.",
  tag: "terminal",
  body: ticketRequest,
  responses: { 200: ticket },
  errors: ["AGENT_NOT_FOUND", "SESSION_NOT_FOUND", "SESSION_BUSY", "AGENT_FAILED", "CAPACITY", "UNAVAILABLE"],
});

const sessionScreen = route({
  method: "GET",
  path: "/api/v1/sessions/:sessionId/screen",
  auth: "key",
  summary: "Show the screen of a session's terminal as text.",
  tag: "terminal",
  params: () => z.object({ sessionId: z.string() }),
  responses: { 200: screen },
  errors: ["SESSION_NOT_FOUND", "NOT_FOUND", "UNAVAILABLE"],
  cli: { noun: "sessions", verb: "screen", args: ["sessionId"] },
});

export const terminalRoutes = { ptyStreamTicket, sessionScreen } as const;

export const ptyStream: SocketDecl = {
  path: "/api/v1/agents/:agentId/pty-stream",
  level: "admin",
  summary: "Watch the terminal of a session, and type into it.",
  maxMessageBytes: 64 * 1024,
};
