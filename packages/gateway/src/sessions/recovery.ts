import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { type AgentUnits, hasEnded, type RunningTurn } from "../store/index.ts";
import type { FeedPort, SessionDeps } from "./ports.ts";

interface RecoveryDeps {
  store: SessionDeps["store"];
  feed: FeedPort;
  clock: Clock;
  log: Logger;
  cutOff: SessionDeps["cutOff"];
  usage: SessionDeps["usage"];
}

/**
 * Closes the turns that a crash cut off: their text so far becomes a message flagged `interrupted`, and the session
 * is free. Each turn is one unit, so a crash in here changes nothing. Resolves to the number of turns.
 * @param agentId the agent that was just taken; without it, all
 */
export async function recoverTurns(agentId: string | undefined, deps: RecoveryDeps): Promise<number> {
  const { store } = deps;
  const cutOff = await store.turns.running(agentId);
  for (const turn of cutOff) {
    const units = store.forAgent(agentId ?? turn.session?.agentId ?? "");
    try {
      await closeTurn(turn, units, deps);
    } catch (error) {
      // Of a session that is gone; whoever recovers another agent at this moment was faster.
      if (!hasEnded(error)) throw error;
      continue;
    }
    deps.log.warn(
      { session: turn.session?.uuid, request: turn.requestId },
      "closed a turn that a crash had cut off",
    );
  }
  return cutOff.length;
}

/** Does the same for one turn, if it is still open. */
export async function closeCutOff(
  agentId: string,
  requestId: string,
  units: AgentUnits,
  deps: RecoveryDeps,
): Promise<void> {
  const open = await deps.store.turns.running(agentId);
  const turn = open.find((other) => other.requestId === requestId);
  if (turn) await closeTurn(turn, units, deps);
}

async function closeTurn(
  { requestId, session, ...turn }: RunningTurn,
  units: AgentUnits,
  { store, feed, clock, usage, cutOff }: RecoveryDeps,
): Promise<void> {
  const { sessions, messages, turns } = store;
  const parts = await turns.parts(requestId);
  const text = parts.join("");
  const now = clock.now();
  const extra = { interrupted: true } as const;
  const others = await cutOff({ requestId, text, produced: parts.length > 0 });
  await units.commit(
    ...(session !== null && text !== ""
      ? [
          messages.add({
            id: store.ids.message(),
            session: session.uuid,
            role: "assistant",
            content: text,
            ts: now,
            extra,
          }),
        ]
      : []),
    turns.mustRun(requestId),
    turns.cutOff(requestId, now),
    turns.dropParts(requestId),
    ...(session === null ? [] : [sessions.settle(session.uuid, { runtimeState: null })]),
    // What a program reported was lost with it.
    ...(session === null
      ? []
      : usage.record({
          requestId,
          agentId: session.agentId,
          keyId: turn.keyId,
          chatId: session.chatId,
          session: session.uuid,
          model: session.model,
          used: undefined,
          chars: { told: parts.length > 0 ? turn.told : 0, said: text.length },
        }).change),
    ...others,
    ...(session === null
      ? []
      : [
          feed.event({
            type: "turn.finished",
            agentId: session.agentId,
            data: { chatId: session.chatId, sessionId: session.uuid, requestId, status: "interrupted" },
          }),
        ]),
  );
}
