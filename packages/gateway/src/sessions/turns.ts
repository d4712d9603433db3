import { type Attachment, GatewayError } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import type { Statement } from "../db/index.ts";
import type { InputFile, RuntimeEvent, RuntimeSession, TurnOutcome } from "../runtimes/types.ts";
import { createKeeper } from "./kept-turns.ts";
import type { Pool } from "./pool.ts";
import type { SessionDeps, SharedFile } from "./ports.ts";
import type { MessageExtra, RuntimeState, SessionRow, SessionStore } from "./store.ts";
import { createTurnLog, type TurnLog } from "./turn-log.ts";
import { lastEvent, mediaPathOf, sentenceOf, type TurnResult } from "./turn-result.ts";

/** Who started a turn; stored with it. */
export type TurnKind = "message" | "greeting" | "injection" | "compact" | "channel";

/** How a turn ends, for whoever stores something together with its end. */
export interface TurnEnding {
  result: TurnResult;
  reason: "stop" | "timeout" | "shutdown" | undefined;
  /** False when nothing at all came from the agent: the turn can run again as if it never had. */
  produced: boolean;
}

export interface TurnRequest {
  agent: AgentConfig;
  /** The session, or the ids of a new one (created in the same transaction as the message). */
  session: SessionRow | { chat_id: string; uuid: string; id: undefined };
  requestId: string;
  kind: TurnKind;
  /** What the agent is told. */
  text: string;
  files?: readonly InputFile[];
  /** What history keeps of it; undefined stores no user message. */
  store?: { content: string; extra: MessageExtra; media: readonly string[] };
  /** Further statements of the first transaction. */
  also?: readonly Statement[];
  /** Statements that go to disk together with the end of the turn; a crash before calls `SessionDeps.cutOff`. */
  closing?: (ending: TurnEnding) => readonly Statement[];
  /** The agent is told no message above this one: those of an earlier run of the same turn. */
  uptoId?: number;
  /** Done in place of asking the agent; where it gives no text, the agent is asked after all. */
  act?: (runtime: RuntimeSession) => Promise<{ summary: string | null } | null>;
  /** The turn is interrupted after this and `hardCapMs` more. */
  softMs: number;
}

/** A running or just finished turn. */
export interface Turn {
  readonly log: TurnLog;
  readonly requestId: string;
  readonly sessionId: string;
  readonly agentId: string;
  readonly kind: TurnKind;
  /** Resolves when the user message is on disk; rejects when the turn could not start. */
  readonly started: Promise<void>;
  /** Resolves when everything is stored and the last event is in the log. Never rejects. */
  readonly done: Promise<TurnResult>;
  /** Interrupts; resolves when the turn is over. */
  stop(reason?: "stop" | "timeout" | "shutdown"): Promise<void>;
}

/** A fast turn is over before its text would be stored twice; of a slow one a crash loses no more than this. */
const FIRST_PART_MS = 25;
const PART_EVERY_MS = 60;
/** After an interrupt a runtime has this long to end the turn before it is ended without it. */
const INTERRUPT_GRACE_MS = 7_000;
const SHUTDOWN_GRACE_MS = 1_500;

