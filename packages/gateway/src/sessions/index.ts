import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { GatewayError } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import { removeFolderBelow, removeFolderSoon } from "../lib/guarded/index.ts";
import type { Change, SessionRow, SessionValues } from "../store/index.ts";
import { createCompaction } from "./compact.ts";
import { createGreeter } from "./greeting.ts";
import { createHolds } from "./holds.ts";
import { nameFrom, PLACEHOLDER_NAME, sessionGone } from "./names.ts";
import { createOccupied } from "./occupied.ts";
import { createPool, SESSION_DEPTH } from "./pool.ts";
import type { SessionDeps } from "./ports.ts";
import { recoverTurns } from "./recovery.ts";
import { createTerminals } from "./terminals.ts";
import { withNotes } from "./turn-context.ts";
import type { Turn, TurnEnding, TurnRequest } from "./turn-types.ts";
import { createTurns } from "./turns.ts";
import { createDecider, type WaitLimits } from "./waiting.ts";

export { COMMANDS, type Command, parseCommand } from "./commands.ts";
export type {
  MediaPort,
  SessionDeps,
  SharedFile,
  ToolScope,
  TurnCounters,
  TurnStep,
} from "./ports.ts";
export { type CommandReply, createCommandRunner, type RunCommand } from "./run-command.ts";
export type { Cursor, TurnFrames, TurnLog } from "./turn-log.ts";
export { ownFrames } from "./turn-log.ts";
export type { TurnResult } from "./turn-result.ts";
export { failureOf, mediaPathOf } from "./turn-result.ts";
export type { Turn, TurnEnding } from "./turn-types.ts";
export type { Mend, TurnLook, WatchedTurn, WatchPort } from "./watched.ts";

/** What a caller sends into a session. */
export interface Incoming {
  agent: AgentConfig;
  requestId: string;
  /** Stored chat id: `api-…`, `botchat-…`. */
  chatId: string;
  /** Omit for a new session. */
  sessionId?: string | undefined;
  text: string;
  mediaFiles?: readonly string[] | undefined;
  /** Default true. */
  storeUserMessage?: boolean;
  senderName?: string | undefined;
  imageParams?: object | undefined;
  videoParams?: object | undefined;
  softMs: number;
  kind?: "message" | "greeting" | "injection" | "channel" | "cron";
  /** The API key that sends it, if any. */
  keyId?: string | null;
  /** The text for the agent, if it differs from `text`, which history keeps. */
  told?: string;
  /** See {@link TurnRequest.history}. */
  history?: TurnRequest["history"];
  /** See {@link TurnRequest.once}. */
  once?: true | undefined;
  /** Row of the user message that an earlier run of this turn stored; no second one is stored. */
  again?: number | undefined;
  /**
   * Further changes for the unit that stores the message; they take effect after it. `message` is the id of the user
   * message, if this turn stores one.
   */
  also?: (stored: { sessionId: string; message: number | undefined }) => readonly Change<unknown>[];
  /** See {@link TurnEnding}. */
  closing?: (ending: TurnEnding) => readonly Change<unknown>[];
}

/** A ready process would have to be told a history first, or has tools that a scheduled job does not get. */
const needsOwn = ({ history, kind }: Incoming) => history !== undefined || kind === "cron";

