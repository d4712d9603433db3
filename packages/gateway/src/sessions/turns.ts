import { GatewayError } from "@agent-gateway/contract";
import { NOT_HERE } from "../lib/not-here.ts";
import { withoutChannelMessages } from "../lib/xml.ts";
import type { RuntimeEvent, TurnOutcome } from "../runtimes/index.ts";
import { FencedError, UnsettledError } from "../store/index.ts";
import { createAttempts } from "./attempts.ts";
import type { Holds } from "./holds.ts";
import { createKeeper } from "./kept-turns.ts";
import { sessionGone } from "./names.ts";
import type { Place } from "./place.ts";
import type { Pool } from "./pool.ts";
import type { SessionDeps, SharedFile } from "./ports.ts";
import { closeCutOff } from "./recovery.ts";
import { createSilenceWatch, DEFAULT_SILENT_SECONDS } from "./silence.ts";
import { tellEnd } from "./tell.ts";
import { TextOverflow } from "./turn-cap.ts";
import { firstMessages, historyOf, resumeState } from "./turn-context.ts";
import { createEmitter } from "./turn-emit.ts";
import { endChanges, settleOutcome } from "./turn-end.ts";
import { createTurnLog } from "./turn-log.ts";
import { createPartTrouble, createPartWriter } from "./turn-parts.ts";
import { failureOf, isSentence, lastEvent, sentenceOf, type TurnResult } from "./turn-result.ts";
import { startChanges } from "./turn-start.ts";
import type { StopReason, Turn, TurnRequest } from "./turn-types.ts";
import { createUnstored, notYetStored } from "./unstored.ts";
import type { WatchedTurn } from "./watched.ts";

/** After an interrupt, a runtime has this long to end the turn before the turn is ended without it. */
const INTERRUPT_GRACE_MS = 7_000;
const SHUTDOWN_GRACE_MS = 1_500;

type RunningTurn = Turn & WatchedTurn;

