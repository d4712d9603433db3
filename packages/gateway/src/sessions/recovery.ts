import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { FeedPort, SessionDeps } from "./ports.ts";

/**
 * Closes the turns that a crash cut off: their text so far becomes a message flagged `interrupted`, and the session
 * is free. Each turn is one unit, so a crash in here changes nothing. Resolves to the number of turns.
 * @param agentId the agent that was just taken; without it, all
 */
export async function recoverTurns(
  agentId: string | undefined,
  deps: {
    store: SessionDeps["store"];
    feed: FeedPort;
    clock: Clock;
    log: Logger;
    cutOff: SessionDeps["cutOff"];
    usage: SessionDeps["usage"];
  },
): Promise<number> {
  const { store, feed, clock, log } = deps;
  const { sessions, messages, turns } = store;
  const cutOff = await turns.running(agentId);
  for (const { requestId, session, ...turn } of cutOff) {
    const units = store.forAgent(session?.agentId ?? "");
    const parts = await turns.parts(requestId);
    const text = parts.join("");
    const now = clock.now();
    const extra = { interrupted: true } as const;
    const others = await deps.cutOff({ requestId, text, produced: parts.length > 0 });
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
      turns.cutOff(requestId, now),
      turns.dropParts(requestId),
      ...(session === null ? [] : [sessions.settle(session.uuid, { runtimeState: null })]),
      // What a program reported was lost with it.
      ...(session === null
        ? []
        : deps.usage.record({
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
    log.warn(
      { session: session?.uuid, request: requestId, chars: text.length },
      "closed a turn that a crash had cut off",
    );
  }
  return cutOff.length;
}