/** Sessions and their turns: everything that the routes, channels and voice do with a conversation. */
export function createSessions(deps: SessionDeps) {
  const { clock, store } = deps;
  const pool = createPool(deps, (place, until) => occupied.begin(place, until));
  const holds = createHolds((sessionId) => {
    // Otherwise the end of its turn says when it is free.
    if (!turns.running(sessionId)) pool.ringAll();
  });
  const turns = createTurns(deps, pool, holds);
  const occupied = createOccupied({ pool: () => pool, turns: () => turns, holds });
  const removing = new Map<string, Promise<void>>();
  const greet = createGreeter(deps, turns);

  /** The session, or `SESSION_NOT_FOUND`. */
  const require = async (agentId: string, chatId: string, sessionId: string): Promise<SessionRow> => {
    const row = await store.sessions.find(agentId, chatId, sessionId);
    if (!row) throw sessionGone();
    return row;
  };
  /** A session as it is now: what was read before the session was held may be out of date. */
  const current = (row: SessionRow) => require(row.agent_id, row.chat_id, row.uuid);
  const isBusy = (uuid: string) => turns.running(uuid) !== undefined || holds.has(uuid);
  const { unstored } = turns;
  /** No turn begins in it for the moment. */
  const isClosed = (uuid: string) => isBusy(uuid) || unstored.has(uuid);
  /**
   * Reads the session while nothing else can begin in it, and calls `act` before that changes. Throws
   * `SESSION_NOT_FOUND`, `SESSION_BUSY`.
   */
  const reserved = async <T>(
    agentId: string,
    chatId: string,
    sessionId: string,
    act: (row: SessionRow) => T,
  ): Promise<T> => {
    if (unstored.has(sessionId)) await unstored.flush(sessionId);
    if (!isBusy(sessionId))
      return holds.during(sessionId, async () => act(await require(agentId, chatId, sessionId)));
    await require(agentId, chatId, sessionId);
    throw new GatewayError("SESSION_BUSY");
  };
  const decide = createDecider(clock, pool);
  /** That of a ready process, unless the session needs its own. */
  const newId = (agent: AgentConfig, chatId: string, own = false) =>
    (own ? undefined : pool.takeSpare(agent, chatId)) ?? randomUUID();
  const update = async (row: SessionRow, values: SessionValues) => {
    const [hit] = await store.forAgent(row.agent_id).commit(store.sessions.update(row.uuid, values));
    if (!hit) throw sessionGone();
  };
  const dropProcess = async (row: SessionRow) => {
    const place = pool.get(row.uuid);
    if (place) await pool.drop(place);
  };
  const stop = async (row: SessionRow): Promise<boolean> => {
    const turn = turns.running(row.uuid);
    if (!turn) return occupied.interrupt(row.uuid);
    await turn.stop();
    return true;
  };
  const compaction = createCompaction({ deps, pool, turns, holds, current });

  /** Removes a session's folder, and its chat's folder with the last session. */
  const removeFolder = async (row: SessionRow) => {
    const folder = deps.sessionDir(row.agent_id, row.chat_id, row.uuid);
    try {
      await removeFolderSoon(folder, SESSION_DEPTH, clock);
    } catch (error) {
      deps.log.warn({ err: error, session: row.uuid }, "could not remove a deleted session's folder");
    }
    await removeFolderBelow(dirname(folder), SESSION_DEPTH - 1, { ifEmpty: true }).catch(() => {});
  };
  const dataOf = (row: SessionRow) => ({ chatId: row.chat_id, sessionId: row.uuid });
  const removeNow = async (row: SessionRow) => {
    // The session is held by now, so no other turn can begin behind the one that is stopped here.
    await stop(row);
    await unstored.flush(row.uuid);
    const known = await store.sessions.find(row.agent_id, row.chat_id, row.uuid);
    if (!known) return;
    await dropProcess(row);
    await removeFolder(row);
    await deps.history.emptySession(row.agent_id, known.id);
    await store
      .forAgent(row.agent_id)
      .commit(
        deps.history.clear(known.id),
        store.sessions.remove(row.uuid),
        deps.feed.event({ type: "session.deleted", agentId: row.agent_id, data: dataOf(row) }),
      );
    turns.forget(row.uuid);
    pool.headless.delete(row.uuid);
  };

  /** Keeps the hints for images or videos that came with a message, for the lists of sessions. */
  const hints = (uuid: string, column: "image_config" | "video_config", value: object | undefined) =>
    value === undefined || Object.keys(value).length === 0
      ? []
      : [store.sessions.update(uuid, { [column]: JSON.stringify(value) })];

  return {
    find: store.sessions.find,
    latest: store.sessions.latest,
    list: store.sessions.list,
    require,
    running: turns.running,
    allRunning: turns.allRunning,
    kept: turns.kept,
    places: pool.places,
    ...createTerminals({ deps, pool, turns, holds }),

    isBusy: isClosed,
    /** Resolves to true once the session is not busy, or to false after `ms` or when `signal` aborts. */
    idle: (agentId: string, sessionId: string, limits: WaitLimits): Promise<boolean> =>
      decide(agentId, limits, () => (isClosed(sessionId) ? undefined : true)),
    /**
     * Resolves to true once a turn of the session (without an id: of a new one) can begin, or to false after `ms`, when
     * `signal` aborts, or as soon as the session is busy. It reserves nothing, so `send` may find that somebody else was
     * faster.
     */
    vacancy: (agentId: string, sessionId: string | undefined, limits: WaitLimits): Promise<boolean> =>
      decide(agentId, limits, () => {
        const agent = deps.agent(agentId);
        if (!agent) return true;
        if (sessionId !== undefined && isClosed(sessionId)) return false;
        return pool.hasRoom(agent, sessionId) ? true : undefined;
      }),

    /**
     * Sends a message and starts its turn. Everything that can be refused is refused here; resolves when the message
     * is on disk. Throws `INVALID_REQUEST` (media), `SESSION_NOT_FOUND`, `SESSION_BUSY`, `CAPACITY`.
     */
    async send(incoming: Incoming): Promise<Turn> {
      const { agent, chatId } = incoming;
      const paths = incoming.mediaFiles ?? [];
      const files =
        paths.length > 0
          ? await Promise.all(paths.map((path) => deps.media.resolveUpload(agent.id, path)))
          : [];
      const start = (session: TurnRequest["session"]) =>
        turns.start({
          agent,
          session,
          holds: session.id !== undefined,
          requestId: incoming.requestId,
          kind: incoming.kind ?? "message",
          keyId: incoming.keyId,
          text: incoming.told ?? withNotes(incoming),
          files,
          ...(incoming.closing && { closing: incoming.closing }),
          again: incoming.again,
          once: incoming.once,
          wishes: { image: incoming.imageParams, video: incoming.videoParams },
          history: incoming.history,
          ...(incoming.storeUserMessage !== false &&
            incoming.again === undefined && {
              store: {
                content: incoming.text,
                media: paths,
                extra: {
                  ...(incoming.senderName && { senderName: incoming.senderName }),
                  ...(paths.length > 0 && { mediaFiles: [...paths] }),
                },
              },
            }),
          also: (message) => [
            ...hints(session.uuid, "image_config", incoming.imageParams),
            ...hints(session.uuid, "video_config", incoming.videoParams),
            ...(incoming.also?.({ sessionId: session.uuid, message }) ?? []),
          ],
          softMs: incoming.softMs,
        });
      const turn =
        incoming.sessionId === undefined
          ? start({ chat_id: chatId, uuid: newId(agent, chatId, needsOwn(incoming)), id: undefined })
          : await reserved(agent.id, chatId, incoming.sessionId, start);
      await turn.started;
      return turn;
    },

    /** Lets the agent answer its one-shot greeting; undefined when there is none. See {@link createGreeter}. */
    async greet(
      agent: AgentConfig,
      chatId: string,
      sessionId: string,
      requestId: string,
      softMs: number,
      keyId: string | null,
    ): Promise<Turn | undefined> {
      return greet({
        agent,
        reserve: (act) => reserved(agent.id, chatId, sessionId, act),
        requestId,
        softMs,
        keyId,
      });
    },

    async create(
      agent: AgentConfig,
      chatId: string,
      options: { prompt?: string | undefined; name?: string | undefined },
    ) {
      const uuid = newId(agent, chatId);
      const named = options.name?.trim() || (options.prompt?.trim() ? nameFrom(options.prompt) : undefined);
      const now = clock.now();
      const name = named ?? PLACEHOLDER_NAME;
      const unnamed = named === undefined;
      await store
        .forAgent(agent.id)
        .commit(
          store.sessions.add({ uuid, agentId: agent.id, chatId, name, unnamed, now }),
          deps.feed.event({ type: "session.created", agentId: agent.id, data: { chatId, sessionId: uuid } }),
        );
      return { sessionId: uuid, sessionName: name, createdAt: now };
    },

    info(row: SessionRow) {
      return {
        sessionId: row.uuid,
        sessionName: row.name,
        messageCount: row.message_count,
        contextPercent: row.context_percent,
        createdAt: row.created_at,
        lastActivity: row.last_activity,
      };
    },

    /** Throws `SESSION_NOT_FOUND`. */
    rename: (row: SessionRow, name: string) => update(row, { name, unnamed: 0 }),

    /** Interrupts a turn, and waits for whatever holds the session. Concurrent calls share one stop. */
    remove(row: SessionRow): Promise<void> {
      const known = removing.get(row.uuid);
      if (known) return known;
      const done = holds
        .next(
          row.uuid,
          () => stop(row),
          () => removeNow(row),
        )
        .finally(() => removing.delete(row.uuid));
      removing.set(row.uuid, done);
      return done;
    },

    /** Throws `SESSION_NOT_FOUND`, `SESSION_BUSY`. */
    async clear(row: SessionRow) {
      if (isBusy(row.uuid)) throw new GatewayError("SESSION_BUSY");
      await holds.during(row.uuid, async () => {
        await unstored.flush(row.uuid);
        const { id } = await current(row);
        await dropProcess(row);
        const blank = {
          summary: null,
          summary_upto: 0,
          runtime_state: null,
          context_percent: 0,
          last_message: null,
        };
        const own = store.forAgent(row.agent_id);
        await own.commit(deps.history.clear(id), store.sessions.update(row.uuid, blank));
      });
    },

    compact: compaction.compact,
    stop,

    /** Ends the session's process, interrupting a turn, and starts a fresh one in the background; `back` when it is there. */
    async restart(agent: AgentConfig, row: SessionRow, back = () => {}) {
      await holds.next(
        row.uuid,
        () => stop(row),
        async () => {
          await stop(row);
          await unstored.flush(row.uuid);
          await dropProcess(row);
          pool.headless.delete(row.uuid);
          const data = dataOf(row);
          const restarted = deps.feed.event({ type: "session.restarted", agentId: agent.id, data });
          await store.forAgent(agent.id).commit(restarted);
          // Before anything else begins in the session: the new process is told what the session is now.
          compaction.reopen(agent, await current(row), back);
        },
      );
    },

    /** Sets the model of this session only; it applies from the next turn on. */
    setModel: (row: SessionRow, model: string) => update(row, { model_override: model }),

    recover: (agentId?: string) => recoverTurns(agentId, { ...deps, store }),
    /** Applies a changed configuration to idle processes and spares. */
    reconfigure() {
      pool.reconfigure();
      for (const agent of deps.config().agents) pool.fillSpares(agent);
    },
    /** Starts the spare processes, once the leftovers of an earlier run are gone. */
    async fillSpares() {
      for (const agent of deps.config().agents) {
        await pool.sweepSpares(agent.id);
        pool.fillSpares(agent);
      }
    },

    /** Interrupts the turns of an agent that is being removed; resolves when their text is stored. */
    async stopAgent(agentId: string) {
      const own = turns.allRunning().filter((turn) => turn.agentId === agentId);
      await Promise.all(own.map((turn) => turn.stop()));
      pool.reconfigure();
    },

    /** No turn begins from now on: callers get `UNAVAILABLE`. */
    refuse: turns.refuse,
    /** Interrupts running turns and keeps their text so far; resolves when it is stored. */
    async stopAll() {
      turns.refuse();
      pool.dropIdle();
      await Promise.all(turns.allRunning().map((turn) => turn.stop("shutdown")));
      await unstored.stop();
    },
    /** Ends every process. */
    close: pool.close,
  };
}
export type Sessions = ReturnType<typeof createSessions>;
