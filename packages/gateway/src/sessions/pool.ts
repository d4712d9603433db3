import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { GatewayError } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import { createBell } from "../lib/bell.ts";
import { sleep } from "../lib/clock.ts";
import { makeFolder, makeFolderBelow, namesBelow, removeFolderBelow } from "../lib/guarded/index.ts";
import { createSlots } from "../lib/slots.ts";
import type { OpenOptions, RuntimeSession } from "../runtimes/index.ts";
import { instructionsOf } from "./instructions.ts";
import { NO_TURN, type OpenRequest, type Place, sameProcess, touch } from "./place.ts";
import type { SessionDeps, ToolScope } from "./ports.ts";

/** Limit on processes that start at the same time: a burst of starts takes far longer than a queue. */
const CLOSED_MEANWHILE = "The session was closed while its agent was starting.";
const SPAWN_PARALLEL = 2;
/** Folder for the files of spare processes, in place of a chat's folder. */
const SPARE_CHAT = ".spare";
/** `sessions/<chat>/<session>` in the agent's folder. */
export const SESSION_DEPTH = 3;
const MAX_SWEPT = 10_000;
/** A process that is ended for another is gone by then, or is not waited for any longer. */
const RENEW_MS = 5_000;

/** The live processes: one per session, limited per agent, evicted and ended when idle. */
export function createPool(
  deps: SessionDeps,
  occupied: (place: Place, until: Promise<void>) => void = () => {},
) {
  const { clock, log } = deps;
  const places = new Map<string, Place>();
  const idleTimers = new Map<Place, () => void>();
  const closing = new Set<Promise<void>>();
  const freed = createBell(clock);
  const spawnSlot = createSlots(SPAWN_PARALLEL);
  const headless = new Set<string>();
  let stopped = false;

  const cancelIdle = (place: Place) => {
    idleTimers.get(place)?.();
    idleTimers.delete(place);
  };

  /** What {@link close} waits for. */
  const track = (work: Promise<unknown>) => {
    const settled = work.then(
      () => {},
      () => {},
    );
    closing.add(settled);
    void settled.then(() => closing.delete(settled));
  };
  const dropSpareDir = async ({ spareDir, sessionId }: Place) => {
    if (spareDir === undefined) return;
    await removeFolderBelow(spareDir, SESSION_DEPTH).catch((error) =>
      log.warn({ err: error, session: sessionId }, "could not remove a spare process's folder"),
    );
  };

  /** Gives up the place at once and ends its process in the background. */
  const drop = (place: Place): Promise<void> => {
    if (places.get(place.sessionId) === place) {
      places.delete(place.sessionId);
      freed.ring(place.agentId);
    }
    cancelIdle(place);
    place.abort.abort();
    // A start in progress fails with the abort, and leaves no process; it may be making the session's folder.
    const opening = place.opening?.catch(() => {});
    const runtime = place.runtime;
    place.runtime = undefined;
    const done = Promise.all([runtime?.close(), opening])
      .catch((error) => log.warn({ err: error, session: place.sessionId }, "could not end an agent process"))
      .then(() => dropSpareDir(place));
    track(done);
    return done;
  };

  const armIdle = (place: Place) => {
    cancelIdle(place);
    if (place.chatId === "") return;
    const idleMs = (deps.agent(place.agentId) ?? place.agent).session.idleTimeoutMinutes * 60_000;
    const wait = Math.max(0, place.idleSince + idleMs - clock.elapsed());
    idleTimers.set(
      place,
      clock.after(wait, () => {
        if (place.busy || places.get(place.sessionId) !== place) return;
        if (clock.elapsed() - place.idleSince < idleMs) return armIdle(place);
        log.info({ agent: place.agentId, session: place.sessionId }, "ended the process of an idle session");
        void drop(place);
      }),
    );
  };

  /** What must be given up to make room for one more place, oldest first; undefined while too few are idle. */
  const surplusOf = (agent: AgentConfig, besides?: Place): Place[] | undefined => {
    const mine = [...places.values()].filter((place) => place.agentId === agent.id && place !== besides);
    // More than one if the limit was lowered.
    const surplus = mine.length + 1 - agent.session.maxConcurrent;
    if (surplus <= 0) return [];
    const idle = mine.filter((place) => !place.busy).sort((a, b) => a.idleSince - b.idleSince);
    return idle.length < surplus ? undefined : idle.slice(0, surplus);
  };

  const evictFor = (agent: AgentConfig) => {
    const surplus = surplusOf(agent);
    if (!surplus) {
      throw new GatewayError(
        "CAPACITY",
        "All of this agent's sessions are busy; try again in a few seconds.",
        {
          headers: { "Retry-After": "5" },
        },
      );
    }
    for (const oldest of surplus) {
      log.info({ agent: agent.id, session: oldest.sessionId }, "evicted the oldest idle session");
      void drop(oldest);
    }
  };

  const openRuntime = async (place: Place, request: OpenRequest): Promise<RuntimeSession> => {
    const agent = place.agent;
    const { signal } = place.abort;
    const runtime = await deps.runtimeFor(agent);
    // A deleted session must not get its folder back.
    if (signal.aborted) throw new Error(CLOSED_MEANWHILE);
    await Promise.all([makeFolder(agent.workspace), makeFolderBelow(place.scope.sessionDir, SESSION_DEPTH)]);
    const { servers: mcpServers, note } = await deps.toolServers(agent, runtime.type, true);
    if (signal.aborted) throw new Error(CLOSED_MEANWHILE);
    const instructions = [await instructionsOf(agent, log), note].filter(Boolean).join("\n\n") || undefined;
    const release = await spawnSlot();
    try {
      const resume = await request.resume(runtime.type);
      const history = await request.history();
      if (signal.aborted) throw new Error(CLOSED_MEANWHILE);
      const acting = async () => place.scope.acting?.();
      const options: OpenOptions = {
        agentId: agent.id,
        sessionId: place.sessionId,
        cwd: agent.workspace,
        sessionDir: place.scope.sessionDir,
        model: request.model,
        contextWindow: request.model === undefined ? undefined : deps.models.contextWindow(request.model),
        env: agent.env,
        allowTools: agent.allowTools,
        instructions,
        resume,
        history,
        tools: deps.tools(place.scope).map((tool) => ({
          ...tool,
          call: async (args) => {
            await acting();
            return tool.call(args);
          },
        })),
        mcpServers,
        acting,
        headless: headless.has(place.sessionId),
        onOutput: () => touch(place, clock),
        onOccupied: (until) => occupied(place, until),
        log: log.child({ agent: agent.id, session: place.sessionId }),
        clock,
        signal,
      };
      place.startedAt = clock.elapsed();
      const session = await runtime.open(options);
      if (signal.aborted) {
        await session.close();
        throw new Error(CLOSED_MEANWHILE);
      }
      place.runtime = session;
      place.runtimeType = runtime.type;
      place.model = request.model;
      place.mcpServers = mcpServers;
      place.spawnedAt = clock.now();
      void session.closed.then(() => {
        if (place.runtime !== session) return;
        place.runtime = undefined;
        if (!place.busy) void drop(place);
      });
      return session;
    } finally {
      release();
    }
  };

  const newPlace = (agent: AgentConfig, chatId: string, sessionId: string): Place => {
    const dir = deps.sessionDir(agent.id, chatId === "" ? SPARE_CHAT : chatId, sessionId);
    const place: Place = {
      agentId: agent.id,
      chatId,
      sessionId,
      busy: true,
      lastActivity: clock.now(),
      idleSince: clock.elapsed(),
      spawnedAt: null,
      startedAt: undefined,
      runtime: undefined,
      opening: undefined,
      runtimeType: undefined,
      model: undefined,
      mcpServers: {},
      agent,
      scope: { agentId: agent.id, chatId, sessionId, sessionDir: dir, ...NO_TURN },
      spareDir: chatId === "" ? dir : undefined,
      abort: new AbortController(),
    };
    places.set(sessionId, place);
    return place;
  };

  /** Starts spare processes for `agent` until it has the configured number, as far as there is room. */
  const fillSpares = (agent: AgentConfig) => {
    if (stopped) return;
    const mine = [...places.values()].filter((place) => place.agentId === agent.id);
    const missing = agent.session.warmSpares - mine.filter((place) => place.chatId === "").length;
    const room = agent.session.maxConcurrent - mine.length;
    for (let count = Math.min(missing, room); count > 0; count--) {
      const place = newPlace(agent, "", randomUUID());
      place.busy = false;
      open(place, { model: agent.model, resume: async () => undefined, history: async () => [] }).catch(
        (error) => {
          log.warn({ err: error, agent: agent.id }, "could not start a spare process");
          void drop(place);
        },
      );
    }
  };

  /** One start per place at a time: callers that need the process meanwhile wait for the same one. */
  const open = (place: Place, request: OpenRequest): Promise<RuntimeSession> => {
    if (place.opening) return place.opening;
    place.startedAt = undefined;
    const opening = openRuntime(place, request).finally(() => {
      if (place.opening === opening) place.opening = undefined;
    });
    place.opening = opening;
    return opening;
  };

  return {
    /** Every place, including spares (whose `chatId` is empty). */
    places: (): Place[] => [...places.values()],
    get: (sessionId: string) => places.get(sessionId),

    /** True if `reserve` would find a place for the session; without an id, for a new one. */
    hasRoom(agent: AgentConfig, sessionId: string | undefined): boolean {
      const known = sessionId === undefined ? undefined : places.get(sessionId);
      if (known && sameProcess(known.agent, agent)) return true;
      return surplusOf(agent, known) !== undefined;
    },
    /** Resolves when a place of the agent may have become free, after `ms`, or when `signal` aborts. */
    freed: freed.wait,
    /** Wakes everyone who waits for a place, to check again. */
    ringAll: freed.ringAll,

    /**
     * Takes the session's place for a turn, synchronously. Evicts the oldest idle session of the agent when all places
     * are taken. Throws `CAPACITY` when all are busy. The caller returns the place with `release`.
     */
    reserve(agent: AgentConfig, session: Pick<ToolScope, "chatId" | "sessionId">): Place {
      if (stopped) throw new GatewayError("UNAVAILABLE", "The gateway is stopping.");
      const known = places.get(session.sessionId);
      // Also one that is still starting after a restart: its conversation is out of date.
      if (known && !sameProcess(known.agent, agent)) void drop(known);
      let place = places.get(session.sessionId);
      if (!place) {
        evictFor(agent);
        place = newPlace(agent, session.chatId, session.sessionId);
      }
      place.agent = agent;
      place.busy = true;
      cancelIdle(place);
      return place;
    },

    /** The place's process with the wanted model and tool servers, started if there is none. Rejects with a user-facing message. */
    async runtime(place: Place, request: OpenRequest): Promise<RuntimeSession> {
      const live = place.opening ? await place.opening : place.runtime;
      if (live) {
        const { servers } = await deps.toolServers(place.agent, place.runtimeType, false);
        if (!request.anew && isDeepStrictEqual(servers, place.mcpServers)) {
          if (request.model === place.model || request.model === undefined) return live;
          if (await live.setModel(request.model)) {
            place.model = request.model;
            return live;
          }
        }
        place.runtime = undefined;
        await live.close();
      }
      return open(place, request);
    },

    /**
     * Ends the process of a place, or its start, so that `runtime` starts another. Resolves when it is gone, or after five
     * seconds. Does nothing to a place that was given up.
     */
    async renew(place: Place): Promise<void> {
      if (places.get(place.sessionId) !== place) return;
      const { opening, runtime } = place;
      place.abort.abort();
      Object.assign(place, { abort: new AbortController(), opening: undefined, runtime: undefined });
      const over = new AbortController();
      track(Promise.allSettled([opening, runtime?.close()]).then(() => over.abort()));
      await sleep(clock, RENEW_MS, over.signal);
    },

    /** Sessions whose next processes have no terminal, whatever the configuration says. */
    headless,
    release(place: Place) {
      place.busy = false;
      touch(place, clock);
      Object.assign(place.scope, NO_TURN);
      if (stopped || !place.runtime) void drop(place);
      else armIdle(place);
      freed.ring(place.agentId);
    },

    drop,
    fillSpares,

    /** Removes the folders of spare processes that an earlier run left. */
    async sweepSpares(agentId: string) {
      const folder = dirname(deps.sessionDir(agentId, SPARE_CHAT, "-"));
      const names = await namesBelow(folder, SESSION_DEPTH - 1, MAX_SWEPT).catch(() => []);
      // Checked last: a spare process may have started meanwhile.
      const own = new Set([...places.values()].map(({ spareDir }) => spareDir));
      const left = names.map((name) => join(folder, name)).filter((path) => !own.has(path));
      await Promise.allSettled(left.map((path) => removeFolderBelow(path, SESSION_DEPTH)));
    },

    /**
     * Gives a ready spare process to a new session of `chatId`, which takes over the spare's id; no one else gets it.
     * Undefined when there is none. The session may lose the process again, but never the id.
     */
    takeSpare(agent: AgentConfig, chatId: string): string | undefined {
      const place = [...places.values()].find(
        (candidate) =>
          candidate.agentId === agent.id &&
          candidate.chatId === "" &&
          candidate.runtime &&
          sameProcess(candidate.agent, agent),
      );
      if (!place || stopped) return undefined;
      place.chatId = chatId;
      place.scope.chatId = chatId;
      place.scope.sessionDir = deps.sessionDir(agent.id, chatId, place.sessionId);
      touch(place, clock);
      armIdle(place);
      makeFolderBelow(place.scope.sessionDir, SESSION_DEPTH).catch((error) =>
        log.warn({ err: error, session: place.sessionId }, "could not create the session's folder"),
      );
      fillSpares(agent);
      return place.sessionId;
    },

    /** Applies a new configuration: idle times, and processes whose agent is gone or has changed. */
    reconfigure() {
      for (const place of [...places.values()]) {
        if (place.busy) continue;
        const agent = deps.agent(place.agentId);
        if (!agent || !sameProcess(place.agent, agent)) void drop(place);
        else armIdle(place);
      }
      // A limit may have been raised.
      freed.ringAll();
    },

    /** Reserves and starts nothing more. */
    refuse() {
      stopped = true;
    },

    /** Ends the processes that no turn is using. */
    dropIdle() {
      for (const place of [...places.values()]) if (!place.busy) void drop(place);
    },

    /** Ends every process. Resolves when all are gone. */
    async close() {
      stopped = true;
      for (const place of [...places.values()]) void drop(place);
      await Promise.all(closing);
    },
  };
}
export type Pool = ReturnType<typeof createPool>;
