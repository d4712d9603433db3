import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import {
  type AgentCliOptions,
  createAgentCliRuntime,
} from "../../../../packages/gateway/src/runtimes/agent-cli/index.ts";
import type { OpenOptions, RuntimeSession } from "../../../../packages/gateway/src/runtimes/types.ts";
import { openOptions, runTurn } from "../open-options.ts";

const FAKE = join(import.meta.dirname, "../../../fixtures/fake-agent.mjs");

/** Treats the fake agent like an installed Claude Code. */
export const asClaudeCode = { probe: async () => ({ claudeCode: true, flags: new Set<string>() }) };

export async function ask(session: RuntimeSession, text: string): Promise<string> {
  const { outcome } = await runTurn(session, text);
  expect(outcome.status).toBe("done");
  return outcome.text;
}

/** A folder for the tests of one file, and sessions with the fake agent in it that end with each test. */
export function fakeAgentSuite() {
  const suite = { dir: "" };
  beforeAll(async () => {
    suite.dir = await mkdtemp(join(tmpdir(), "agw-agent-cli-"));
  });
  afterAll(() => rm(suite.dir, { recursive: true, force: true }));

  const open: RuntimeSession[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((session) => session.close()));
  });

  /** Opens a session with the fake agent started with `flags`. */
  async function start(
    flags: string[] = [],
    over: Partial<OpenOptions> = {},
    runtime: Partial<AgentCliOptions> = {},
  ) {
    const { dir } = suite;
    const hostEnv = {
      PATH: process.env.PATH,
      HOME: dir,
      GATEWAY_ADMIN_KEY: "secret",
      ANTHROPIC_API_KEY: "provider",
    };
    const agent = createAgentCliRuntime({
      command: [process.execPath, FAKE, ...flags],
      args: [],
      hostEnv,
      ...runtime,
    });
    const session = await agent.open(openOptions({ cwd: dir, sessionDir: dir, ...over }));
    open.push(session);
    return session;
  }
  return { suite, start };
}
