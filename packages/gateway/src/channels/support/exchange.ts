import type { Clock } from "../../lib/clock.ts";

/** Far more than the answer to any request holds. */
const MAX_ANSWER_BYTES = 1 << 20;

/** A complete answer. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * Headers of a request on a connection of its own. On one that is kept, a request can meet its end: then nobody knows
 * whether the provider took it, although it was merely idle for too long, or restarted.
 */
export function onNewConnection(given?: HeadersInit): Headers {
  const headers = new Headers(given);
  headers.set("connection", "close");
  return headers;
}

/** A request, with what is to be called right before it goes out; when that throws, it does not. */
export type Asked = RequestInit & { begin?: () => void };

/**
 * One request and its whole answer. Redirects are answers like any other: a message must not be posted twice, nor a
 * token shown to another host. Rejects as `fetch` does when the connection fails at any point or the signal aborts,
 * and when the answer is too long.
 */
export async function exchange(
  url: string | URL,
  { begin, ...init }: Asked & { signal: AbortSignal },
  maxBytes = MAX_ANSWER_BYTES,
): Promise<Answer> {
  // Node.js loads its client with the first of these.
  const headers = onNewConnection(init.headers);
  begin?.();
  const response = await fetch(url, { ...init, headers, redirect: "manual" });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new Error("the answer is too long");
    chunks.push(chunk);
  }
  return { status: response.status, headers: response.headers, text: Buffer.concat(chunks).toString("utf8") };
}

/** A signal that aborts with `parent`, or after `ms`. Whoever made it ends it. */
export function deadline(
  clock: Clock,
  ms: number,
  parent: AbortSignal,
): { signal: AbortSignal; end(): void } {
  const late = new AbortController();
  return { signal: AbortSignal.any([parent, late.signal]), end: clock.after(ms, () => late.abort()) };
}

/** The answer's JSON object; undefined when it is none. */
export function jsonOf({ text }: Pick<Answer, "text">): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const object = typeof value === "object" && value !== null && !Array.isArray(value);
    return object ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** A path below a base URL that may have a path of its own, with or without a slash at its end. */
export function below(base: string, path: string): string {
  return `${base.replace(/(?<!\/)\/+$/, "")}/${path.replace(/^\/+/, "")}`;
}
