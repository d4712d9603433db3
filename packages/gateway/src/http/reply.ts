import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import type { GatewayError, WireForm } from "@agent-gateway/contract";
import type { Reply } from "./endpoint.ts";
import { errorReply } from "./forms.ts";

/** Sent with every reply; a handler's own headers win. */
const BASE = [
  "X-Content-Type-Options",
  "nosniff",
  "Referrer-Policy",
  "no-referrer",
  "Cache-Control",
  "no-store",
  "Content-Security-Policy",
  "default-src 'none'; frame-ancestors 'none'",
] as const;
const JSON_TYPE = "application/json; charset=utf-8";

/** Sets the headers common to every reply, for handlers that write to `res` themselves. */
export function setBaseHeaders(res: ServerResponse, requestId: string): void {
  res.setHeader("x-request-id", requestId);
  for (let i = 0; i < BASE.length; i += 2) res.setHeader(BASE[i] as string, BASE[i + 1] as string);
}

function begin(
  res: ServerResponse,
  requestId: string,
  status: number,
  headers: Record<string, string | string[]> = {},
) {
  if (!res.hasHeader("x-request-id")) setBaseHeaders(res, requestId);
  for (const name in headers) res.setHeader(name, headers[name] as string | string[]);
  res.statusCode = status;
}

const LONG_TEXT_BYTES = 64 * 1024;

function sendJson(
  res: ServerResponse,
  requestId: string,
  status: number,
  text: string,
  length: number,
): void {
  // One array instead of one setHeader call per header: most replies take this path.
  res.writeHead(status, [
    "x-request-id",
    requestId,
    "Content-Type",
    JSON_TYPE,
    "Content-Length",
    length as unknown as string,
    ...BASE,
  ]);
  // For a long text, the socket would reserve three bytes per character.
  res.end(length > LONG_TEXT_BYTES ? Buffer.from(text) : text);
}

/**
 * Writes a handler's reply. Resolves once it is handed over or, for a stream or a long text, once it is read or its
 * reader is gone.
 * @param takeRoom called before a long text is sent; throws when there is no memory for it
 */
export async function send(
  res: ServerResponse,
  requestId: string,
  reply: Reply,
  takeRoom?: () => void,
): Promise<void> {
  // The reply may have ended already because the key lost its right; a stream must be closed all the same.
  if (res.writableEnded && "stream" in reply) reply.stream.destroy();
  if ("handled" in reply || res.writableEnded) return;
  if ("json" in reply && !reply.headers && !res.hasHeader("x-request-id")) {
    const text = JSON.stringify(reply.json);
    const length = Buffer.byteLength(text);
    if (length > LONG_TEXT_BYTES) takeRoom?.();
    sendJson(res, requestId, reply.status, text, length);
    if (length > LONG_TEXT_BYTES && !res.closed) await new Promise((resolve) => res.once("close", resolve));
    return;
  }
  begin(res, requestId, reply.status, reply.headers);
  if ("stream" in reply) {
    if (reply.live) {
      res.flushHeaders();
      res.socket?.setNoDelay(true);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    pipeline(reply.stream, res, (error) => {
      // Once its reader is gone, a stream simply has nothing left to do.
      if (error && error.code !== "ERR_STREAM_PREMATURE_CLOSE") reject(error);
      else resolve();
    });
    return promise;
  }
  if ("json" in reply) {
    res.setHeader("Content-Type", JSON_TYPE);
    res.end(JSON.stringify(reply.json));
  } else if ("bytes" in reply) res.end(reply.bytes);
  else res.end();
}

/** Replies with an error. If a reply has already begun, drops the connection so that no one takes it for complete. */
export function sendError(
  res: ServerResponse,
  requestId: string,
  error: GatewayError,
  form?: WireForm,
): void {
  if (res.headersSent) {
    if (!res.writableEnded) res.destroy();
    return;
  }
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  const { body, headers } = errorReply(error, requestId, form);
  begin(res, requestId, error.status, headers);
  // RFC 9110, section 15.5.2. Browsers show no login dialogue for this scheme.
  if (error.status === 401) res.setHeader("WWW-Authenticate", "Bearer");
  res.setHeader("Content-Type", JSON_TYPE);
  res.end(JSON.stringify(body));
}
