import type { Readable, Writable } from "node:stream";
import type { ToolSet } from "ai";
import { createLineSplitter } from "../../../lib/jsonl.ts";
import type { ModelUse } from "../../types.ts";
import { type AgentInit, type FromAgent, KEY_VARIABLE, type ToAgent } from "../protocol.ts";
import type { Agent } from "./agent.ts";
import { compact } from "./compact.ts";
import { contextPercent, createConversation } from "./conversation.ts";
import { createModels } from "./models.ts";
import { createRetryingFetch } from "./retry.ts";
import { createGatewayTools } from "./tools.ts";
import { runTurn } from "./turn.ts";

const NO_SERVERS: { tools: ToolSet; missing: string[] } = { tools: {}, missing: [] };

/** Instructions that also tell the model which tools it lacks, so that it can say so. */
function withMissing(instructions: string | undefined, missing: readonly string[]): string | undefined {
  if (missing.length === 0) return instructions;
  const note = `These tool servers could not be started, so their tools are missing: ${missing.join(", ")}.`;
  return instructions === undefined ? note : `${instructions}\n\n${note}`;
}

/** Serves one session over JSON lines until its input ends. */
export function runAgent(input: Readable, output: Writable): void {
  const send = (message: FromAgent) => void output.write(`${JSON.stringify(message)}\n`);
  // Standard output belongs to the protocol; whatever a library prints goes to the log.
  console.log = console.info = console.debug = console.error;
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
  // A promise that a library left behind must not cost the conversation.
  process.on("unhandledRejection", (error) => console.error(error));

  const gatewayTools = createGatewayTools(send);
  let agent: Agent | undefined;
  let job = new AbortController();

  async function connect({ mcpServers, allowTools }: AgentInit, toolImages: boolean) {
    if (allowTools === false || Object.keys(mcpServers).length === 0) return NO_SERVERS;
    const { connectServers } = await import("./mcp.ts");
    const warn = (text: string, detail: string) =>
      send({ type: "log", level: "warn", message: text, detail });
    return connectServers(mcpServers, {
      allow: allowTools,
      cwd: process.cwd(),
      toolImages,
      acting: gatewayTools.acting,
      warn,
    });
  }

  async function init(message: AgentInit): Promise<void> {
    const key = process.env[KEY_VARIABLE];
    delete process.env[KEY_VARIABLE];
    const retrying = createRetryingFetch({
      maxRetries: message.maxRetries,
      emit: (event) => send({ type: "event", event }),
    });
    const models = await createModels({ ...message, apiKey: key, fetch: retrying });
    const { tools, missing } = await connect(message, models.toolImages);
    agent = {
      models,
      instructions: withMissing(message.instructions, missing),
      tools: { ...tools, ...gatewayTools.create(message.tools) },
      conversation: createConversation(message.history, message.contextWindow),
      maxSteps: message.maxSteps,
      log: (level, text, detail) =>
        send({ type: "log", level, message: text, detail: key ? detail?.replaceAll(key, "***") : detail }),
    };
    send({ type: "ready" });
  }

  async function work(message: ToAgent): Promise<void> {
    if (message.type === "init") return init(message);
    if (message.type === "interrupt") return job.abort();
    if (message.type === "tool_result") return gatewayTools.settle(message);
    if (!agent) return;
    if (message.type === "set_model") return agent.models.use(message.model);
    job = new AbortController();
    if (message.type === "turn") {
      const emit = (event: Extract<FromAgent, { type: "event" }>["event"]) => send({ type: "event", event });
      return send({ type: "done", outcome: await runTurn(agent, message, emit, job.signal) });
    }
    const used: ModelUse[] = [];
    const onUse = (use: ModelUse) => void used.push(use);
    const summary = await compact(agent, { signal: job.signal, whole: true, onUse });
    send({ type: "compacted", summary, used, contextPercent: contextPercent(agent.conversation) ?? 0 });
  }

  const lines = createLineSplitter((line) => {
    work(JSON.parse(line) as ToAgent).catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  });
  // Its group is killed behind it, MCP servers included.
  const leave = () => process.exit(0);
  output.on("error", leave);
  input.on("data", (chunk: Buffer) => lines.push(chunk)).on("end", leave);
}
