import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import type { AgentConfig } from "../../../packages/gateway/src/config/index.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import type { OpenOptions, RuntimeSession } from "../../../packages/gateway/src/runtimes/types.ts";
import type { SessionDeps } from "../../../packages/gateway/src/sessions/index.ts";
import { createPool } from "../../../packages/gateway/src/sessions/pool.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";

const REQUEST = { model: undefined, resume: async () => undefined, history: async () => [] };
const SESSION = { chatId: "api-me", sessionId: "s" };

async function rig() {
  const folder = await tempFolder();
  const starts: Array<{ options: OpenOptions; ready(): void }> = [];
  const agent = (allowTools: boolean, maxConcurrent = 1) =>
    ({
      id: "a",
      workspace: folder,
      allowTools,
      runtime: { type: "acp" },
      env: {},
      session: { maxConcurrent, warmSpares: 0, idleTimeoutMinutes: 5 },
    }) as unknown as AgentConfig;
  const runtime = {
    type: "acp",
    open: (options: OpenOptions) =>
      new Promise<RuntimeSession>((resolve) => {
        const close = async () => void closed.push(options);
        const session = { closed: new Promise<void>(() => {}), close } as RuntimeSession;
        starts.push({ options, ready: () => resolve(session) });
      }),
  };
  const clock = manualClock();
  const servers: { now: OpenOptions["mcpServers"] } = { now: {} };
  const closed: OpenOptions[] = [];
  const pool = createPool({
    clock,
    log: silentLogger,
    agent: () => agent(true),
    runtimeFor: async () => runtime,
    sessionDir: (...names: string[]) => [folder, "sessions", ...names.slice(1)].join("/"),
    models: { contextWindow: () => undefined },
    tools: () => [],
    toolServers: async () => ({ servers: servers.now, note: undefined }),
  } as unknown as SessionDeps);
  const started = async (count: number) => {
    while (starts.length < count) await new Promise((resolve) => setImmediate(resolve));
    return starts[count - 1]!;
  };
  return { pool, agent, started, clock, servers, closed, folder };
}

test("a session that goes while its process starts gets no folder back [HOLD-5]", async () => {
  const { pool, agent, started, folder } = await rig();
  const early = pool.reserve(agent(true), SESSION);
  const opening = pool.runtime(early, REQUEST).catch(() => "given up");
  await pool.drop(early);
  expect(await opening).toBe("given up");
  expect(existsSync(`${folder}/sessions`)).toBe(false);
  // As a turn does that was stopped between its look and the start.
  const late = pool.reserve(agent(true), SESSION);
  await pool.drop(late);
  expect(await pool.runtime(late, REQUEST).catch(() => "given up")).toBe("given up");
  expect(existsSync(`${folder}/sessions`)).toBe(false);
  // Whoever drops it waits for a start that is making the folder.
  const starting = pool.reserve(agent(true), SESSION);
  const reopening = pool.runtime(starting, REQUEST).catch(() => "given up");
  const start = await started(1);
  let dropped = false;
  const drop = pool.drop(starting).then(() => {
    dropped = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(dropped).toBe(false);
  start.ready();
  await drop;
  expect(await reopening).toBe("given up");
});

test("a process that starts while its agent changes serves no turn of the changed agent [FAULT-6]", async () => {
  const { pool, agent, started } = await rig();
  const restarted = pool.reserve(agent(true), SESSION);
  const reopening = pool.runtime(restarted, REQUEST).catch(() => "given up");
  const before = await started(1);
  const changed = agent(false);
  expect(pool.hasRoom(changed, "s")).toBe(true);
  const place = pool.reserve(changed, SESSION);
  const opening = pool.runtime(place, REQUEST);
  before.ready();
  expect(await reopening).toBe("given up");
  const now = await started(2);
  now.ready();
  await opening;
  expect(now.options.allowTools).toBe(false);
  pool.release(restarted);
  expect(pool.get("s")).toBe(place);
});

test("a process that writes between its turns is not idle [SES-11]", async () => {
  const { pool, agent, started, clock, closed } = await rig();
  const place = pool.reserve(agent(true), SESSION);
  const opening = pool.runtime(place, REQUEST);
  const { options, ready } = await started(1);
  ready();
  await opening;
  pool.release(place);
  for (let minute = 1; minute <= 12; minute++) {
    clock.advance(60_000);
    if (minute <= 8) options.onOutput!();
    expect(closed.length, `after ${minute} minutes`).toBe(0);
    expect(place.lastActivity).toBe(clock.now() - Math.max(0, minute - 8) * 60_000);
  }
  clock.advance(60_000);
  expect(closed).toEqual([options]);
  expect(pool.get("s")).toBeUndefined();
});

test("a process is idle from the end of its latest turn, however many it had [SES-11]", async () => {
  const { pool, agent, started, clock, closed } = await rig();
  const place = pool.reserve(agent(true), SESSION);
  const opening = pool.runtime(place, REQUEST);
  (await started(1)).ready();
  await opening;
  for (let turn = 1; turn <= 3; turn++) {
    expect(pool.reserve(agent(true), SESSION)).toBe(place);
    clock.advance(10 * 60_000);
    pool.release(place);
    clock.advance(4 * 60_000);
    expect(closed.length, `after turn ${turn}`).toBe(0);
  }
  clock.advance(60_000);
  expect(closed.length).toBe(1);
  expect(clock.timers()).toBe(0);
});

test("a turn waits for a process with the tool servers of now, and keeps one that has them [CONN-6]", async () => {
  const { pool, agent, started, servers, closed } = await rig();
  const place = pool.reserve(agent(true), SESSION);
  const first = pool.runtime(place, REQUEST);
  const before = await started(1);
  before.ready();
  const live = await first;
  servers.now = { crm: { url: "http://127.0.0.1/" } };
  const next = pool.runtime(place, REQUEST);
  const after = await started(2);
  expect(closed).toEqual([before.options]);
  expect(after.options.mcpServers).toEqual(servers.now);
  after.ready();
  expect(await next).not.toBe(live);
  servers.now = { crm: { url: "http://127.0.0.1/" } };
  expect(await pool.runtime(place, REQUEST)).toBe(await next);
});
