import type { Clock } from "../lib/clock.ts";
import type { LoginState, Runtime, RuntimeFacts, RuntimeSession } from "./types.ts";

/** State of an agent's runtime, for its owner; contains no path, argument or secret. */
export interface RuntimeStatus {
  /** The chosen type; the configured one until then. */
  type: string;
  /** Name of the agent program, without its folder. */
  program: string | null;
  version: string | null;
  login: LoginState;
  /** Why no session can start. */
  problem: string | null;
  warnings: string[];
  /** The latest failure of a turn or start; null once one succeeds. */
  lastError: { message: string; at: number } | null;
}

/** Outcomes of one runtime's sessions. */
export interface Outcomes {
  /** Why the latest start failed; null once one succeeds. */
  startProblem: string | null;
  lastError: RuntimeStatus["lastError"];
}

/** Records the outcomes of a runtime's starts and turns in `outcomes`. */
export function observed(runtime: Runtime, outcomes: Outcomes, clock: Clock): Runtime {
  const failed = (message: string) => {
    outcomes.lastError = { message, at: clock.now() };
  };
  const follow = (session: RuntimeSession): RuntimeSession => {
    const turn = session.turn.bind(session);
    return Object.assign(session, {
      async turn(...args: Parameters<RuntimeSession["turn"]>) {
        const outcome = await turn(...args);
        if (outcome.status === "failed") failed(outcome.error ?? "The agent reported an error.");
        if (outcome.status === "done") outcomes.lastError = null;
        return outcome;
      },
    });
  };
  return {
    type: runtime.type,
    inspect: () => runtime.inspect(),
    ...(runtime.models && { models: () => runtime.models!() }),
    ...(runtime.inTerminal && { inTerminal: () => runtime.inTerminal!() }),
    async open(options) {
      try {
        const session = await runtime.open(options);
        outcomes.startProblem = null;
        return follow(session);
      } catch (error) {
        if (!options.signal.aborted && error instanceof Error) {
          outcomes.startProblem = error.message;
          failed(error.message);
        }
        throw error;
      }
    },
  };
}

/** Combines what is known about a runtime with its sessions' outcomes. */
export function statusOf(
  type: string,
  facts: RuntimeFacts,
  outcomes: Outcomes,
  more: readonly string[] = [],
): RuntimeStatus {
  return {
    type,
    program: facts.program,
    version: facts.version,
    login: facts.login,
    problem: facts.problem ?? outcomes.startProblem,
    warnings: [...more, ...facts.warnings],
    lastError: outcomes.lastError,
  };
}

/** Facts of a runtime that has no program, or of which nothing is known yet. */
export function noFacts(login: LoginState, problem: string | null = null): RuntimeFacts {
  return { program: null, version: null, login, problem, warnings: [] };
}
