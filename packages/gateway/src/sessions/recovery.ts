import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { fromStatements, type Store } from "../store/index.ts";
import type { SessionDeps } from "./ports.ts";
import type { SessionStore } from "./store.ts";

/**
 * Closes the turns that a crash cut off: their text so far becomes a message flagged `interrupted`, and the session
 * is free. Each turn is one transaction, so a crash in here changes nothing. Resolves to the number of turns.
 */
export async function recoverTurns(deps: {
  commit: Store["commit"];
  store: SessionStore;
  clock: Clock;
  log: Logger;
  cutOff: SessionDeps["cutOff"];
  usage: SessionDeps["usage"];
}): Promise<number> {
  const { commit, store, clock, log } = deps;
  const cutOff = store.runningTurns();
  for (const { request_id: requestId, session: rowId, key_id: keyId, told_chars: told } of cutOff) {
    const session = store.byRowId(rowId);
    const parts = store.parts(requestId);
    const text = parts.join("");
    const now = clock.now();
    const others = await deps.cutOff({ requestId, text, produced: parts.length > 0 });
    await commit(
      fromStatements(
        ...(session && text !== ""
          ? store.addMessage(session.uuid, {
              role: "assistant",
              content: text,
              ts: now,
              extra: { interrupted: true },
            })
          : []),
        store.closeTurn(requestId, now),
        store.dropParts(requestId),
        store.settle(rowId, null),
      ),
      // What a program reported was lost with it.
      ...(session
        ? deps.usage.record({
            requestId,
            agentId: session.agent_id,
            keyId,
            chatId: session.chat_id,
            session: session.uuid,
            model: session.model ?? undefined,
            used: undefined,
            chars: { told: parts.length > 0 ? (told ?? 0) : 0, said: text.length },
          }).change
        : []),
      ...others,
    );
    log.warn(
      { session: session?.uuid, request: requestId, chars: text.length },
      "closed a turn that a crash had cut off",
    );
  }
  return cutOff.length;
}
