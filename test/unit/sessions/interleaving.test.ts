import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { it, vi } from "vitest";
import { INCIDENT_STAGES } from "../../../packages/contract/src/index.ts";
import type { AgentConfig } from "../../../packages/gateway/src/config/index.ts";
import { createHealing } from "../../../packages/gateway/src/healing/index.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import type {
  HistoryEntry,
  OpenOptions,
  Runtime,
  RuntimeEvent,
  RuntimeSession,
  TurnOutcome,
} from "../../../packages/gateway/src/runtimes/types.ts";
import { createSessions, type SessionDeps, type Turn } from "../../../packages/gateway/src/sessions/index.ts";
import { change } from "../../../packages/gateway/src/store/change.ts";
import type { SessionRow } from "../../../packages/gateway/src/store/index.ts";
import type { Database } from "../../../packages/gateway/src/store/sqlite/database.ts";
import { migrate } from "../../../packages/gateway/src/store/sqlite/schema.ts";
import type { Statement } from "../../../packages/gateway/src/store/statement.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { createStore } from "../../fixtures/memory-db.ts";
import { everyOrder, RUNS, RUNS_TIMEOUT } from "../../fixtures/orders.ts";

// Folders and files are other tests' business: here they are there at once.
vi.mock(import("../../../packages/gateway/src/lib/guarded/folder.ts"), async (original) => ({
  ...(await original()),
  makeFolder: async () => {},
}));
vi.mock(import("../../../packages/gateway/src/lib/guarded/tree.ts"), async (original) => ({
  ...(await original()),
  makeFolderBelow: async () => {},
  removeFolderBelow: async () => {},
  removeFolderSoon: async () => {},
  namesBelow: async () => [],
}));
vi.mock(import("../../../packages/gateway/src/lib/guarded/read.ts"), async (original) => ({
  ...(await original()),
  readInside: async () => Buffer.from("Be kind."),
  readNamed: async () => Buffer.from("Be kind."),
}));

const STEPS = 45;
const CAPACITY = 3;

const raw = new DatabaseSync(":memory:");
migrate(raw);
const TABLES = ["messages", "turn_parts", "turns", "sessions", "chats"];

/** mulberry32. */
function randomFrom(seed: number) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return {
    below: (n: number) => Math.floor(next() * n),
    pick: <T>(list: readonly T[]) => list[Math.floor(next() * list.length)],
  };
}

/** What the agent's program does is decided step by step. */
interface Program {
  emit: ((event: RuntimeEvent) => void) | undefined;
  end: ((outcome: TurnOutcome) => void) | undefined;
  /** `gone`: by itself. */
  die(gone?: boolean): void;
  closed: boolean;
}

const settle = async () => {
  for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve));
};

