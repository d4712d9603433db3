import { expect, test } from "vitest";
import type { AgentConfig } from "../../../packages/gateway/src/config/index.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import type { OpenOptions, RuntimeSession } from "../../../packages/gateway/src/runtimes/types.ts";
import type { SessionDeps } from "../../../packages/gateway/src/sessions/index.ts";
import { createPool } from "../../../packages/gateway/src/sessions/pool.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";

const REQUEST = { model: undefined, resume: () => undefined, history: () => [] };
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
        const session = { closed: new Promise<void>(() => {}), close: async () => {} } as RuntimeSession;
        starts.push({ options, ready: () => resolve(session) });
      }),
  };
  const pool = createPool({
    clock: manualClock(),
    log: silentLogger,
    agent: () => agent(true),
    runtimeFor: async () => runtime,
    sessionDir: (...names: string[]) => [folder, "sessions", ...names.slice(1)].join("/"),
    models: { contextWindow: () => undefined },
    tools: () => [],
  } as unknown as SessionDeps);
  const started = async (count: number) => {
    while (starts.length < count) await new Promise((resolve) => setImmediate(resolve));
    return starts[count - 1]!;
  };
  return { pool, agent, started };
}

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
