import * as z from "zod";
import { route } from "../route.ts";
import { agentParams, chatParams } from "../schemas/common.ts";
import {
  activeDaysQuery,
  chat,
  chatSession,
  activeDays as days,
  exportQuery,
  importReply,
  messagesPage,
  messagesQuery,
  searchPage,
  searchQuery,
} from "../schemas/history.ts";
import { sessionRecord } from "../schemas/sessions.ts";

const chats = "/api/v1/agents/:agentId/chats";
const messages = `${chats}/:chatId/messages`;

export const allSessions = route({
  method: "GET",
  path: "/api/v1/agents/sessions",
  auth: "admin",
  summary: "List the sessions of all agents.",
  tag: "history",
  responses: {
    200: () =>
      z.object({
        agents: z.array(
          z.object({ agentId: z.string(), description: z.string(), sessions: z.array(sessionRecord()) }),
        ),
      }),
  },
  cli: { noun: "history", verb: "all-sessions" },
});

export const listChats = route({
  method: "GET",
  path: chats,
  auth: "key",
  summary: "List an agent's chats, latest first.",
  tag: "history",
  params: agentParams,
  responses: { 200: () => z.object({ chats: z.array(chat()) }) },
  cli: { noun: "history", verb: "chats", args: ["agentId"] },
});

export const listChatSessions = route({
  method: "GET",
  path: `${chats}/:chatId/sessions`,
  auth: "key",
  summary: "List the sessions of one chat, by its stored id (`api-…`).",
  tag: "history",
  params: chatParams,
  responses: { 200: () => z.object({ sessions: z.array(chatSession()) }) },
  cli: {
    noun: "history",
    verb: "sessions",
    args: ["agentId", "chatId"],
    flags: { chat: "chatId" },
  },
});

export const listMessages = route({
  method: "GET",
  path: messages,
  auth: "key",
  summary: "List a chat's messages, page by page in either direction.",
  tag: "history",
  params: chatParams,
  query: messagesQuery,
  responses: { 200: messagesPage },
  cli: {
    noun: "history",
    verb: "messages",
    args: ["agentId", "chatId"],
    flags: { chat: "chatId", session: "session_id" },
  },
});

export const searchMessages = route({
  method: "GET",
  path: `${messages}/search`,
  auth: "key",
  summary: "Search a chat's messages for a literal text, in any script.",
  tag: "history",
  params: chatParams,
  query: searchQuery,
  responses: { 200: searchPage },
  cli: {
    noun: "history",
    verb: "search",
    args: ["agentId", "chatId", "q"],
    flags: { chat: "chatId", session: "session_id" },
  },
});

export const activeDays = route({
  method: "GET",
  path: `${messages}/active-days`,
  auth: "key",
  summary: "List the days on which a chat has messages, in the viewer's time zone.",
  tag: "history",
  params: chatParams,
  query: activeDaysQuery,
  responses: { 200: days },
  cli: {
    noun: "history",
    verb: "active-days",
    args: ["agentId", "chatId"],
    flags: { chat: "chatId", session: "session_id" },
  },
});

export const exportHistory = route({
  method: "GET",
  path: "/api/v1/agents/:agentId/history/export",
  auth: "admin",
  summary: "Export all messages of an agent or chat as NDJSON, oldest first.",
  tag: "history",
  params: agentParams,
  query: exportQuery,
  rawReply: "ndjson",
  responses: { 200: null },
  cli: { noun: "history", verb: "export", args: ["agentId"], flags: { chat: "chat_id" } },
});

export const importHistory = route({
  method: "POST",
  path: "/api/v1/agents/:agentId/history/import",
  auth: "admin",
  summary:
    "Import exported messages; those already stored are skipped, and a bad line undoes the whole import.",
  tag: "history",
  stores: true,
  params: agentParams,
  rawBody: "ndjson",
  responses: { 200: importReply },
  errors: ["INVALID_REQUEST", "CONFLICT"],
  cli: { noun: "history", verb: "import", args: ["agentId"] },
});
