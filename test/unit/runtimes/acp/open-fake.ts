import { resolve } from "node:path";
import { onTestFinished } from "vitest";
import { createAcpRuntime } from "../../../../packages/gateway/src/runtimes/acp/index.ts";
import type { OpenOptions } from "../../../../packages/gateway/src/runtimes/types.ts";
import { tempFolder } from "../../../fixtures/temp-home.ts";
import { openOptions } from "../open-options.ts";

const AGENT = resolve(import.meta.dirname, "../../../fixtures/fake-acp-agent.mjs");

/** Opens a session with the scripted agent; `agent` is its own setting. */
export async function openFake(agent: object = {}, over: Partial<OpenOptions> = {}) {
  const runtime = createAcpRuntime({
    command: [process.execPath, AGENT],
    args: [],
    hostEnv: { PATH: process.env.PATH, GATEWAY_API_KEY: "hidden", OPENAI_API_KEY: "passed" },
  });
  const env = { FAKE_ACP: JSON.stringify(agent), ...over.env };
  const session = await runtime.open(openOptions({ sessionDir: await tempFolder(), ...over, env }));
  onTestFinished(() => session.close());
  return session;
}
