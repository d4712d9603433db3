import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import type {
  OpenOptions,
  RuntimeEvent,
  RuntimeSession,
  TurnInput,
} from "../../../packages/gateway/src/runtimes/types.ts";

/** Options of a fresh session in the system's temp folder; `over` changes what a test is about. */
export function openOptions(over: Partial<OpenOptions> = {}): OpenOptions {
  return {
    agentId: "assistant",
    sessionId: "5f1c7f5e-6f0a-4b53-9a3e-0d8f3f4f6a11",
    cwd: process.cwd(),
    sessionDir: process.cwd(),
    model: undefined,
    contextWindow: undefined,
    env: {},
    allowTools: true,
    instructions: undefined,
    resume: undefined,
    history: [],
    tools: [],
    mcpServers: {},
    log: silentLogger,
    clock: systemClock,
    signal: new AbortController().signal,
    ...over,
  };
}

/** Runs a turn and collects what it tells; `text` is what the text events add up to. */
export async function runTurn(
  session: RuntimeSession,
  input: string | TurnInput,
  onEvent: (event: RuntimeEvent) => void = () => {},
) {
  const events: RuntimeEvent[] = [];
  const outcome = await session.turn(
    typeof input === "string" ? { text: input, files: [] } : input,
    (event) => {
      if (event.type !== "activity") events.push(event);
      onEvent(event);
    },
  );
  const text = events.map((event) => (event.type === "text" ? event.text : "")).join("");
  return { outcome, events, text };
}
