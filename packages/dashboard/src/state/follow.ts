import { GatewayError, type TurnFrame } from "@agent-gateway/contract";
import { client, hasCode, sentence } from "../api/client.ts";
import { applyFrame, type LiveTurn, newTurn } from "./live-turn.ts";

export interface Followed {
  agentId: string;
  chatId: string;
  sessionId: string;
}
type Frames = AsyncGenerator<TurnFrame, void>;

/** Waits between attempts to get a broken stream back, in ms; the last one repeats. */
const RETRY_MS = [300, 1000, 2000, 5000, 10_000];

/** The running or just finished turn of a session, from its start or after a cursor. */
export function resumeFrames(
  { agentId, chatId, sessionId }: Followed,
  signal: AbortSignal,
  cursor?: LiveTurn,
): Frames {
  const at =
    cursor?.requestId === undefined ? {} : { request_id: cursor.requestId, after_seq: String(cursor.seq) };
  return client.stream("streamSession", {
    params: { agentId, sessionId },
    query: { chat_id: chatId, ...at },
    signal,
  });
}

/**
 * Reads a turn to its end and shows it through `show`, at most once per screen frame. A stream that breaks off is
 * taken up after its last frame. Gives the last state; without an `end` when the gateway no longer has the turn.
 * @throws GatewayError when the gateway refuses the first request: there is no turn
 */
export async function followTurn(
  where: Followed,
  frames: Frames,
  show: (turn: LiveTurn) => void,
  signal: AbortSignal,
): Promise<LiveTurn> {
  let turn = newTurn(where.sessionId);
  const paint = painter(() => !signal.aborted && show(turn));
  show(turn);
  for (let attempt = 0; ; attempt++) {
    try {
      for await (const frame of frames) {
        turn = applyFrame(turn, frame);
        attempt = 0;
        paint();
      }
      return turn;
    } catch (error) {
      signal.throwIfAborted();
      if (turn.end || isGone(error)) return turn;
      const retrying = turn.reconnecting;
      if (!isBroken(error) && !(retrying && isUnreachable(error))) {
        if (!retrying) throw error;
        return { ...turn, end: { error: sentence(error), interrupted: false } };
      }
    }
    turn = { ...turn, reconnecting: true };
    paint();
    await pause(RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] as number, signal);
    frames = resumeFrames(where, signal, turn);
  }
}

const isGone = (error: unknown) => error instanceof GatewayError && error.status === 410;
/** No answer at all, as while the gateway restarts. */
const isUnreachable = (error: unknown) =>
  hasCode(error, "UPSTREAM_UNAVAILABLE") && (error as GatewayError).cause !== undefined;
/** The answer had begun when the connection ended. */
const isBroken = (error: unknown) =>
  error instanceof TypeError || (hasCode(error, "UPSTREAM_UNAVAILABLE") && !isUnreachable(error));

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** A drawing that takes longer, in ms, is followed by a rest three times as long, in which the page serves its user. */
const SMOOTH_MS = 30;

/** Joins many calls into one per screen frame, fewer where drawing is slow; a hidden page gets a slow timer. */
function painter(draw: () => void): () => void {
  let drawing = false;
  let wanted = false;
  const done = () => {
    drawing = false;
    if (wanted) paint();
  };
  const run = () => {
    wanted = false;
    const started = performance.now();
    draw();
    // A task of its own begins once the browser has laid out what was drawn.
    setTimeout(() => {
      const tookMs = performance.now() - started;
      setTimeout(done, tookMs > SMOOTH_MS ? 3 * tookMs : 0);
    });
  };
  const paint = () => {
    wanted = true;
    if (drawing) return;
    drawing = true;
    if (document.hidden) setTimeout(run, 500);
    else requestAnimationFrame(run);
  };
  return paint;
}
