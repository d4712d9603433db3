import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RuntimeAgent, RuntimeFactoryDeps } from "./deps.ts";
import type { OfferedModels, Runtime } from "./types.ts";

/** Starts an otherwise unused session of the agent's program to get the models it offers. Never rejects. */
export async function askModels(
  runtime: Runtime,
  agent: RuntimeAgent,
  { clock, log }: Pick<RuntimeFactoryDeps, "clock" | "log">,
  signal: AbortSignal,
): Promise<OfferedModels | null> {
  const dir = await mkdtemp(join(tmpdir(), "agent-gateway-models-"));
  try {
    const session = await runtime.open({
      agentId: agent.id,
      sessionId: randomUUID(),
      cwd: agent.workspace ?? dir,
      sessionDir: dir,
      model: undefined,
      contextWindow: undefined,
      env: agent.env,
      allowTools: agent.allowTools ?? true,
      instructions: undefined,
      resume: undefined,
      history: [],
      tools: [],
      mcpServers: {},
      log: log.child({ agent: agent.id }),
      clock,
      signal,
    });
    await session.close();
  } catch (error) {
    log.warn({ err: error, agent: agent.id }, "could not ask the agent for its models");
  } finally {
    await rm(dir, { recursive: true, force: true }).catch(() => {});
  }
  return runtime.models?.() ?? null;
}
