import { GatewayError } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import type { ProgramTerminal } from "../runtimes/index.ts";
import type { SessionRow } from "../store/index.ts";
import type { Holds } from "./holds.ts";
import { type OpenRequest, type Place, touch } from "./place.ts";
import type { Pool } from "./pool.ts";
import type { SessionDeps } from "./ports.ts";
import { historyOf, resumeState } from "./turn-context.ts";
import type { Turns } from "./turns.ts";

/** The terminals of sessions whose programs run in one. */
export function createTerminals(room: { deps: SessionDeps; pool: Pool; turns: Turns; holds: Holds }) {
  const { deps, pool, turns, holds } = room;
  const { clock, store } = deps;

  /** Those of people, by the program's own: who asks twice gets the same one. */
  const known = new WeakMap<ProgramTerminal, ProgramTerminal>();
  /** A person's keys count as activity of the session. */
  const touched = (place: Place, terminal: ProgramTerminal): ProgramTerminal => {
    const made = known.get(terminal) ?? {
      ...terminal,
      type(keys: string) {
        touch(place, clock);
        terminal.type(keys);
      },
    };
    known.set(terminal, made);
    return made;
  };
  const terminalOf = (place: Place | undefined) =>
    place?.runtime?.terminal && touched(place, place.runtime.terminal);

  const openRequest = (agent: AgentConfig, row: SessionRow): OpenRequest => {
    const limit = agent.history.maxHistoryMessages;
    // A turn that begins while the process starts tells it its own message.
    const upto = store.ids.message() - 1;
    return {
      model: row.model_override ?? agent.model,
      async resume(type) {
        const state = await resumeState(store, row, limit, upto);
        return state?.type === type ? state.token : undefined;
      },
      history: () => historyOf(store, row, limit, upto),
    };
  };

  return {
    /** Whether the agent's next processes run in a terminal. Never rejects. */
    hasTerminal: (agent: AgentConfig): Promise<boolean> =>
      deps.runtimeFor(agent).then(
        (runtime) => runtime.inTerminal?.() ?? false,
        () => false,
      ),
    /** The terminal of the session's live process; undefined when it has none. */
    terminal: (sessionId: string): ProgramTerminal | undefined => terminalOf(pool.get(sessionId)),

    /**
     * The session's terminal, for which its program is started if it does not run. Undefined where the session's
     * process has none, or would have none. Throws `SESSION_BUSY` while the session is removed, cleared or restarted,
     * `CAPACITY`, `UNAVAILABLE`; rejects with a user-facing message if the program does not start.
     */
    async openTerminal(agent: AgentConfig, row: SessionRow): Promise<ProgramTerminal | undefined> {
      if (!pool.get(row.uuid) && !(await deps.runtimeFor(agent)).inTerminal?.()) return undefined;
      const current = pool.get(row.uuid);
      if (current?.runtime) return terminalOf(current);
      if (holds.has(row.uuid)) throw new GatewayError("SESSION_BUSY");
      const place = pool.reserve(agent, { chatId: row.chat_id, sessionId: row.uuid });
      try {
        await pool.runtime(place, openRequest(agent, row));
        return terminalOf(place);
      } finally {
        if (!turns.running(row.uuid)) pool.release(place);
      }
    },
  };
}