/** The one turn loop of the product. */
export function createTurns(deps: SessionDeps, store: SessionStore, pool: Pool) {
  const { clock, db, log } = deps;
  const running = new Map<string, Turn>();
  const kept = new Map<string, Turn[]>();
  const keep = createKeeper(deps, kept);

  /** The agent program's own session, where it holds exactly the messages that the store holds. */
  const resumeState = (session: SessionRow | undefined, limit: number): RuntimeState | undefined => {
    if (!session?.runtime_state || limit === 0) return undefined;
    const state = JSON.parse(session.runtime_state) as RuntimeState;
    return state.upto === store.lastMessageId(session.id) ? state : undefined;
  };

  /** What a new process is told of the conversation: the messages up to `uptoId`, behind the latest summary. */
  const historyOf = (session: SessionRow | undefined, limit: number, uptoId: number) => {
    if (!session || limit === 0) return [];
    const recent = store.recent(session.id, limit, session.summary_upto, uptoId);
    if (session.summary === null) return recent;
    return [
      { role: "user" as const, text: `Summary of our conversation so far:\n${session.summary}` },
      { role: "assistant" as const, text: "Understood." },
      ...recent,
    ];
  };

  /** Starts a turn at once, or throws `SESSION_BUSY` or `CAPACITY` with nothing changed. */
  const start = (request: TurnRequest): Turn => {
    const { agent, requestId, session } = request;
    const uuid = session.uuid;
    if (running.has(uuid)) throw new GatewayError("SESSION_BUSY");
    const place = pool.reserve(agent, { chatId: session.chat_id, sessionId: uuid });
    const turnLog = createTurnLog(requestId);
    const startedAt = clock.now();
    const attachments: Attachment[] = [];
    const files: SharedFile[] = [];
    const pending: Promise<void>[] = [];
    const row = session.id === undefined ? undefined : session;
    const limit = agent.history.maxHistoryMessages;
    const resumable = place.runtime ? undefined : resumeState(row, limit);
    // Only a process that has to be started, or started again for another model, is told the conversation.
    const uptoId = request.uptoId ?? store.maxMessageId();
    const open = {
      model: row?.model_override ?? agent.model,
      resume: (type: string) => (resumable?.type === type ? resumable.token : undefined),
      history: () => historyOf(row, limit, uptoId),
    };
    let stopReason: "stop" | "timeout" | "shutdown" | undefined;
    let forceEnd: (outcome: TurnOutcome) => void = () => {};
    let interruptible = false;
    let cancelParts: () => void = () => {};
    let stored = 0;
    let partsWritten = false;
    let produced = false;

    const addAttachment = (attachment: Attachment) => {
      attachments.push(attachment);
      turnLog.append({ type: "attachment", attachment });
    };

    const savePart = () => {
      const text = turnLog.text.slice(stored);
      if (text !== "" || (produced && !partsWritten)) {
        stored += text.length;
        partsWritten = true;
        db.write(store.addPart(requestId, text)).catch((error) =>
          log.error({ err: error }, "storing partial text failed"),
        );
      }
      cancelParts = clock.after(PART_EVERY_MS, savePart);
    };

    const emit = (event: RuntimeEvent) => {
      if (turnLog.ended || (event.type === "text" && event.text === "")) return;
      if (!produced) {
        produced = true;
        // Whether such a turn may run again after a crash hangs on this row, so it does not wait.
        if (request.closing) savePart();
      }
      switch (event.type) {
        case "text":
          if (turnLog.text === "") {
            deps.step("first-delta");
            cancelParts();
            if (request.kind !== "compact") cancelParts = clock.after(FIRST_PART_MS, savePart);
          }
          turnLog.append({ type: "text_delta", text: event.text });
          return;
        case "thinking":
          turnLog.append({ type: "thinking", text: event.text });
          return;
        case "tool_use":
          turnLog.append({ type: "tool_use", name: event.name, id: event.id });
          return;
        case "tool_result":
          turnLog.append({ type: "tool_result", id: event.id, is_error: event.isError });
          return;
        case "image":
          pending.push(
            deps.media.storeImage(agent.id, event.mime, event.data).then(
              (path) => addAttachment({ type: "image", url: deps.media.attachmentUrl(agent.id, path) }),
              (error) =>
                log.warn({ err: error, agent: agent.id }, "an image from the agent could not be kept"),
            ),
          );
          return;
        default:
          event satisfies never;
      }
    };

    const persistStart = async () => {
      const statements = [
        ...(row ? [] : store.createSession(agent.id, session.chat_id, uuid, undefined, startedAt)),
        ...(request.store ? store.addMessage(uuid, { role: "user", ts: startedAt, ...request.store }) : []),
        ...(request.store && row?.unnamed !== 0 ? [store.nameAfter(uuid, request.store.content)] : []),
        ...(request.also ?? []),
        store.startTurn(uuid, requestId, request.kind, startedAt),
      ];
      deps.step("before-user-row");
      await db.write(...statements);
      deps.step("after-user-row");
      deps.counters.received(agent.id);
    };

    const runAgent = async (durable: Promise<void>): Promise<TurnOutcome> => {
      const failed = (error: unknown): TurnOutcome => {
        if (stopReason) return { status: "interrupted", text: turnLog.text };
        log.error({ err: error, session: uuid, request: requestId }, "the agent could not be run");
        return { status: "failed", text: turnLog.text, error: sentenceOf(error) };
      };
      try {
        const opening = pool.runtime(place, open);
        opening.catch(() => {});
        await durable;
        const runtime = await opening;
        deps.step("after-spawn");
        if (stopReason) return { status: "interrupted", text: "" };
        interruptible = true;
        const own = await request.act?.(runtime);
        if (own?.summary) return { status: "done", text: own.summary };
        const input = { text: request.text, files: request.files ?? [] };
        const outcome = await runtime.turn(input, emit);
        if (!outcome.unread || stopReason) return outcome;
        await runtime.closed;
        return await (await pool.runtime(place, open)).turn(input, emit);
      } catch (error) {
        return failed(error);
      }
    };

    const finish = async (outcome: TurnOutcome): Promise<TurnResult> => {
      cancelParts();
      await Promise.allSettled(pending);
      const now = clock.now();
      const durationMs = now - startedAt;
      const status =
        stopReason === "timeout"
          ? "timeout"
          : stopReason && outcome.status !== "done"
            ? "interrupted"
            : outcome.status;
      const text =
        outcome.text.length >= turnLog.text.length || outcome.status === "done" ? outcome.text : turnLog.text;
      if (turnLog.text === "" && text !== "" && status === "done") emit({ type: "text", text });
      cancelParts();
      const result: TurnResult = {
        status,
        text,
        attachments,
        files,
        durationMs,
        stored: true,
        ...(outcome.error !== undefined && { error: outcome.error }),
      };
      const extra: MessageExtra = {
        ...(status !== "done" && { interrupted: true as const }),
        ...(attachments.length > 0 && { attachments }),
      };
      const keepMessage = request.kind !== "compact" && (text !== "" || attachments.length > 0);
      const rowId = row?.id ?? store.find(agent.id, session.chat_id, uuid)?.id;
      const token = place.runtime?.resumeToken;
      const holds = status === "done" || status === "interrupted";
      const statements = [
        ...(keepMessage
          ? store.addMessage(uuid, {
              role: "assistant",
              content: text,
              ts: now,
              extra,
              media: attachments.map((attachment) => mediaPathOf(agent.id, attachment.url)),
            })
          : []),
        store.endTurn(uuid, status === "done" ? "done" : status === "failed" ? "failed" : "interrupted", now),
        ...(partsWritten ? [store.dropParts(requestId)] : []),
        ...(rowId === undefined
          ? []
          : [
              store.settle(
                rowId,
                holds && token && place.runtimeType ? { type: place.runtimeType, token } : null,
                outcome,
              ),
            ]),
        ...(request.closing?.({ result, reason: stopReason, produced }) ?? []),
      ];
      deps.step("before-assistant-row");
      try {
        await db.write(...statements);
      } catch (error) {
        log.error({ err: error, session: uuid, request: requestId }, "storing the reply failed");
        result.status = "failed";
        result.stored = false;
        result.error = "The reply could not be stored; the disk may be full.";
      }
      deps.step("after-assistant-row");
      if (keepMessage) deps.counters.sent(agent.id);
      deps.counters.ended(agent.id, result.status, durationMs);
      return result;
    };

    const stop: Turn["stop"] = async (reason = "stop") => {
      stopReason ??= reason;
      const graceMs = reason === "shutdown" ? SHUTDOWN_GRACE_MS : INTERRUPT_GRACE_MS;
      const cancel = clock.after(graceMs, () => {
        log.warn(
          { session: uuid, request: requestId },
          "the agent did not end its turn; its process is ended",
        );
        forceEnd({ status: "interrupted", text: turnLog.text });
        void pool.drop(place);
      });
      if (interruptible) await place.runtime?.interrupt().catch(() => {});
      else {
        forceEnd({ status: "interrupted", text: "" });
        void pool.drop(place);
      }
      await turn.done;
      cancel();
    };

    const started = persistStart();
    started.catch(() => {});
    const cancelCap = clock.after(
      request.softMs + deps.config().gateway.turns.hardCapMs,
      () => void stop("timeout"),
    );

    const run = async (): Promise<TurnResult> => {
      const forced = new Promise<TurnOutcome>((resolve) => {
        forceEnd = resolve;
      });
      let result: TurnResult;
      try {
        const agentDone = runAgent(started);
        await started;
        result = await finish(await Promise.race([agentDone, forced]));
      } catch (error) {
        log.error({ err: error, session: uuid, request: requestId }, "the turn could not be stored");
        const durationMs = clock.now() - startedAt;
        result = { status: "failed", text: "", attachments: [], files: [], durationMs, stored: false };
      }
      cancelCap();
      // The session is free before the last event tells so: whoever reads it may send the next message at once.
      running.delete(uuid);
      pool.release(place);
      if (request.kind !== "compact") keep(turn);
      deps.step("before-done");
      turnLog.append(lastEvent(result, uuid));
      return result;
    };

    place.scope.onAttachment = addAttachment;
    place.scope.onFile = request.closing ? (file) => files.push(file) : undefined;
    const turn: Turn = {
      log: turnLog,
      requestId,
      sessionId: uuid,
      agentId: agent.id,
      kind: request.kind,
      started,
      done: Promise.resolve().then(run),
      stop,
    };
    running.set(uuid, turn);
    return turn;
  };

  return {
    start,
    historyOf,
    running: (sessionId: string) => running.get(sessionId),
    allRunning: () => [...running.values()],
    /** Finished turns of a session that can still be read, the newest last. */
    kept: (sessionId: string): readonly Turn[] => kept.get(sessionId) ?? [],
    forget(sessionId: string) {
      kept.delete(sessionId);
    },
  };
}
export type Turns = ReturnType<typeof createTurns>;
