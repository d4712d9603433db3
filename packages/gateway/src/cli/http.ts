import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { pipeline, Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";

/** Statuses without a body, for which `Response` accepts none. */
const EMPTY = new Set([204, 205, 304]);

/**
 * `fetch` over `node:http`, without the limit of five minutes for the first byte: a turn or an import may take longer.
 * Accepts the bodies that the typed client sends: a string, a `Blob`, a `ReadableStream` or no body. Follows no redirects.
 */
export const httpFetch: typeof fetch = (input, init = {}) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const headers = Object.fromEntries(new Headers(init.headers));
  const { body, signal } = init;
  if (body instanceof Blob) headers["content-length"] = String(body.size);
  const start = url.protocol === "https:" ? httpsRequest : httpRequest;

  return new Promise((resolve, reject) => {
    const request = start(url, {
      method: init.method ?? "GET",
      headers,
      agent: false,
      ...(signal && { signal }),
    });
    request.on("error", reject);
    request.once("response", (message) => {
      // The gateway may refuse a body before it has read all of it.
      message.once("end", () => request.destroy());
      resolve(responseOf(message));
    });
    const stream = body instanceof Blob ? body.stream() : body;
    if (stream instanceof ReadableStream) {
      pipeline(Readable.fromWeb(stream as WebStream), request, (error) => error && reject(error));
    } else request.end(stream ?? undefined);
  });
};

function responseOf(message: IncomingMessage): Response {
  const headers = new Headers();
  for (let at = 0; at < message.rawHeaders.length; at += 2) {
    headers.append(message.rawHeaders[at]!, message.rawHeaders[at + 1]!);
  }
  const status = message.statusCode ?? 502;
  if (EMPTY.has(status)) message.resume();
  const body = EMPTY.has(status) ? null : (Readable.toWeb(message) as unknown as ReadableStream<Uint8Array>);
  return new Response(body, { status, headers });
}
