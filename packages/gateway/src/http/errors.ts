import { type ErrorBody, type ErrorDetail, GatewayError } from "@agent-gateway/contract";
import type * as z from "zod";

/** SQLite's result code for a full disk (https://sqlite.org/rescode.html#full). */
const SQLITE_FULL = 13;

function diskIsFull(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code, errcode, message } = error as { code?: unknown; errcode?: unknown; message?: unknown };
  return (
    code === "ENOSPC" ||
    code === "EDQUOT" ||
    errcode === SQLITE_FULL ||
    // Errors from the database threads arrive as a message only.
    (typeof message === "string" && message.includes("database or disk is full"))
  );
}

/** What a user sees of any error: a `GatewayError` as it is, everything else without its text. */
export function toGatewayError(error: unknown): GatewayError {
  const cause = error instanceof GatewayError && error.code === "INTERNAL" ? error.cause : error;
  if (error instanceof GatewayError && !diskIsFull(cause)) return error;
  if (diskIsFull(cause)) {
    return new GatewayError("UNAVAILABLE", "The gateway's disk is full; nothing was stored.", {
      headers: { "retry-after": "10" },
      cause: error,
    });
  }
  return new GatewayError("INTERNAL", undefined, { cause: error });
}

/** Body of an error reply. Every 400 has details: of the whole request, where no field is to blame. */
export function errorBody(error: GatewayError, requestId: string): ErrorBody {
  const details =
    error.details ?? (error.status === 400 ? [{ path: "", message: error.message }] : undefined);
  return {
    ...error.extra,
    error: error.message,
    code: error.code,
    request_id: requestId,
    ...(details && { details }),
  };
}

/** `INVALID_REQUEST` with one detail per issue, or the code that the first issue specifies. */
export function validationError(
  issues: readonly z.core.$ZodIssue[],
  where: "path" | "query" | "body",
): GatewayError {
  const details: ErrorDetail[] = issues.map((issue) => ({
    path: issue.path.map(String).join("."),
    message: issue.message.endsWith("received undefined") ? "is required" : issue.message,
  }));
  const [first] = issues;
  const detail = details[0];
  const sentence = detail
    ? `${detail.path || `The ${where}`}: ${detail.message}.`
    : `The ${where} is not valid.`;
  return new GatewayError(first ? codeOf(first) : "INVALID_REQUEST", sentence, { details });
}

function codeOf(issue: z.core.$ZodIssue): "INVALID_CHAT_ID" | "MESSAGE_TOO_LONG" | "INVALID_REQUEST" {
  if (issue.path.length === 1 && issue.path[0] === "chat_id") return "INVALID_CHAT_ID";
  if (issue.code === "custom" && issue.params?.code === "MESSAGE_TOO_LONG") return "MESSAGE_TOO_LONG";
  return "INVALID_REQUEST";
}
