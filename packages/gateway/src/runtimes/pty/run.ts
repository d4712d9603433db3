import { newTurn, outcomeOf, type ResultLine, reduceTurn, type TurnState } from "../agent-cli/index.ts";
import { addTokens, NO_TOKENS } from "../token-counts.ts";
import type { ModelUse, RuntimeEvent, TokenCounts, TurnOutcome, TurnUse } from "../types.ts";
import type { TranscriptRecord } from "./records.ts";

/** Model calls of one turn whose use is kept apart. */
const MAX_CALLS = 10_000;

/** One message to the program, and its records until it is answered. */
export interface Run {
  readonly state: TurnState;
  /** The program has taken the message. */
  readonly taken: boolean;
  /** The answer is complete, but more records of it may come. */
  readonly ending: "no" | "soon" | "now";
  readonly interrupted: boolean;
  readonly over: boolean;
  readonly end: Promise<TurnOutcome>;
  take(record: TranscriptRecord): void;
  /** The answer is what has been read. */
  finish(): void;
  /** The process is gone, or its records cannot be read; `wanted` when the gateway itself ended it. */
  fail(how?: { error?: string; wanted?: boolean; unread?: boolean; gone?: boolean }): void;
  interrupt(): void;
}

/**
 * @param pasted what was pasted, by which its own record is known
 * @param window context window in tokens, where the gateway knows it
 */
export function createRun(
  pasted: () => string,
  emit: (event: RuntimeEvent) => void,
  window: number | undefined,
): Run {
  const end = Promise.withResolvers<TurnOutcome>();
  const calls = new Map<string, { model: string | undefined; used: TokenCounts }>();

  const settle = (line: ResultLine | null, more: Partial<TurnOutcome> = {}) => {
    if (run.over) return;
    run.over = true;
    const usage = useOf([...calls.values()]);
    const outcome = outcomeOf(run.state, line, { interrupted: run.interrupted, window });
    end.resolve({ ...outcome, ...more, ...(usage && { usage }) });
  };
  const reduce = (line: Parameters<typeof reduceTurn>[1]) => {
    const step = reduceTurn(run.state, line);
    run.state = step.state;
    for (const event of step.events) emit(event);
  };

  const run = {
    state: newTurn(),
    taken: false,
    ending: "no" as Run["ending"],
    interrupted: false,
    over: false,
    end: end.promise,
    take(record: TranscriptRecord) {
      if (run.over) return;
      if ("text" in record && record.kind !== "api_error" && record.text === pasted()) {
        run.taken = true;
        return;
      }
      switch (record.kind) {
        case "prompt":
          run.taken = true;
          return;
        case "said": {
          run.taken = true;
          const { line, messageId, ends } = record;
          if (line.usage && messageId !== null && calls.size < MAX_CALLS)
            calls.set(messageId, {
              model: line.model ?? undefined,
              used: { ...NO_TOKENS, ...line.usage.billed },
            });
          reduce(line);
          run.ending = ends ? "soon" : "no";
          return;
        }
        case "line":
          reduce(record.line);
          return;
        case "over":
          if (run.taken) run.ending = "now";
          return;
        case "command":
          // Only a compaction is a command that the gateway gives.
          run.ending = "now";
          return;
        case "interrupted":
          run.interrupted = true;
          return settle(ENDED);
        case "api_error":
          return settle({ ...ENDED, isError: true, text: record.text, apiStatus: record.status });
      }
    },
    finish: () => settle(ENDED),
    fail({ error, wanted = false, unread = false, gone = false }: Parameters<Run["fail"]>[0] = {}) {
      run.interrupted ||= wanted;
      settle(null, {
        ...(error !== undefined && !run.interrupted && { error }),
        ...(unread && { unread }),
        ...(gone && { gone }),
      });
    },
    interrupt() {
      run.interrupted = true;
    },
  };
  return run;
}

const ENDED: ResultLine = {
  kind: "result",
  text: "",
  isError: false,
  apiStatus: undefined,
  errors: [],
  aborted: false,
  queued: 0,
  sessionId: null,
  usage: null,
  windows: {},
  sums: {},
  totalCost: undefined,
};

function useOf(calls: readonly { model: string | undefined; used: TokenCounts }[]): TurnUse | undefined {
  const models = new Map<string | undefined, TokenCounts>();
  for (const { model, used } of calls) models.set(model, addTokens(models.get(model) ?? NO_TOKENS, used));
  if (models.size === 0) return undefined;
  return { models: [...models].map(([model, used]): ModelUse => ({ model, ...used })) };
}
