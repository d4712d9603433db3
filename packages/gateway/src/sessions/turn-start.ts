import type { Change, NewMessage, Store } from "../store/index.ts";
import { nameFrom, PLACEHOLDER_NAME } from "./names.ts";
import type { FeedPort } from "./ports.ts";
import { tellStart } from "./tell.ts";
import type { TurnRequest } from "./turn-types.ts";

/** What the beginning of a turn stores. */
export interface TurnStart {
  request: TurnRequest;
  /** Id for the user message, whether one is stored or not. */
  userId: number;
  /** The same if one is stored. */
  stored: number | undefined;
  /** Messages that a new session begins with. */
  earlier: readonly NewMessage[];
  now: number;
}

/**
 * Stores the user message and opens the turn. The last change answers false when the session is gone; then nothing is
 * stored.
 */
export function startChanges(
  { store, feed }: { store: Pick<Store, "sessions" | "messages" | "turns">; feed: FeedPort },
  { request, userId, stored, earlier, now }: TurnStart,
): Change<unknown>[] {
  const { agent, history, kind, requestId, session, store: message } = request;
  const { uuid, chat_id: chatId } = session;
  const row = session.id === undefined ? undefined : session;
  const about = { agentId: agent.id, chatId, sessionId: uuid, requestId };
  return [
    ...(row
      ? []
      : [
          store.sessions.add({
            uuid,
            agentId: agent.id,
            chatId,
            name: PLACEHOLDER_NAME,
            unnamed: true,
            now,
          }),
        ]),
    ...earlier.map((entry) => store.messages.add(entry)),
    ...(message
      ? [store.messages.add({ id: userId, session: uuid, role: "user", ts: now, ...message })]
      : []),
    ...(message && row?.unnamed !== 0
      ? [
          store.sessions.nameFirst(
            uuid,
            nameFrom(history?.find(({ role }) => role === "user")?.text ?? message.content),
          ),
        ]
      : []),
    ...(request.also?.(stored) ?? []),
    ...tellStart(feed, { ...about, kind, isNew: !row, message: stored }),
    store.turns.start(uuid, {
      requestId,
      kind,
      keyId: request.keyId ?? null,
      told: request.text.length,
      now,
    }),
  ];
}
