import { type Clock, sleep } from "../../lib/clock.ts";
import type { RuntimeEvent, TurnOutcome } from "../types.ts";
import type { Connection } from "./connection.ts";
import type { AgentLine, ResultLine } from "./protocol.ts";
import { continueText, newTurn, outcomeOf, reduceTurn, type TurnState } from "./turn-state.ts";

/** After an acknowledged interrupt the result takes about 15 ms, 40 ms out of a tool. */
const INTERRUPT_STEP_MS = 700;
const INTERRUPT_ATTEMPTS = 2;
/** A program that ends itself after an answer is gone within this, and whatever is sent to it meanwhile is lost. */
const LEAVING_MS = 500;

/** `lost`: the process gave up its start before it answered; the line has to go to its successor. */
export type RunEnd = TurnOutcome | "lost";

/** One user line and everything until it is answered. */
export interface Run {
  readonly state: TurnState;
  /** The line that ended it; null while there is none. */
  readonly result: ResultLine | null;
  readonly interrupted: boolean;
  /** Something of the answer has come. */
  answering(): boolean;
  /** Resolves when it is over for this process. */
  readonly end: Promise<RunEnd>;
  /** Resolves as soon as it is asked to end. */
  readonly unwanted: Promise<void>;
  /** The user line was handed to the process. */
  sentTo(connection: Connection): void;
  receive(line: AgentLine): void;
  /** The process is gone, or cannot be understood any more; `wanted` when the gateway itself ended it. */
  fail(how?: { error?: string; wanted?: boolean }): void;
  lose(): void;
  interrupt(): Promise<void>;
}

/** @param window context window in tokens, where the gateway knows it better than the program. */
export function createRun(
  emit: (event: RuntimeEvent) => void,
  window: number | undefined,
  clock: Clock,
): Run {
  const end = Promise.withResolvers<RunEnd>();
  const unwanted = Promise.withResolvers<void>();
  let over = false;
  let connection: Connection | undefined;
  let sentAt: number | undefined;
  let heard = false;

  const settle = (how: RunEnd) => {
    over = true;
    end.resolve(how);
  };
  const overWithin = async (ms: number) => {
    if (!over) await Promise.race([end.promise, sleep(clock, ms)]);
    return over;
  };

  /** Asks over the control channel; false if that fails. */
  async function ask({ control }: Connection): Promise<boolean> {
    for (let attempt = 0; attempt < INTERRUPT_ATTEMPTS && control.supported !== false; attempt++) {
      const answer = await Promise.race([control.request({ subtype: "interrupt" }), end.promise]);
      if (over) return true;
      if (answer === "lost" || !("type" in answer) || answer.type !== "ok") return false;
      if (await overWithin(INTERRUPT_STEP_MS)) return true;
    }
    return false;
  }

  async function insist({ process }: Connection): Promise<void> {
    for (const signal of ["SIGINT", "SIGTERM", "SIGKILL"] as const) {
      process.kill(signal);
      if (await overWithin(INTERRUPT_STEP_MS)) return;
    }
  }

  // No accessors: they would make a hash table of it, and it is used for every delta.
  const run = {
    state: newTurn(),
    result: null as ResultLine | null,
    interrupted: false,
    answering: () => run.state.text.length > 0 || run.state.broken,
    end: end.promise,
    unwanted: unwanted.promise,
    sentTo(to: Connection) {
      connection = to;
      sentAt = clock.elapsed();
    },
    receive(line: AgentLine) {
      if (over) return;
      heard = true;
      if (line.kind === "delta" && line.of === "text" && continueText(run.state, line.text))
        return emit({ type: "text", text: line.text });
      const step = reduceTurn(run.state, line);
      run.state = step.state;
      for (const event of step.events) emit(event);
      if (!step.result) return;
      run.result = step.result;
      settle(outcomeOf(run.state, step.result, { interrupted: run.interrupted, window }));
    },
    fail({ error, wanted = false }: { error?: string; wanted?: boolean } = {}) {
      const outcome = outcomeOf(run.state, null, { interrupted: run.interrupted || wanted, window });
      if (outcome.status !== "failed") return settle(outcome);
      const unread = !heard && sentAt !== undefined && clock.elapsed() - sentAt < LEAVING_MS;
      settle({ ...outcome, ...(error === undefined ? { gone: true } : { error }), unread });
    },
    lose: () => settle("lost"),
    async interrupt() {
      if (run.interrupted || over) return;
      run.interrupted = true;
      unwanted.resolve();
      if (connection && !(await ask(connection))) await insist(connection);
    },
  };
  return run;
}
