import type { Incident, RuntimeStatus } from "@agent-gateway/contract";
import type { Metric, Registry } from "prom-client";
import type { ConfigStore } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import { createActivity } from "./activity.ts";
import { type ChannelReport, createChannelMetrics } from "./channels.ts";
import { createCounter, createGauge, createHistogram, type Family } from "./families.ts";
import { listProcesses } from "./processes.ts";
import { createStoreMetrics, type StoreDeps } from "./store.ts";

export type { ChannelMetrics, ChannelReport } from "./channels.ts";
export { createDisk, type Disk } from "./disk.ts";
export type { ProcessInfo } from "./processes.ts";

/** A live session as its owner knows it. */
export interface LivePlace {
  readonly agentId: string;
  /** Stored chat id (`api-…`); empty for a spare that no chat has taken yet. */
  readonly chatId: string;
  readonly sessionId: string;
  readonly busy: boolean;
  readonly lastActivity: number;
  readonly spawnedAt: number | null;
  readonly runtime:
    | { readonly pid: number | null; readonly model?: string | undefined; readonly terminal?: object }
    | undefined;
}

export interface MonitoringDeps {
  config: Pick<ConfigStore, "current">;
  clock: Clock;
  version: string;
  /** Every live session, spares among them. */
  places(): Iterable<LivePlace>;
  /** The open incident of a session's turn. */
  incidentOf(sessionId: string): Pick<Incident, "id" | "stage"> | null;
  /** Units handed to the database's writer since the start. */
  dbUnits(): number;
  store: StoreDeps;
  /** Free bytes on the home directory's disk, if known. */
  diskFree(): number | undefined;
  /** Open connections of the HTTP server. */
  connections(): number;
  /** Every connection of an enabled channel. */
  channels(): readonly ChannelReport[] | Promise<readonly ChannelReport[]>;
  /** State of an agent's runtime. */
  runtime(agentId: string): Promise<RuntimeStatus>;
}

/** Seconds. */
const TURN_BOUNDS = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const LATE_BOUNDS = [0.01, 0.1, 1, 10, 60, 600, 3_600, 86_400];
const REQUEST_BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60];

