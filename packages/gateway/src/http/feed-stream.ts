import type { ServerResponse } from "node:http";
import type { FeedEvent } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import { toGatewayError } from "./errors.ts";
import { beginStream, endStream, MAX_WAITING_BYTES } from "./sse.ts";

/** The part of the feed that a stream reads. */
export interface FeedSource {
  /** The next events after a number. Rejects when the reader may not, or cannot, go on. */
  read(after: number): Promise<{
    events: readonly { seq: number; event: FeedEvent }[];
    more: boolean;
    upTo: number;
  }>;
  follow(listener: (closing: boolean) => void): () => void;
}

export interface FeedStreamOptions {
  /** The last number that the client knows. */
  after: number;
  requestId: string;
  clock: Clock;
  keepaliveMs: number;
}

/**
 * Streams the feed to one client and resolves when the client is gone or the stream has ended. It keeps nothing for the
 * client but its number: one that reads slowly is read for again when it has taken what was written.
 */
export function streamFeed(
  res: ServerResponse,
  source: FeedSource,
  options: FeedStreamOptions,
): Promise<void> {
  const { clock, requestId } = options;
  let cursor = options.after;
  /** The number that the client has from the stream. */
  let told = cursor;
  let fresh = true;
  let closing = false;
  let reading = false;
  let blocked = false;
  // The key may have lost its right while the handler waited.
  if (res.headersSent) return Promise.resolve();
  beginStream(res, requestId);

  const { promise, resolve } = Promise.withResolvers<void>();
  const over = () => res.writableEnded || res.closed;
  const pump = async () => {
    if (reading) return;
    reading = true;
    try {
      while (fresh && !blocked && !over()) {
        fresh = false;
        const page = await source.read(cursor);
        if (over()) break;
        const frames = page.events.map(({ seq, event }) => `id: ${seq}\ndata: ${JSON.stringify(event)}\n\n`);
        if (frames.length > 0)
          blocked = !res.write(frames.join("")) && res.writableLength > MAX_WAITING_BYTES;
        told = page.events.at(-1)?.seq ?? told;
        cursor = page.upTo;
        if (page.more) fresh = true;
      }
      if (closing && !fresh && !over()) res.end();
    } catch (error) {
      endStream(res, requestId, toGatewayError(error));
    }
    reading = false;
    if (fresh && !blocked && !over()) void pump();
  };
  const unfollow = source.follow((last) => {
    fresh = true;
    closing ||= last;
    void pump();
  });
  const cancelKeepalive = clock.every(options.keepaliveMs, () => {
    if (blocked || over()) return;
    // A client that is told of few events would otherwise come back with a number that is long gone.
    res.write(cursor > told ? `: keepalive\nid: ${cursor}\n\n` : ": keepalive\n\n");
    told = cursor;
  });
  const finish = () => {
    unfollow();
    cancelKeepalive();
    resolve();
  };
  res.on("drain", () => {
    blocked = false;
    void pump();
  });
  res.on("error", finish);
  res.once("close", finish);
  if (res.closed) finish();
  else void pump();
  return promise;
}
