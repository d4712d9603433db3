import { type Clock, sleep } from "../lib/clock.ts";
import type { RuntimeEvent, RuntimeSession, TurnInput, TurnOutcome } from "../runtimes/index.ts";
import type { OpenRequest, Place } from "./place.ts";
import type { Pool } from "./pool.ts";
import type { SilenceWatch } from "./silence.ts";
import type { TurnRequest } from "./turn-types.ts";
import type { Mend, TurnLook, WatchedTurn } from "./watched.ts";

/** A process that is asked to end its turn, or that is ended, has told its last by then; runtimes escalate within 5 s. */
const LAST_WORD_MS = 6_000;

export interface Attempts extends Pick<WatchedTurn, "look" | "mend" | "stderrTail"> {
  /** Resolves to how the agent ended the turn. Rejects when it could not be run. */
  run(durable: Promise<void>): Promise<TurnOutcome>;
  /** Asks the agent to end its turn; undefined if it has not been told anything. */
  interrupt(): Promise<void> | undefined;
  /** True once the agent has been told something. */
  told(): boolean;
}

/** Runs the agent of one turn: usually once, and again in another process where a repair wants that. */
export function createAttempts(room: {
  clock: Clock;
  pool: Pick<Pool, "runtime" | "renew" | "headless">;
  place: Place;
  request: Pick<TurnRequest, "act">;
  open: OpenRequest;
  input: TurnInput;
  /** The turn began with a process that stood ready. */
  stoodReady: boolean;
  silence: SilenceWatch;
  emit(event: RuntimeEvent): void;
  /** The turn is to end, or has ended. */
  over(): boolean;
  produced(): boolean;
  text(): string;
  /** The agent's process is there. */
  opened(): void;
  /** The process is gone in mid-turn. Resolves to whether another gets the message. */
  exited(outcome: TurnOutcome): Promise<boolean>;
}): Attempts {
  const { clock, pool, place, silence } = room;
  let phase: TurnLook["phase"] = "starting";
  let toldAt: number | undefined;
  let runtime: RuntimeSession | undefined;
  let cut: ((how: Mend) => void) | undefined;
  let mended: PromiseWithResolvers<boolean> | undefined;
  /** The process is one that served before, and may be gone without anyone having noticed. */
  let usedBefore = room.stoodReady;

  const interrupted = (): TurnOutcome => ({ status: "interrupted", text: room.text() });
  /** Only if nothing came of the turn, also while its process was being ended. */
  const againIfUntouched = () => (room.over() || room.produced() ? interrupted() : "again");
  const within = async <T>(work: Promise<T>): Promise<T | undefined> => {
    const done = new AbortController();
    const limit = sleep(clock, LAST_WORD_MS, done.signal).then(() => undefined);
    return Promise.race([work, limit]).finally(() => done.abort());
  };

  const mendBy = async (
    how: Mend,
    answer: Promise<TurnOutcome> | undefined,
  ): Promise<TurnOutcome | "again"> => {
    phase = "mending";
    silence.end();
    usedBefore = how === "resend";
    if (how === "headless") pool.headless.add(place.sessionId);
    if (!answer || !runtime || how !== "resend") await pool.renew(place);
    else runtime.interrupt().catch(() => {});
    // What it says until then is heard. A process that does not end its turn could still say more, so no other gets it.
    const last = answer && (await within(answer));
    if (answer && !last) await pool.renew(place);
    if (last?.status === "done") return last;
    return answer && !last ? interrupted() : againIfUntouched();
  };

  const attempt = async (
    opening: Promise<RuntimeSession>,
    first: boolean,
  ): Promise<TurnOutcome | "again"> => {
    const cutting = Promise.withResolvers<Mend>();
    cut = cutting.resolve;
    const opened = await Promise.race([opening, cutting.promise]);
    if (typeof opened === "string") return mendBy(opened, undefined);
    runtime = opened;
    room.opened();
    // Work that replaces asking the agent cannot be interrupted: a stop ends the process instead.
    const own = !first || room.over() ? null : await room.request.act?.(runtime);
    if (room.over()) return { status: "interrupted", text: "" };
    if (own?.summary) return { status: "done", text: own.summary, ...(own.usage && { usage: own.usage }) };
    // Something may have come late while this process was started.
    if (!first && room.produced()) return interrupted();
    silence.begin();
    toldAt = silence.heardAt();
    phase = "working";
    const answer = runtime.turn(room.input, room.emit);
    const outcome = await Promise.race([answer, cutting.promise]);
    if (typeof outcome === "string") return mendBy(outcome, answer);
    if (outcome.status !== "failed" || room.over()) return outcome;
    const goesOn = outcome.unread === true && usedBefore;
    usedBefore = false;
    if (!goesOn && !outcome.gone) return outcome;
    phase = "mending";
    silence.end();
    if (!goesOn && !(await room.exited(outcome))) return outcome;
    await within(runtime.closed);
    return againIfUntouched();
  };

  const attemptOnce = async (opening: Promise<RuntimeSession>, first: boolean) => {
    try {
      return await attempt(opening, first);
    } finally {
      cut = undefined;
      mended?.resolve(phase === "mending");
      mended = undefined;
    }
  };

  return {
    async run(durable) {
      try {
        for (let first = true; ; first = false) {
          phase = "starting";
          const opening = pool.runtime(place, room.open);
          opening.catch(() => {});
          if (first) await durable;
          const outcome = await attemptOnce(opening, first);
          if (outcome !== "again") return outcome;
        }
      } finally {
        phase = "over";
      }
    },
    // What began before an agent was told anything, or between two, ends with the process.
    interrupt: () =>
      phase === "working" || phase === "over" ? (place.runtime?.interrupt() ?? Promise.resolve()) : undefined,
    told: () => toldAt !== undefined,
    look: () => ({
      phase,
      startedAt: place.opening || phase === "working" ? place.startedAt : undefined,
      toldAt,
      outputAt: place.idleSince,
      terminal: place.runtime?.terminal,
      heardAt: silence.heardAt(),
      toolRuns: silence.toolRuns(),
      produced: room.produced(),
    }),
    async mend(how) {
      if (room.request.act || !cut || mended || room.over() || (phase !== "starting" && phase !== "working"))
        return false;
      mended = Promise.withResolvers();
      cut(how);
      return mended.promise;
    },
    stderrTail: () => runtime?.stderrTail?.() ?? "",
  };
}