/** The gateway's counters since its start, and its self-reported state. */
export function createMonitoring(deps: MonitoringDeps) {
  const { config, clock, version, places, dbUnits } = deps;
  const startedAt = clock.now();
  const begunAt = clock.elapsed();
  let readers = 0;
  const received = createCounter("agent_gateway_messages_received_total", "Messages received.", ["agent"]);
  const sent = createCounter("agent_gateway_messages_sent_total", "Replies stored.", ["agent"]);
  const turns = createCounter("agent_gateway_turns_total", "Turns that ended.", ["agent", "status"]);
  const turnSeconds = createHistogram(
    "agent_gateway_turn_duration_seconds",
    "Duration of turns.",
    ["agent"],
    TURN_BOUNDS,
  );
  const requests = createCounter("agent_gateway_http_requests_total", "Requests answered.", [
    "method",
    "route",
    "status",
  ]);
  const requestSeconds = createHistogram(
    "agent_gateway_http_request_duration_seconds",
    "Duration of requests, including whole streams.",
    ["method", "route"],
    REQUEST_BOUNDS,
  );
  const writes = createGauge(
    "agent_gateway_db_units_total",
    "Units handed to the database's writer.",
    [],
    () => [[[], dbUnits()]],
    "counter",
  );
  const sessions = createGauge(
    "agent_gateway_live_sessions",
    "Sessions with a process.",
    ["agent", "state"],
    () => {
      const counts = new Map<string, readonly [string[], number]>();
      for (const place of places()) {
        const labels = [place.agentId, place.chatId === "" ? "spare" : place.busy ? "busy" : "idle"];
        const key = labels.join(" ");
        counts.set(key, [labels, (counts.get(key)?.[1] ?? 0) + 1]);
      }
      return counts.values();
    },
  );
  const sse = createGauge("agent_gateway_sse_readers", "Open event streams.", [], () => [[[], readers]]);
  const connections = createGauge(
    "agent_gateway_http_connections",
    "Open connections to the HTTP server.",
    [],
    () => [[[], deps.connections()]],
  );
  const disk = createGauge("agent_gateway_disk_free_bytes", "Free space on the gateway's disk.", [], () => {
    const free = deps.diskFree();
    return free === undefined ? [] : [[[], free]];
  });
  const info = createGauge("agent_gateway_info", "The gateway's version.", ["version"], () => [
    [[version], 1],
  ]);
  const jobRuns = createCounter("agent_gateway_jobs_total", "Runs of jobs that ended.", ["kind", "outcome"]);
  const jobsLate = createHistogram(
    "agent_gateway_job_lateness_seconds",
    "How long after their time jobs began.",
    ["kind"],
    LATE_BOUNDS,
  );
  const activity = createActivity(clock);
  const storeWork = createStoreMetrics(deps.store);
  // What channels report is read from the store. While it does not answer, the rest must be seen all the same.
  const channels = createChannelMetrics(async () => (deps.store.health().ok ? deps.channels() : []));
  const families: Family[] = [
    info,
    requests,
    requestSeconds,
    received,
    sent,
    turns,
    turnSeconds,
    sessions,
    sse,
    connections,
    disk,
    writes,
    ...storeWork.families,
    jobRuns,
    jobsLate,
  ];

  /** Loaded by the first scrape: the library costs nothing if no one scrapes. */
  let library: Promise<{ Registry: typeof Registry; defaults: Registry }> | undefined;
  async function text(): Promise<string> {
    library ??= import("prom-client").then(({ collectDefaultMetrics, Registry }) => {
      const defaults = new Registry();
      collectDefaultMetrics({ register: defaults });
      return { Registry, defaults };
    });
    const { Registry, defaults } = await library;
    const register = new Registry();
    for (const family of [...families, ...(await channels.families())])
      register.registerMetric(family as unknown as Metric);
    return `${await register.metrics()}\n${await defaults.metrics()}`;
  }

  return {
    /** Events from sessions: messages and ends of turns. */
    turns: {
      received(agentId: string) {
        received.add(1, agentId);
        activity.received();
      },
      sent(agentId: string) {
        sent.add(1, agentId);
        activity.sent();
      },
      ended(agentId: string, status: string, ms: number) {
        activity.ended(status, ms);
        turns.add(1, agentId, status);
        turnSeconds.observe(ms / 1000, agentId);
      },
    },
    /** Events from jobs: when they began, and how they ended. */
    jobs: {
      began: (kind: string, lateMs: number) => jobsLate.observe(lateMs / 1000, kind),
      ended: (kind: string, outcome: string) => jobRuns.add(1, kind, outcome),
    },
    /** What the store did. */
    store: { did: storeWork.did, failed: storeWork.failed },
    /** Events from channels: messages, delivery attempts, connections. */
    channels,
    /** An event stream was opened (1) or has ended (-1). */
    onReader(delta: 1 | -1) {
      readers += delta;
    },
    /** A request was answered. `route` is the declared path, not the requested one. */
    onRequest(method: string, route: string, status: number, ms: number) {
      requests.add(1, method, route, String(status));
      requestSeconds.observe(ms / 1000, method, route);
    },

    /** Body of `/status`. Messages are counted since the start. */
    async status() {
      // It may change while something is read.
      const { agents } = config.current;
      const [channelsOf, runtimes] = await Promise.all([
        channels.byAgent(),
        Promise.all(agents.map(({ id }) => deps.runtime(id))),
      ]);
      const live = Map.groupBy(
        [...places()].filter(({ chatId }) => chatId !== ""),
        ({ agentId }) => agentId,
      );
      return {
        status: "ok",
        version,
        startedAt,
        uptime: Math.round(clock.elapsed() - begunAt),
        store: deps.store.health(),
        agents: agents.map(({ id }, index) => ({
          id,
          // An agent that can start accepts messages; its processes start on demand.
          isRunning: runtimes[index]!.problem === null,
          runtime: runtimes[index]!.type,
          problem: runtimes[index]!.problem,
          lastError: runtimes[index]!.lastError,
          sessions: (live.get(id) ?? []).map((place) => ({
            ...describe(place),
            incident: deps.incidentOf(place.sessionId),
          })),
          messagesReceived: received.value(id),
          messagesSent: sent.value(id),
          channels: channelsOf.get(id) ?? {},
        })),
      };
    },
    /** The last 24 hours in steps. */
    activity: activity.report,
    processes: () => listProcesses(),
    /** Prometheus text. */
    metrics: text,
  };
}
export type Monitoring = ReturnType<typeof createMonitoring>;

function describe({ chatId, sessionId, busy, runtime, spawnedAt, lastActivity }: LivePlace) {
  const source = chatId.split("-", 1)[0]!;
  return {
    chatId,
    sessionId,
    source,
    busy,
    pid: runtime?.pid ?? null,
    model: runtime?.model ?? null,
    spawnedAt,
    lastActivity,
    backend: runtime?.terminal ? ("pty" as const) : ("headless" as const),
  };
}