async function run(seed: number, watched = false): Promise<void> {
  const random = randomFrom(seed);
  const clock = manualClock();
  for (const table of TABLES) raw.exec(`DELETE FROM ${table}`);
  const wrong: string[] = [];
  const writes: Array<() => void> = [];
  const reads: Array<() => void> = [];
  const opens: Array<(works: boolean) => void> = [];
  const programs: Program[] = [];
  /** Messages of which something came. */
  const came = new Set<string>();
  let refused = false;

  const execute = (statements: readonly Statement[]) => {
    raw.exec("BEGIN");
    try {
      const results = statements.map(({ sql, params }) => {
        const { changes, lastInsertRowid } = raw.prepare(sql).run(...(params as SQLInputValue[]));
        return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid), rows: [] };
      });
      raw.exec("COMMIT");
      return results;
    } catch (error) {
      raw.exec("ROLLBACK");
      wrong.push(`a write failed: ${(error as Error).message}`);
      throw error;
    }
  };
  const all = (sql: string, params: SQLInputValue[] = []) => raw.prepare(sql).all(...params);
  const db = {
    all,
    /** Answers later, with what it saw either now or then. */
    read: (sql: string, params?: SQLInputValue[]) =>
      new Promise((resolve) => {
        const seen = random.below(2) === 0 ? all(sql, params) : undefined;
        reads.push(() => resolve(seen ?? all(sql, params)));
      }),
    write: (...statements: readonly Statement[]) =>
      new Promise((resolve, reject) =>
        writes.push(() => {
          try {
            resolve(execute(statements));
          } catch (error) {
            reject(error as Error);
          }
        }),
      ),
  } as unknown as Database;

  const openProgram = (history: readonly HistoryEntry[]): RuntimeSession => {
    const told = new Set(history.filter(({ role }) => role === "user").map(({ text }) => text));
    const ended = Promise.withResolvers<void>();
    const program: Program = {
      emit: undefined,
      end: undefined,
      closed: false,
      die(gone = true) {
        program.closed = true;
        ended.resolve();
        program.end?.({ status: "failed", text: "", error: "gone", ...(gone && { gone }) });
      },
    };
    programs.push(program);
    return {
      pid: 1,
      resumeToken: null,
      primed: false,
      closed: ended.promise,
      turn({ text }, emit) {
        if (told.has(text) && !watched) wrong.push("a message was told twice");
        if (came.has(text)) wrong.push("a message was told again after something came of it");
        told.add(text);
        for (const known of told) {
          const rows = all("SELECT 1 FROM messages WHERE content = ?", [known]);
          if (rows.length === 0) wrong.push("a program knows what was cleared");
        }
        if (program.end) wrong.push("two turns in one program");
        if (refused) wrong.push("a turn began after the stop");
        if (program.closed)
          return Promise.resolve({ status: "failed", text: "", error: "gone", unread: true, gone: true });
        program.emit = (event) => {
          came.add(text);
          emit(event);
        };
        return new Promise((resolve) => {
          program.end = (outcome) => {
            program.end = undefined;
            if (outcome.status === "done") came.add(text);
            resolve(outcome);
          };
        });
      },
      async interrupt() {
        if (watched && random.below(2) === 0) program.end?.({ status: "interrupted", text: "" });
      },
      setModel: async () => true,
      contextPercent: async () => undefined,
      compact: async () => null,
      async close() {
        program.die(false);
      },
    };
  };
  const runtime = {
    type: "agent-cli",
    open: ({ signal, history }: OpenOptions) =>
      new Promise<RuntimeSession>((resolve, reject) => {
        opens.push((works) => {
          if (works && !signal.aborted) resolve(openProgram(history));
          else reject(new Error("It did not start."));
        });
      }),
  } as unknown as Runtime;
  const agent = {
    id: "a",
    workspace: "/nowhere",
    env: {},
    allowTools: true,
    runtime: {},
    session: { maxConcurrent: CAPACITY, warmSpares: random.below(3), idleTimeoutMinutes: 1 },
    history: { maxHistoryMessages: 50 },
  } as unknown as AgentConfig;
  const config = { gateway: { turns: { hardCapMs: 100_000, retainMs: 1_000 } }, agents: [agent] };
  const incidents: Array<[type: string, id: unknown]> = [];
  const healing = createHealing({
    settings: () => ({
      enabled: watched,
      autoRecover: seed % 3 > 0,
      stages: INCIDENT_STAGES,
      maxPerTurn: seed % 4,
      cooldownSeconds: seed % 5,
      quietSeconds: 20,
      readySeconds: 10,
    }),
    running: () => sessions.allRunning(),
    clock,
    log: silentLogger,
    tell: ({ type, data }) => incidents.push([type, data.incidentId]),
    say() {},
    leavesDialogs: false,
    mask: (text) => text,
  });
  const sessions = createSessions({
    store: createStore(db),
    clock,
    log: silentLogger,
    config: () => config,
    agent: () => agent,
    runtimeFor: async () => runtime,
    sessionDir: () => "/nowhere/sessions/chat/id",
    media: {
      resolveUpload: async () => ({ path: "", mime: "" }),
      storeImage: async () => "image.png",
      attachmentUrl: () => "/api/v1/agents/a/media/image.png",
    },
    history: {
      clear: (session: number) =>
        change({ sql: "DELETE FROM messages WHERE session = ?", params: [session] }),
      emptySession: async () => {},
    },
    models: { contextWindow: () => undefined },
    tools: () => [],
    toolServers: async () => ({ servers: {}, note: undefined }),
    counters: { received() {}, sent() {}, ended() {} },
    usage: { record: () => ({ change: [] }) },
    cutOff: () => [],
    feed: { event: () => change() },
    watch: healing.watch,
    step() {},
  } as unknown as SessionDeps);

  const turns: Turn[] = [];
  const known: string[] = [];
  /** Sessions that were cleared or removed. */
  const wiped = new Set<string>();
  const working: Promise<unknown>[] = [];
  const allowed = new Set(["SESSION_BUSY", "CAPACITY", "UNAVAILABLE", "SESSION_NOT_FOUND", "AGENT_FAILED"]);
  // What a person asks for may come too late.
  if (watched) for (const code of ["CONFLICT", "INVALID_REQUEST"]) allowed.add(code);
  let request = 0;
  const textOf = (requestId: string) => `question of ${requestId}`;
  const track = (work: Promise<unknown>) => {
    working.push(
      work.catch((error: { code?: string; message: string }) => {
        if (!allowed.has(error.code ?? "")) wrong.push(`refused with ${error.code}: ${error.message}`);
      }),
    );
  };
  /** What the row says may be out of date by the time that it is used. */
  const withRow = (use: (row: SessionRow) => Promise<unknown>) => {
    const id = random.pick(known);
    if (id === undefined) return;
    if (use === sessions.clear || use === sessions.remove) wiped.add(id);
    track(sessions.find("a", "api-c", id).then((row) => row && use(row)));
  };
  const send = (sessionId: string | undefined) => {
    const n = request++;
    const done = sessions
      .send({
        agent,
        requestId: `r${seed}-${n}`,
        chatId: "api-c",
        sessionId,
        text: textOf(`r${seed}-${n}`),
        softMs: 60_000,
        ...(n % 2 === 0 && { closing: () => [] }),
      })
      .then((turn) => {
        turns.push(turn);
        if (!known.includes(turn.sessionId)) known.push(turn.sessionId);
      });
    track(done);
  };
  const program = () => random.pick(programs);
  const actions: Array<() => void> = [
    () => send(undefined),
    () => send(random.pick(known)),
    () => send(random.pick(known)),
    () => track(sessions.create(agent, "api-c", {}).then(({ sessionId }) => known.push(sessionId))),
    () => writes.shift()?.(),
    () => writes.shift()?.(),
    () => writes.shift()?.(),
    ...Array.from({ length: 4 }, () => () => reads.splice(random.below(reads.length), 1)[0]?.()),
    () => opens.splice(random.below(opens.length), 1)[0]?.(random.below(8) > 0),
    () => opens.splice(random.below(opens.length), 1)[0]?.(true),
    () => program()?.emit?.({ type: "text", text: `t${random.below(9)} ` }),
    () => program()?.emit?.({ type: "tool_use", name: "x", id: `i${random.below(99)}` }),
    () => program()?.end?.({ status: random.pick(["done", "interrupted", "failed"] as const)!, text: "" }),
    () => program()?.die(),
    () => clock.advance(random.pick([1, 30, 70, 1_600, 8_000, 61_000])!),
    () => withRow(random.pick([sessions.stop, sessions.remove, sessions.clear])!),
    () => withRow((row) => sessions.restart(agent, row)),
    () => sessions.reconfigure(),
  ];
  const actOnOne = () => {
    const one = random.pick(healing.list("a").filter(({ closedAt }) => closedAt === null));
    if (one) track(healing.act("a", one.id, random.pick(["restart", "resend"] as const)!));
  };
  if (watched)
    actions.push(
      actOnOne,
      actOnOne,
      () => clock.advance(21_000),
      () => program()?.die(),
    );

  void sessions.fillSpares();
  for (let n = 0; n < STEPS; n++) {
    random.pick(actions)!();
    // Now and then several things happen before anyone can look.
    if (random.below(3) > 0) await settle();
    if (sessions.places().length > CAPACITY) wrong.push("more places than the agent may have");
  }

  refused = random.below(2) === 0;
  if (refused) sessions.refuse();
  const stopping = sessions.stopAll();
  refused = true;
  let over = false;
  const end = stopping
    .then(() => sessions.close())
    .then(() => Promise.all(working))
    .then(() => {
      over = true;
    });
  for (let n = 0; n < 200 && !over; n++) {
    while (writes.length > 0) writes.shift()!();
    while (reads.length > 0) reads.shift()!();
    while (opens.length > 0) opens.shift()!(true);
    await settle();
    clock.advance(n < 20 ? 100 : 10_000);
  }
  if (!over) wrong.push("the stop does not end");
  else await end;

  // Whatever comes late changes nothing any more.
  for (const one of programs) one.emit?.({ type: "text", text: "late" });
  clock.advance(1_000);
  clock.advance(3_600_000);
  await settle();
  if (writes.length > 0) wrong.push(`${writes.length} writes after the end`);
  if (clock.timers() > 0) wrong.push(`${clock.timers()} timers after the end`);
  if (programs.some(({ closed }) => !closed)) wrong.push("a program was left");
  if (sessions.places().length > 0) wrong.push("a place was left");
  for (const { id, closedAt } of healing.list("a")) {
    const told = incidents.filter(([, of]) => of === id).map(([type]) => type);
    if (closedAt === null || told.join() !== "incident.opened,incident.closed")
      wrong.push(`an incident is not opened and closed once: ${told}`);
  }
  if (known.some((id) => healing.openOf(id) !== null)) wrong.push("a turn is watched after its end");
  const count = (sql: string) => Number(Object.values(raw.prepare(sql).get()!)[0]);
  if (count("SELECT count(*) FROM turns WHERE state = 'running'") > 0) wrong.push("a turn's row is open");
  if (count("SELECT count(*) FROM turn_parts") > 0) wrong.push("parts of a text were left");
  if (count("SELECT count(*) FROM messages WHERE session NOT IN (SELECT id FROM sessions)") > 0)
    wrong.push("messages of a removed session were left");
  for (const turn of turns) {
    if (!wiped.has(turn.sessionId)) {
      const own =
        "SELECT 1 FROM messages m JOIN sessions s ON s.id = m.session WHERE s.uuid = ? AND content = ?";
      if (all(own, [turn.sessionId, textOf(turn.requestId)]).length !== 1) wrong.push("a message was lost");
    }
    const result = await Promise.race([turn.done, settle().then(() => undefined)]);
    if (!result) wrong.push("a turn has no end");
    else if (!turn.log.ended) wrong.push("a turn's log has no end");
    else if (turn.log.text.includes("late")) wrong.push("a late event was taken");
    else if (result.stored && result.status !== "done" && result.text !== turn.log.text)
      wrong.push("what was stored is not what was shown");
  }
  if (wrong.length > 0) throw new Error([...new Set(wrong)].join("; "));
}

it(
  `${RUNS} interleavings of start, stop, end, late events, close, eviction and spares keep every rule [TURN-30, HOLD-1, HOLD-6]`,
  () => everyOrder(run),
  RUNS_TIMEOUT,
);

it(
  `${RUNS} interleavings of stop, end, exit, restart, the watchdog's acts and a person's: each incident closes once, and nothing is told again after something came of it [HEAL-12]`,
  () => everyOrder((seed) => run(seed, true)),
  RUNS_TIMEOUT,
);
