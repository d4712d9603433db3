import type { Clock } from "../../lib/clock.ts";
import { fetchBeginning } from "./last-piece.ts";

/** Far more than any response contains. */
const MAX_ANSWER_BYTES = 1 << 20;

/** A complete response. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * Headers for a request on its own connection. A kept-alive connection can close just as a request is sent, and then
 * it is unknown whether the provider accepted it, although the connection was merely idle too long.
 */
export function onNewConnection(given?: HeadersInit): Headers {
  const headers = new Headers(given);
  headers.set("connection", "close");
  return headers;
}

/** A request, with what is to be called right before it is complete; when that throws, it never is. */
export type Asked = RequestInit & { begin?: () => void };

/**
 * One request and its complete response. Redirects are not followed: a message must not be posted twice, nor a token
 * shown to another host. Rejects as `fetch` does when the connection fails at any point or the signal aborts, and when
 * the response is too long.
 */
export async function exchange(
  url: string | URL,
  { begin, ...init }: Asked & { signal: AbortSignal },
  maxBytes = MAX_ANSWER_BYTES,
): Promise<Answer> {
  // Node.js loads its client with the first of these.
  const headers = onNewConnection(init.headers);
  const made = { ...init, headers, redirect: "manual" } as const;
  const response = await (begin ? fetchBeginning(url, made, begin) : fetch(url, made));
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new Error("the response is too long");
    chunks.push(chunk);
  }
  return { status: response.status, headers: response.headers, text: Buffer.concat(chunks).toString("utf8") };
}

/** A signal that aborts with `parent`, or after `ms`. Its creator ends it. */
export function deadline(
  clock: Clock,
  ms: number,
  parent: AbortSignal,
): { signal: AbortSignal; end(): void } {
  const late = new AbortController();
  return { signal: AbortSignal.any([parent, late.signal]), end: clock.after(ms, () => late.abort()) };
}

/** The JSON object in a response; undefined if there is none. */
export function jsonOf({ text }: Pick<Answer, "text">): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const object = typeof value === "object" && value !== null && !Array.isArray(value);
    return object ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** A path below a base URL that may have its own path, with or without a trailing slash. */
export function below(base: string, path: string): string {
  return `${base.replace(/(?<!\/)\/+$/, "")}/${path.replace(/^\/+/, "")}`;
}
