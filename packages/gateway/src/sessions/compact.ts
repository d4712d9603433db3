import { randomUUID } from "node:crypto";
import { GatewayError } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import type { SessionRow } from "../store/index.ts";
import type { Holds } from "./holds.ts";
import { sessionGone } from "./names.ts";
import type { Pool } from "./pool.ts";
import type { SessionDeps } from "./ports.ts";
import { historyOf } from "./turn-context.ts";
import type { Turns } from "./turns.ts";

/** Messages that a compaction leaves as they are. */
const KEEP_MESSAGES = 10;
const SUMMARY_SOFT_MS = 120_000;
const SUMMARY_PROMPT =
  "Please write a detailed summary of the conversation so far, for your own later use: what was asked, what was found " +
  "or decided, names, numbers and files that matter, and what is still open. Answer with the summary alone.";

export interface Compacted {
  success: boolean;
  keptMessages: number;
  archivedMessages: number;
}

/** Compaction: the older part of a session becomes a summary; its messages stay in history. */
export function createCompaction(room: {
  deps: SessionDeps;
  pool: Pool;
  turns: Turns;
  holds: Holds;
  /** The session as it is now; rejects when it is gone. */
  current(row: SessionRow): Promise<SessionRow>;
}) {
  const { deps, pool, turns, holds } = room;
  const { store } = deps;

  const openRequest = (agent: AgentConfig, row: SessionRow) => {
    const limit = agent.history.maxHistoryMessages;
    // A turn that begins while the process starts tells it its own message.
    const upto = store.ids.message() - 1;
    return {
      model: row.model_override ?? agent.model,
      resume: async () => undefined,
      history: () => historyOf(store, row, limit, upto),
    };
  };

  const summarise = async (agent: AgentConfig, row: SessionRow, keyId: string | null): Promise<Compacted> => {
    const ids = await store.messages.saidAfter(row.id, row.summary_upto);
    if (ids.length <= KEEP_MESSAGES) return { success: true, keptMessages: ids.length, archivedMessages: 0 };
    const units = store.forAgent(agent.id);
    const turn = turns.start({
      agent,
      session: row,
      requestId: randomUUID(),
      kind: "compact",
      keyId,
      text: SUMMARY_PROMPT,
      softMs: SUMMARY_SOFT_MS,
      holds: true,
      act: (runtime) => runtime.compact(),
    });
    const result = await turn.done;
    if (result.status !== "done" || result.text.trim() === "") {
      const why = result.status === "interrupted" ? "it was stopped." : "the agent returned no summary.";
      throw new GatewayError("AGENT_FAILED", `The session was not compacted: ${result.error ?? why}`);
    }
    const keptFrom = ids.length - KEEP_MESSAGES;
    const [stored] = await units.commit(
      store.sessions.update(row.uuid, {
        summary: result.text,
        // Imported messages may have higher ids than newer ones; those that are kept must all be above.
        summary_upto: Math.min(...ids.slice(keptFrom)) - 1,
        runtime_state: null,
        context_percent: 0,
      }),
    );
    if (!stored) throw sessionGone();
    // The next process starts from the summary and the kept messages, regardless of what this one remembers.
    const place = pool.get(row.uuid);
    if (place && !place.busy) await pool.drop(place);
    return { success: true, keptMessages: KEEP_MESSAGES, archivedMessages: keptFrom };
  };

  return {
    /** Throws `SESSION_BUSY`, `CAPACITY`, `AGENT_FAILED`. */
    async compact(agent: AgentConfig, row: SessionRow, keyId: string | null): Promise<Compacted> {
      if (turns.running(row.uuid)) throw new GatewayError("SESSION_BUSY");
      return holds.during(row.uuid, async () => {
        await turns.unstored.flush(row.uuid);
        return summarise(agent, await room.current(row), keyId);
      });
    },

    /** Starts the session's process without a turn; a failure shows at the next message. `back`: it is there. */
    reopen(agent: AgentConfig, row: SessionRow, back: () => void) {
      if (turns.running(row.uuid)) return;
      const place = pool.reserve(agent, { chatId: row.chat_id, sessionId: row.uuid });
      pool
        .runtime(place, openRequest(agent, row))
        .then(
          () => {
            deps.log.info({ agent: agent.id, session: row.uuid }, "session restarted");
            back();
          },
          (error) =>
            deps.log.warn(
              { err: error, agent: agent.id, session: row.uuid },
              "could not restart the session",
            ),
        )
        .finally(() => {
          if (!turns.running(row.uuid)) pool.release(place);
        });
    },
  };
}
