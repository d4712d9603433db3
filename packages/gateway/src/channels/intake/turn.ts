import { randomUUID } from "node:crypto";
import type { AgentConfig } from "../../config/index.ts";
import type { CutOffTurn, TurnEnd } from "../../lib/turn-ends.ts";
import type { Change, InboxRow } from "../../store/index.ts";
import { placeOf, storedChatId } from "../place.ts";
import type { Content, InboundMessage, Target } from "../types.ts";
import type { FetchedMedia, IntakeDeps } from "./ports.ts";
import { showProgress } from "./progress.ts";
import { channelPrompt } from "./prompt.ts";
import { CUT_OFF, replyContents, replyText, targetOf } from "./reply.ts";
import { watchTrouble } from "./trouble.ts";

/** A turn is interrupted after this plus `gateway.turns.hardCapMs`, like one that came over HTTP. */
const SOFT_MS = 60_000;

/** A message with its row. */
export interface Taken {
  row: InboxRow;
  message: InboundMessage;
}

/** What is done only once for messages, however often their turn is tried. */
export interface Kept {
  /** The last of them, with its sender's name. */
  message?: InboundMessage;
  /** Whether their sender has been shown that they were read. */
  read?: true;
  media?: readonly FetchedMedia[];
}

/** A wait for a place ends after this, to check whether anything has changed meanwhile. */
const ROOM_MS = 60_000;

