import * as z from "zod";
import { route } from "../route.ts";
import { agentParams, chatIdInput, ms, sessionParams } from "../schemas/common.ts";
import {
  createSession as createBody,
  sessionInfo as info,
  renameSession as renameBody,
  session,
  streamQuery,
} from "../schemas/sessions.ts";

const one = "/api/v1/agents/:agentId/sessions/:sessionId";
const errors = ["INVALID_CHAT_ID", "SESSION_NOT_FOUND"] as const;
const chat = { chat: "chat_id" };
const args = ["agentId", "sessionId"] as const;

export const listSessions = route({
  method: "GET",
  path: "/api/v1/agents/:agentId/sessions",
  auth: "key",
  summary: "List a chat's sessions, latest first.",
  tag: "sessions",
  params: agentParams,
  query: chatIdInput,
  responses: { 200: () => z.object({ sessions: z.array(session()) }) },
  errors: ["INVALID_CHAT_ID"],
  cli: { noun: "sessions", verb: "list", args: ["agentId"], flags: chat },
});

export const createSession = route({
  method: "POST",
  path: "/api/v1/agents/:agentId/sessions",
  auth: "key",
  summary: "Create a session, named after `name` or else `prompt`.",
  tag: "sessions",
  stores: true,
  params: agentParams,
  body: createBody,
  responses: { 201: () => z.object({ sessionId: z.string(), sessionName: z.string(), createdAt: ms() }) },
  errors: ["INVALID_CHAT_ID"],
  cli: { noun: "sessions", verb: "create", args: ["agentId"], flags: chat },
});

export const sessionInfo = route({
  method: "GET",
  path: `${one}/info`,
  auth: "key",
  summary: "Show a session's name, message count and context use.",
  tag: "sessions",
  params: sessionParams,
  query: chatIdInput,
  responses: { 200: info },
  errors,
  cli: { noun: "sessions", verb: "info", args, flags: chat },
});

export const renameSession = route({
  method: "PATCH",
  path: one,
  auth: "key",
  summary: "Rename a session.",
  tag: "sessions",
  params: sessionParams,
  body: renameBody,
  responses: { 200: () => z.object({ sessionId: z.string(), sessionName: z.string() }) },
  errors,
  cli: { noun: "sessions", verb: "rename", args: ["agentId", "sessionId", "session_name"], flags: chat },
});

export const deleteSession = route({
  method: "DELETE",
  path: one,
  auth: "key",
  summary: "Delete a session and its messages.",
  tag: "sessions",
  params: sessionParams,
  query: chatIdInput,
  responses: { 204: null },
  errors,
  cli: { noun: "sessions", verb: "delete", args, flags: chat },
});

export const clearSession = route({
  method: "POST",
  path: `${one}/clear`,
  auth: "key",
  summary: "Forget everything said in a session.",
  tag: "sessions",
  params: sessionParams,
  body: chatIdInput,
  responses: { 200: () => z.object({ cleared: z.literal(true), sessionId: z.string() }) },
  errors: [...errors, "SESSION_BUSY"],
  cli: { noun: "sessions", verb: "clear", args, flags: chat },
});

export const compactSession = route({
  method: "POST",
  path: `${one}/compact`,
  auth: "key",
  summary: "Summarise the older part of a session and keep the recent part.",
  tag: "sessions",
  params: sessionParams,
  body: chatIdInput,
  responses: {
    200: () => z.object({ success: z.boolean(), keptMessages: z.number(), archivedMessages: z.number() }),
  },
  errors: [...errors, "SESSION_BUSY", "AGENT_FAILED", "CAPACITY"],
  cli: { noun: "sessions", verb: "compact", args, flags: chat },
});

export const stopSession = route({
  method: "POST",
  path: `${one}/stop`,
  auth: "key",
  summary: "Interrupt the running turn; the text so far is kept.",
  tag: "sessions",
  params: sessionParams,
  body: chatIdInput,
  responses: { 200: () => z.object({ stopped: z.boolean() }) },
  errors,
  cli: { noun: "sessions", verb: "stop", args, flags: chat },
});

export const restartSession = route({
  method: "POST",
  path: `${one}/restart`,
  auth: "key",
  summary: "End the session's process and start a fresh one.",
  tag: "sessions",
  params: sessionParams,
  body: chatIdInput,
  responses: { 200: () => z.object({ restarting: z.literal(true) }) },
  errors,
  cli: { noun: "sessions", verb: "restart", args, flags: chat },
});

export const streamSession = route({
  method: "GET",
  path: `${one}/stream`,
  auth: "key",
  summary: "Read a running or recently finished turn, from the start or after a cursor.",
  tag: "sessions",
  params: sessionParams,
  query: streamQuery,
  rawReply: "sse",
  responses: { 200: null },
  errors: [...errors, "TURN_GONE", "TURN_MISMATCH", "TURN_TRUNCATED", "CURSOR_AHEAD"],
  cli: {
    noun: "sessions",
    verb: "stream",
    args,
    flags: { chat: "chat_id", request: "request_id", after: "after_seq" },
  },
});
