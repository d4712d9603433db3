import type { SessionDeps } from "./ports.ts";
import type { Turn } from "./turn-types.ts";

/** Size limit of all finished turns that are kept; beyond it, the oldest are dropped early. */
const MAX_TURNS = 2_000;
const MAX_BYTES = 8 * 1024 * 1024;
const COMPACT_AT = 32;

interface Kept {
  turn: Turn;
  until: number;
  bytes: number;
}

/**
 * Keeps finished turns readable in `bySession` for `gateway.turns.retainMs`. All share one timer: a busy gateway ends
 * thousands of turns in that time.
 */
export function createKeeper(deps: SessionDeps, bySession: Map<string, Turn[]>): (turn: Turn) => void {
  const { clock } = deps;
  let queue: Array<Kept | undefined> = [];
  let head = 0;
  let bytes = 0;
  let timer = false;

  const dropFirst = () => {
    const { turn, bytes: size } = queue[head]!;
    // Cleared at once: a turn can be megabytes, and the front of the array is trimmed only now and then.
    queue[head++] = undefined;
    bytes -= size;
    const rest = (bySession.get(turn.sessionId) ?? []).filter((other) => other !== turn);
    if (rest.length > 0) bySession.set(turn.sessionId, rest);
    else bySession.delete(turn.sessionId);
    if (head >= COMPACT_AT && head * 2 >= queue.length) {
      queue = queue.slice(head);
      head = 0;
    }
  };
  const sweep = () => {
    timer = false;
    while (queue[head] && queue[head]!.until <= clock.elapsed()) dropFirst();
    arm();
  };
  const arm = () => {
    const next = queue[head];
    if (timer || !next) return;
    timer = true;
    clock.after(Math.max(50, next.until - clock.elapsed()), sweep);
  };

  return (turn) => {
    const size = turn.log.bytes;
    queue.push({ turn, until: clock.elapsed() + deps.config().gateway.turns.retainMs, bytes: size });
    bytes += size;
    const own = bySession.get(turn.sessionId);
    if (own) own.push(turn);
    else bySession.set(turn.sessionId, [turn]);
    while (queue.length - head > MAX_TURNS || (bytes > MAX_BYTES && queue.length - head > 1)) dropFirst();
    arm();
  };
}