/** Runs the turn of one or more messages of a chat, and puts the reply into the outbox when it ends. */
export function createTurnRunner(deps: IntakeDeps, stopped: AbortSignal) {
  const { store, clock, delivery, log } = deps;
  const { inbox } = store;

  const idsOf = (rows: readonly InboxRow[]) => rows.map(({ id }) => id);

  /** Changes that answer a turn's messages, the last of which is `message`, and settle them. */
  const settle = (
    rows: readonly InboxRow[],
    message: InboundMessage,
    contents: readonly Content[],
    note: string | null,
  ): Change<unknown>[] => {
    const last = rows.at(-1)!;
    return [
      delivery.dropProgress(last.id),
      delivery.add({
        place: placeOf(last),
        chatId: last.chat_id,
        inbox: last.id,
        purpose: "reply",
        target: { ...targetOf(message, last.received_at), replaces: true },
        contents,
      }),
      inbox.settle(idsOf(rows), "done", clock.now(), note),
    ];
  };

  const answer = (rows: readonly InboxRow[], message: InboundMessage, end: TurnEnd): Change<unknown>[] => {
    // The agent sent nothing and no one stopped it: the next start runs the turn as if it were new.
    if (end.reason === "shutdown" && !end.produced) return [inbox.putBack(idsOf(rows))];
    const contents = replyContents(deps, placeOf(rows.at(-1)!), replyText(end), end.result);
    return settle(rows, message, contents, contents.length === 0 ? "The agent said nothing." : null);
  };

  const sessionOf = async (row: InboxRow) => {
    const chatId = storedChatId(row.channel, row.chat_id);
    // A turn that a crash put back belongs to the session that has its message.
    const before =
      row.session === null ? undefined : await deps.sessions.find(row.agent_id, chatId, row.session);
    return { chatId, before, session: before ?? (await deps.sessions.latest(row.agent_id, chatId)) };
  };

  const limits = { ms: ROOM_MS, signal: stopped };
  /** Resolves when the session of a message is not busy. */
  const idle = async (row: InboxRow): Promise<void> => {
    while (!stopped.aborted) {
      const { session } = await sessionOf(row);
      if (!session || (await deps.sessions.idle(row.agent_id, session.uuid, limits))) return;
    }
  };
  /**
   * Resolves to true when the turn of a message can begin, and to false as soon as its session is busy; it reserves
   * nothing meanwhile, and fetches and shows nothing.
   */
  const room = async (row: InboxRow): Promise<boolean> => {
    while (!stopped.aborted) {
      const { session } = await sessionOf(row);
      if (await deps.sessions.vacancy(row.agent_id, session?.uuid, limits)) return true;
      if (session && deps.sessions.isBusy(session.uuid)) return false;
    }
    return false;
  };

  /** Throws `SESSION_BUSY` or `CAPACITY` if the free place has been taken meanwhile. */
  const run = async (agent: AgentConfig, taken: readonly Taken[], kept: Kept): Promise<void> => {
    const { row, message } = taken.at(-1)!;
    const rows = taken.map((one) => one.row);
    const place = placeOf(row);
    const adapter = deps.adapter(place);
    const target = targetOf(message, row.received_at);
    const endWorking = adapter?.working?.(target);
    const requestId = randomUUID();
    let endProgress: () => void = () => {};
    try {
      kept.media ??= await Promise.all(
        taken.map((one) => deps.fetchMedia(adapter, place, agent, one.message, stopped)),
      );
      const { media } = kept;
      // Files not fetched because of the stop must not be reported as missing: the next start processes the message again.
      if (stopped.aborted) return;
      const { chatId, before, session } = await sessionOf(row);
      const stored = before && row.user_message !== null && (await inbox.hasUserMessage(row.user_message));
      const again = stored ? (row.user_message ?? undefined) : undefined;
      const turn = await deps.sessions.send({
        agent,
        requestId,
        chatId,
        sessionId: session?.uuid,
        text: taken.map(({ message: one }, index) => wholeText(one, media[index]!)).join("\n"),
        told: taken
          .map(({ message: one }, index) =>
            channelPrompt(place, one, wholeText(one, media[index]!), media[index]!.meta),
          )
          .join("\n"),
        mediaFiles: media.flatMap(({ mediaFiles }) => mediaFiles),
        senderName: message.senderName,
        softMs: SOFT_MS,
        kind: "channel",
        ...(again !== undefined && { again }),
        also: ({ sessionId, message: userMessage = again }) => [
          inbox.startTurn(idsOf(rows), { requestId, sessionId, now: clock.now(), userMessage }),
        ],
        closing: (end) => answer(rows, message, end),
      });
      // Also when the reply is stored already: then the message is answered.
      telling.set(requestId, (line) => notice(row, target, line, null));
      const afterMs = agent[place.channel]?.progressMs ?? 0;
      const shows = adapter?.edit !== undefined && afterMs > 0;
      const trouble = watchTrouble(
        clock,
        () => turn.log.trouble,
        shows ? undefined : (line) => notice(row, target, line),
      );
      const progress = () => turn.log.text || trouble.line();
      const hideProgress = showProgress(deps, { place, row, target, adapter, afterMs }, progress);
      endProgress = () => {
        trouble.end();
        hideProgress();
      };
      const result = await turn.done;
      // Its reply goes out once it is stored, and not before.
      await result.settled;
    } finally {
      telling.delete(requestId);
      endProgress();
      endWorking?.();
    }
    delivery.wake(place, row.chat_id);
  };

  /** How the chats of the turns that run now are told something. */
  const telling = new Map<string, (line: string) => void>();

  /** Sends a line in addition to the reply. */
  const notice = (row: InboxRow, target: Target, line: string, inbox: number | null = row.id): void => {
    const place = placeOf(row);
    const contents = deps.split(place.channel, line).map((text): Content => ({ kind: "text", text }));
    const sending = {
      place,
      chatId: row.chat_id,
      inbox,
      purpose: "notice" as const,
      target,
      contents,
    };
    store
      .forAgent(row.agent_id)
      .commit(delivery.add(sending))
      .then(
        () => delivery.wake(place, row.chat_id),
        (error) => log.warn({ err: error }, "could not store a notice"),
      );
  };

  return {
    idle,
    room,
    run,
    /** Sends a line to the chat of a running turn, in addition to the reply. */
    say: (requestId: string, line: string) => telling.get(requestId)?.(line),
    /** Changes for a turn that a crash cut off: it runs again, or its text so far goes out. */
    async cutOff({ requestId, text, produced }: CutOffTurn): Promise<readonly Change<unknown>[]> {
      const rows = await inbox.ofTurn(requestId);
      const last = rows.at(-1);
      if (!last?.message) return [];
      if (!produced) return [inbox.putBack(idsOf(rows))];
      const contents = replyContents(deps, placeOf(last), `${text.trim()}\n\n${CUT_OFF}`.trim());
      const message = JSON.parse(last.message) as InboundMessage;
      return settle(rows, message, contents, "A crash interrupted the turn.");
    },
  };
}

/** A message's text with notes about its files; a message with only a file names it. */
function wholeText(message: InboundMessage, media: FetchedMedia): string {
  const text = [message.text, media.text].filter((part) => part !== "").join("\n");
  return text === "" ? (message.media ?? []).map(({ name, kind }) => `[${name ?? kind}]`).join(" ") : text;
}
