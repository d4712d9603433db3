import * as z from "zod";
import { route } from "../route.ts";
import { agentParams } from "../schemas/common.ts";
import {
  commandReply,
  greeting as greetingBody,
  injection,
  messageReply,
  sendMessage as sendBody,
} from "../schemas/messages.ts";

export const sendMessage = route({
  method: "POST",
  path: "/api/v1/agents/:agentId/messages",
  auth: "key",
  summary: "Send a message or slash command to an agent; one JSON reply, or SSE with `stream: true`.",
  tag: "messages",
  params: agentParams,
  body: sendBody,
  rawReply: "sse",
  responses: { 200: () => z.union([messageReply(), commandReply()]) },
  errors: [
    "INVALID_CHAT_ID",
    "MESSAGE_TOO_LONG",
    "UNKNOWN_COMMAND",
    "UNAVAILABLE",
    "SESSION_NOT_FOUND",
    "SESSION_BUSY",
    "AGENT_FAILED",
    "CAPACITY",
    "TIMEOUT",
  ],
  cli: {
    noun: "messages",
    verb: "send",
    args: ["agentId", "message"],
    flags: { chat: "chat_id", session: "session_id", timeout: "timeout_ms", media: "media_files" },
  },
});

export const greet = route({
  method: "POST",
  path: "/api/v1/agents/:agentId/greeting",
  auth: "write",
  summary: "Let the agent speak first, from its one-shot greeting file; 204 when there is none.",
  tag: "messages",
  stores: true,
  params: agentParams,
  body: greetingBody,
  rawReply: "sse",
  responses: { 200: null, 204: null },
  errors: ["INVALID_CHAT_ID", "SESSION_NOT_FOUND", "SESSION_BUSY", "CAPACITY"],
  cli: {
    noun: "messages",
    verb: "greet",
    args: ["agentId"],
    flags: { chat: "chat_id", session: "session_id" },
  },
});

export const inject = route({
  method: "POST",
  path: "/api/v1/agents/:agentId/chats/:chatId/sessions/:sessionId/messages",
  auth: "key",
  summary: "Put a message into a session of any chat and stream the reply for up to a minute.",
  tag: "messages",
  stores: true,
  params: () => z.object({ agentId: z.string(), chatId: z.string(), sessionId: z.string() }),
  body: injection,
  rawReply: "sse",
  responses: { 200: null },
  errors: ["MESSAGE_TOO_LONG", "SESSION_NOT_FOUND", "SESSION_BUSY", "CAPACITY", "TIMEOUT_SOFT"],
  cli: {
    noun: "messages",
    verb: "inject",
    args: ["agentId", "chatId", "sessionId", "content"],
    flags: { sender: "senderName" },
  },
});
