import type { ServerResponse } from "node:http";
import type { GatewayError, TurnEvent, WireForm } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import { type Cursor, ownFrames, type TurnFrames, type TurnLog } from "../sessions/index.ts";
import { errorFrames } from "./forms.ts";
import { setBaseHeaders } from "./reply.ts";

/** If a client does not read, this much may wait in its socket before the reader pauses. */
export const MAX_WAITING_BYTES = 1024 * 1024;

export interface SseOptions {
  clock: Clock;
  keepaliveMs: number;
  /** Where to start; defaults to the beginning. */
  cursor?: Cursor;
  /** Ends the stream after this many ms, with `event` instead of the remaining frames. */
  budget?: { ms: number; event: TurnEvent };
  /** How this stream tells the turn, if not in the gateway's own frames. */
  frames?: TurnFrames;
  onReader?: (delta: 1 | -1) => void;
}

/** True when the reply in progress is an event stream. */
export const isEventStream = (res: ServerResponse): boolean =>
  String(res.getHeader("content-type")).startsWith("text/event-stream");

/** Sends the head of a stream at once. */
export function beginStream(res: ServerResponse, requestId: string): void {
  setBaseHeaders(res, requestId);
  res.writeHead(200, {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
  });
  res.flushHeaders();
  res.socket?.setNoDelay(true);
}

/** Ends a stream before its turn ends; the turn is not affected. */
export function endStream(
  res: ServerResponse,
  requestId: string,
  error: GatewayError,
  form?: WireForm,
): void {
  if (!res.writableEnded) res.end(errorFrames(error, requestId, form));
}

/**
 * Streams a turn to one client and resolves when the client has read it to its end or disconnects. Frames go out in the same
 * tick as the agent's output. A slow client pauses only itself and continues from its cursor later.
 */
export function streamTurn(res: ServerResponse, log: TurnLog, options: SseOptions): Promise<void> {
  const { clock } = options;
  const cursor = options.cursor ?? { seq: 0, textEnd: 0 };
  const frames = options.frames ?? ownFrames(log.requestId);
  beginStream(res, log.requestId);
  options.onReader?.(1);

  return new Promise((resolve) => {
    let blocked = false;
    let over = false;

    const finish = () => {
      if (over) return;
      over = true;
      unsubscribe();
      cancelKeepalive();
      cancelBudget();
      options.onReader?.(-1);
    };
    const closed = () => {
      finish();
      resolve();
    };
    const pump = () => {
      if (over || blocked || res.writableEnded) return;
      const data = log.framesAfter(cursor, options.frames);
      if (data) {
        blocked = !res.write(data) && res.writableLength > MAX_WAITING_BYTES;
        if (blocked) res.once("drain", unblock);
      }
      if (log.ended && cursor.seq >= log.lastSeq) {
        // A reader that starts exactly at the end has no frame left to carry the sentinel.
        res.end(data ? undefined : frames.end);
        finish();
      }
    };
    const unblock = () => {
      blocked = false;
      pump();
    };
    const unsubscribe = log.subscribe(pump);
    const cancelKeepalive = clock.every(options.keepaliveMs, () => {
      if (!blocked && !res.writableEnded) res.write(": keepalive\n\n");
    });
    const cancelBudget = options.budget
      ? clock.after(options.budget.ms, () => {
          // It is no event of the turn, so no cursor may name it.
          const frame = frames.of(options.budget!.event, cursor.seq + 1).replace(/^id: \d+\n/, "");
          res.end(frame + frames.end);
          finish();
        })
      : () => {};
    res.once("close", closed);
    res.on("error", closed);
    if (res.closed) closed();
    else pump();
  });
}
