import type { AgentConfig } from "../config/index.ts";
import { readGreeting, writeGreeting } from "../lib/greeting-file.ts";
import { createMutex } from "../lib/mutex.ts";
import type { SessionRow } from "../store/index.ts";
import type { SessionDeps } from "./ports.ts";
import type { Turn } from "./turn-types.ts";
import type { Turns } from "./turns.ts";

/** What a greeting is for. */
export interface GreetRequest {
  agent: AgentConfig;
  requestId: string;
  softMs: number;
  keyId: string | null;
  /** Calls `act` with the session while it is reserved; rejects when it is gone or busy. */
  reserve<T>(act: (row: SessionRow) => T): Promise<T>;
}

/**
 * Takes an agent's one-shot greeting and lets the agent answer it; undefined when there is none. The file is removed
 * only once its turn is sure to run. One at a time for each agent: a second caller finds the file gone.
 */
export function createGreeter(deps: Pick<SessionDeps, "log">, turns: Pick<Turns, "start">) {
  const queues = new Map<string, ReturnType<typeof createMutex>>();

  const put = (agent: AgentConfig, text: string): Promise<void> =>
    writeGreeting(agent.workspace, text).catch((error: unknown) =>
      deps.log.error({ err: error, agent: agent.id }, "could not update the greeting file"),
    );

  const greet = async (request: GreetRequest): Promise<Turn | undefined> => {
    const { agent, reserve, requestId, softMs, keyId } = request;
    const text = await readGreeting(agent.workspace);
    const turn = await reserve((session) =>
      text.trim() === ""
        ? undefined
        : turns.start({ agent, session, requestId, kind: "greeting", text, softMs, keyId, holds: true }),
    );
    if (!turn) return undefined;
    await put(agent, "");
    try {
      await turn.started;
    } catch (error) {
      await put(agent, text);
      throw error;
    }
    return turn;
  };

  return async (request: GreetRequest): Promise<Turn | undefined> => {
    // Refused both before and after the wait.
    await request.reserve(() => {});
    const queue = queues.get(request.agent.id) ?? createMutex();
    queues.set(request.agent.id, queue);
    return queue(() => greet(request));
  };
}