/** The one turn loop of the product. */
export function createTurns(deps: SessionDeps, pool: Pool, holds: Holds) {
  const { clock, log, store } = deps;
  const running = new Map<string, RunningTurn>();
  const kept = new Map<string, Turn[]>();
  const keep = createKeeper(deps, kept);
  const partTrouble = createPartTrouble(log);
  const unstored = createUnstored({
    turns: store.turns,
    clock,
    log,
    closeCutOff: (agentId, requestId, units) => closeCutOff(agentId, requestId, units, deps),
    freed: pool.ringAll,
  });

  let refusing = false;

  const begin = (request: TurnRequest, place: Place): Turn => {
    const { agent, requestId, session } = request;
    const uuid = session.uuid;
    const { history } = request;
    const stoodReady = place.runtime !== undefined && !history;
    const turnLog = createTurnLog(requestId);
    const startedAt = clock.now();
    const begunAt = clock.elapsed();
    const files: SharedFile[] = [];
    const row = session.id === undefined ? undefined : session;
    const apart = history !== undefined && row !== undefined;
    const limit = agent.history.maxHistoryMessages;
    const earlier = history && !row ? firstMessages(store, { uuid, history, now: startedAt }) : [];
    // Taken even if no message gets it: every message that is stored later has a higher one.
    const userId = store.ids.message();
    const stored = request.store ? userId : undefined;
    // Read when a process has to be started, or restarted for another model; by then the user message may be stored.
    const open = {
      model: row?.model_override ?? agent.model,
      async resume(type: string) {
        // A program that has heard the message once would hear it twice.
        const state =
          stoodReady || history || attempts.told()
            ? undefined
            : await resumeState(store, row, limit, userId - 1);
        return state?.type === type ? state.token : undefined;
      },
      history: async () => history ?? historyOf(store, row, limit, (request.again ?? userId) - 1),
      anew: history !== undefined,
    };
    let stopReason: StopReason | undefined;
    let forceEnd: (outcome: TurnOutcome) => void = () => {};
    /** What the end of the turn stores is decided; nothing changes it any more. */
    let ending = false;
    // If the agent is lost and taken again meanwhile, this turn is one of those that were closed for it.
    const units = store.forAgent(agent.id);
    const parts = createPartWriter({ requestId, turns: store.turns, units, clock, trouble: partTrouble });
    const agentSays = createEmitter({
      deps,
      agentId: agent.id,
      turnLog,
      parts,
      marked: request.closing !== undefined,
      partial: request.kind !== "compact",
      fail(error) {
        forceEnd({ status: "failed", text: turnLog.text, error: sentenceOf(error) });
        if (!(error instanceof TextOverflow))
          log.error(
            { err: error, session: uuid, request: requestId },
            "could not process the agent's output",
          );
        void pool.drop(place);
      },
    });
    const silentSeconds = agent.runtime.silentSeconds ?? DEFAULT_SILENT_SECONDS;
    const silence = createSilenceWatch(clock, silentSeconds * 1000, () => void stop("silent"));
    const emit = (event: RuntimeEvent) => {
      silence.heard(event);
      agentSays.emit(event);
    };

    const about = { agentId: agent.id, chatId: session.chat_id, sessionId: uuid, requestId };
    const persistStart = async () => {
      const changes = startChanges(deps, { request, userId, stored, earlier, now: startedAt });
      deps.step("before-user-row");
      const answers = await units.commit(...changes);
      if (answers.at(-1) === false) throw sessionGone();
      deps.step("after-user-row");
      deps.counters.received(agent.id);
    };

    const told = request.kind === "channel" ? request.text : withoutChannelMessages(request.text);
    const attempts = createAttempts({
      clock,
      pool,
      place,
      request,
      open,
      input: { text: told, files: request.files ?? [] },
      stoodReady,
      silence,
      emit,
      over: () => stopReason !== undefined || ending || !units.holds(),
      produced: () => agentSays.produced,
      text: () => turnLog.text,
      opened: () => deps.step("after-spawn"),
      exited: async (outcome) => !refusing && (await deps.watch.exited(turn, outcome)),
    });
    const runAgent = async (durable: Promise<void>): Promise<TurnOutcome> => {
      const failed = (error: unknown): TurnOutcome => {
        if (stopReason) return { status: "interrupted", text: turnLog.text };
        if (!isSentence(error)) {
          log.error({ err: error, session: uuid, request: requestId }, "could not run the agent");
        }
        return { status: "failed", text: turnLog.text, error: sentenceOf(error) };
      };
      try {
        return await attempts.run(durable);
      } catch (error) {
        return failed(error);
      }
    };

    const finish = async (outcome: TurnOutcome): Promise<TurnResult> => {
      ending = true;
      const now = clock.now();
      const durationMs = Math.round(clock.elapsed() - begunAt);
      const whole = outcome.text.length >= turnLog.text.length || outcome.status === "done";
      const { status, text, error, reason } = settleOutcome(
        // If the texts are equal, use the log's own: a kept turn then holds its text only once.
        whole && outcome.text !== turnLog.text ? outcome : { ...outcome, text: turnLog.text },
        // An agent that dies while the gateway stops most likely got the same signal.
        stopReason ?? (refusing && outcome.status !== "done" ? "shutdown" : undefined),
        turnLog.trouble,
      );
      const dropParts = parts.end();
      if (turnLog.text === "" && text !== "" && status === "done") emit({ type: "text", text });
      await agentSays.close();
      const { attachments, produced } = agentSays;
      const used = deps.usage.record({
        requestId,
        agentId: agent.id,
        keyId: request.keyId ?? null,
        chatId: session.chat_id,
        session: uuid,
        model: outcome.model,
        used: outcome.usage,
        // What the agent reports nothing of is estimated.
        chars: attempts.told() ? { told: request.text.length, said: text.length } : { told: 0, said: 0 },
      });
      const result: TurnResult = {
        status,
        text,
        attachments,
        files,
        durationMs,
        usage: used.usage,
        stored: true,
        ...(error !== undefined && { error }),
      };
      const failure = failureOf(result);
      if (failure) {
        const { code, message: reason } = failure;
        log.warn({ agent: agent.id, session: uuid, request: requestId, code, reason }, "turn failed");
      }
      const replied = request.kind !== "compact" && (text !== "" || attachments.length > 0);
      const steps = agentSays.steps(text);
      const worked = replied || failure !== undefined || steps.length > 0;
      const token = place.runtime?.resumeToken;
      const message = request.kind !== "compact" && worked ? store.ids.message() : undefined;
      const latest = () => (row && token ? store.messages.last(row.id, userId).catch(() => undefined) : 0);
      const upto = message ?? stored ?? (await latest());
      const changes = [
        ...endChanges(store, {
          agentId: agent.id,
          uuid,
          requestId,
          result,
          outcome,
          now,
          message,
          steps,
          dropParts,
          program:
            token && !apart && place.runtimeType && upto !== undefined
              ? { type: place.runtimeType, token, upto }
              : null,
        }),
        ...used.change,
        ...(request.closing?.({ result, reason, produced }) ?? []),
        tellEnd(deps.feed, { ...about, kind: request.kind, result, message }),
      ];
      deps.step("before-assistant-row");
      try {
        await units.commit(...changes);
      } catch (error) {
        log.error({ err: error, session: uuid, request: requestId }, "could not store the reply");
        result.stored = false;
        if (error instanceof FencedError) {
          result.status = "failed";
          result.lost = true;
          result.error = NOT_HERE;
        } else {
          const bytes = Buffer.byteLength(JSON.stringify([text, steps, attachments, files]));
          const end = { agentId: agent.id, sessionId: uuid, requestId, units, changes, bytes };
          result.settled = unstored.keep(end);
        }
      }
      deps.step("after-assistant-row");
      if (replied) deps.counters.sent(agent.id);
      deps.counters.ended(agent.id, result.status, durationMs);
      return result;
    };

    const stop: Turn["stop"] = async (reason = "stop") => {
      if (ending) return void (await turn.done);
      stopReason ??= reason;
      const graceMs = reason === "shutdown" ? SHUTDOWN_GRACE_MS : INTERRUPT_GRACE_MS;
      const cancel = clock.after(graceMs, () => {
        log.warn({ session: uuid, request: requestId }, "the agent did not end its turn; ending its process");
        forceEnd({ status: "interrupted", text: turnLog.text });
        void pool.drop(place);
      });
      const interrupting = attempts.interrupt();
      if (interrupting) await interrupting.catch(() => {});
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
      let hasRow = false;
      try {
        const agentDone = runAgent(started);
        await started;
        hasRow = true;
        result = await finish(await Promise.race([agentDone, forced]));
      } catch (error) {
        log.error({ err: error, session: uuid, request: requestId }, "could not store the turn");
        // Where its row is, or turns out to be, it would look as if it ran until the next start.
        const there = error instanceof UnsettledError ? error.outcome : hasRow && Promise.resolve(true);
        if (there) {
          const begun = { agentId: agent.id, sessionId: uuid, requestId, units };
          void unstored.closeIf(there, begun).then((closed) => closed && deps.closedLate?.());
        }
        const durationMs = Math.round(clock.elapsed() - begunAt);
        result = { status: "failed", text: "", attachments: [], files: [], durationMs, stored: false };
      }
      ending = true;
      parts.end();
      cancelCap();
      silence.end();
      // A process whose model went silent may hang for good, and one of a foreign history knows nothing of the session's.
      if (stopReason === "silent" || apart || request.once) void pool.drop(place);
      // The session is freed before the last event is sent, because its reader may send the next message at once.
      running.delete(uuid);
      pool.release(place);
      deps.step("before-done");
      deps.watch.ended(turn, result.status);
      turnLog.append(lastEvent(result, uuid));
      // Keeps the log, but not everything else that this turn worked with.
      if (request.kind !== "compact") {
        const { look: _l, mend: _m, stderrTail: _s, ...plain } = turn;
        keep({ ...plain, stop: () => Promise.resolve() });
      }
      return result;
    };

    place.scope.onAttachment = agentSays.attach;
    place.scope.takeShare = agentSays.takeShare;
    place.scope.acting = agentSays.acting;
    place.scope.wishes = request.wishes;
    place.scope.onFile = request.closing
      ? (file) => {
          if (ending) throw new Error("The turn has ended; the file was not sent.");
          files.push(file);
        }
      : undefined;
    const turn: RunningTurn = {
      log: turnLog,
      requestId,
      sessionId: uuid,
      agentId: agent.id,
      kind: request.kind,
      started,
      done: Promise.resolve().then(run),
      stop,
      chatId: session.chat_id,
      begunAt,
      look: attempts.look,
      mend: attempts.mend,
      stderrTail: attempts.stderrTail,
    };
    running.set(uuid, turn);
    deps.watch.began();
    return turn;
  };

  /** Starts a turn at once, or throws `SESSION_BUSY`, `CAPACITY` or `UNAVAILABLE` with nothing changed. */
  const start = (request: TurnRequest): Turn => {
    const { agent, session } = request;
    const { uuid } = session;
    if (refusing) throw new GatewayError("UNAVAILABLE", "The gateway is stopping.");
    if (!store.forAgent(agent.id).holds()) throw new FencedError();
    if (running.has(uuid) || (holds.has(uuid) && !request.holds)) throw new GatewayError("SESSION_BUSY");
    if (unstored.has(uuid)) throw notYetStored();
    const place = pool.reserve(agent, { chatId: session.chat_id, sessionId: uuid });
    try {
      return begin(request, place);
    } catch (error) {
      pool.release(place);
      throw error;
    }
  };

  return {
    start,
    /** No turn begins from now on. */
    refuse() {
      refusing = true;
      pool.refuse();
    },
    running: (sessionId: string) => running.get(sessionId),
    unstored,
    allRunning: () => [...running.values()],
    /** Finished turns of a session that can still be read, newest last. */
    kept: (sessionId: string): readonly Turn[] => kept.get(sessionId) ?? [],
    forget(sessionId: string) {
      kept.delete(sessionId);
    },
  };
}
export type Turns = ReturnType<typeof createTurns>;
