/** Rules of `contract-surfaces.md` 8 and of its section 12 "8. Events", without the hooks; `contract-store.md` 2. */
export const events = {
  "EVENT-1":
    "an event is stored by the unit that makes it true: none of a unit that is rolled back, each of one that is committed",
  "EVENT-2":
    "events get their numbers after the commit, from one place: no number appears below one already seen, nothing is missed or told twice",
  "EVENT-3": "what a crash left without a number is numbered at the next start",
  "EVENT-4":
    "100,000 events or seven days are kept; a cursor before them is 410 EVENTS_GONE with `oldest`, one ahead 410 CURSOR_AHEAD",
  "EVENT-5":
    "GET /api/v1/events?stream=false lists oldest first, forward by `after`, else the last `limit`; nextCursor is what `after` takes next",
  "EVENT-6":
    "GET /api/v1/events streams: replay after `after` or Last-Event-ID, then live; neither: live; with keep-alive comments",
  "EVENT-7":
    "`types` takes exact names, <noun>.* and *; others are 400; `agent` narrows; unknown 404, out of reach 403",
  "EVENT-8":
    "a key sees the events of agents in its reach, those of no agent only with admin; also after its rights have changed",
  "EVENT-9": "20 streams a key; the next is 429 RATE_LIMITED; a stream ends when its key is revoked",
  "EVENT-10": "a slow reader costs a bounded amount of memory, misses nothing, and holds up no other",
  "EVENT-11":
    "texts only with include=text, from the messages themselves: what is deleted there is gone here",
  "EVENT-12":
    "message.received for every stored user message, turn.started|finished|failed with agentId, chatId, sessionId, requestId, session.created|deleted|restarted with the first three; of a turn that a crash cut off, each exactly once",
  "EVENT-13":
    "delivery.failed and delivery.unknown for each message that did not arrive, or may not have, exactly once, with agentId, channel, accountId, chatId and deliveryId; nothing of progress messages",
  "EVENT-14":
    "an event of a session that was deleted before the unit came, or of a message that was settled, is not told",
  "EVENT-15":
    "while events cannot be numbered, the log says so once; they are numbered as soon as that works again",
  "EVENT-16":
    "a client that is told of no event for long gets the newest number with a keepalive, so that its next cursor is not long gone",
  "EVENT-17": "readers of one gateway are told of events of another that shares its store within two seconds",
} as const;
