import * as z from "zod";
import { route } from "../route.ts";
import { agentParams } from "../schemas/common.ts";
import { createShares as createBody, shareItem } from "../schemas/ops.ts";

export const uploadMedia = route({
  method: "POST",
  path: "/api/v1/agents/:agentId/media",
  auth: "key",
  summary: "Upload an image or PDF as the raw body.",
  tag: "media",
  stores: true,
  params: agentParams,
  rawBody: "binary",
  responses: { 200: () => z.object({ mediaPath: z.string() }) },
  errors: ["INVALID_REQUEST", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "QUOTA_EXCEEDED"],
  cli: { noun: "media", verb: "upload", args: ["agentId"] },
});

export const getMedia = route({
  method: "GET",
  path: "/api/v1/agents/:agentId/media/*",
  auth: "key",
  summary: "Download an uploaded or captured file; supports byte ranges.",
  tag: "media",
  params: () => z.object({ agentId: z.string(), "*": z.string() }),
  rawReply: "binary",
  responses: { 200: null, 206: null, 304: null, 416: null },
  errors: ["INVALID_REQUEST", "NOT_FOUND"],
  cli: { noun: "media", verb: "get", args: ["agentId", "*"] },
});

export const createShares = route({
  method: "POST",
  path: "/api/v1/shares",
  auth: "write",
  summary: "Create short-lived public links to a session's files.",
  tag: "shares",
  stores: true,
  body: createBody,
  responses: { 201: () => z.object({ items: z.array(shareItem()) }) },
  errors: ["AGENT_NOT_FOUND", "INVALID_CHAT_ID", "SESSION_NOT_FOUND", "ARTIFACT_PATH_DENIED"],
  cli: {
    noun: "shares",
    verb: "create",
    flags: { agent: "agent_id", session: "session_id", chat: "chat_id", ttl: "ttl_seconds" },
  },
});

export const revokeShare = route({
  method: "DELETE",
  path: "/api/v1/shares/:shareId",
  auth: "write",
  summary: "Revoke a link before it expires.",
  tag: "shares",
  params: () => z.object({ shareId: z.string() }),
  responses: { 200: () => z.object({ revoked: z.literal(true) }) },
  errors: ["NOT_FOUND"],
  cli: { noun: "shares", verb: "revoke", args: ["shareId"] },
});

export const openShare = route({
  method: "GET",
  path: "/shared/:token",
  auth: "none",
  summary: "Download the file behind a share link.",
  tag: "shares",
  params: () => z.object({ token: z.string() }),
  rawReply: "binary",
  responses: { 200: null, 206: null, 304: null, 416: null },
  errors: ["NOT_FOUND"],
});
