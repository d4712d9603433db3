import { fileURLToPath } from "node:url";
import { builtinAgentEntry } from "../../lib/entry.ts";
import { createLineSplitter } from "../../lib/jsonl.ts";
import { type ManagedProcess, spawnProcess } from "../../lib/process.ts";
import { childEnvironment } from "../../lib/shared-env.ts";
import type { OpenOptions, RuntimeEvent, RuntimeSession, TurnOutcome } from "../types.ts";
import type { BuiltinDeps } from "./deps.ts";
import { type AgentInit, type FromAgent, KEY_VARIABLE, type ToAgent, type WireEvent } from "./protocol.ts";
import type { BuiltinSettings } from "./settings.ts";

/** A session idles most of its life: 15 MB less are worth 25 ms more to start. */
const NODE_FLAGS = ["--optimize-for-size", "--max-semi-space-size=1"];
const READY_MS = 30_000;
/** How long an interrupt may go unanswered before the process is killed. */
const INTERRUPT_MS = 4000;

type Compaction = Extract<FromAgent, { type: "compacted" }>;

interface RunningTurn {
  text: string;
  emit(event: RuntimeEvent): void;
  readonly over: PromiseWithResolvers<TurnOutcome>;
}

/** Starts the process of one session and waits until it has connected its tools. */
export async function openBuiltinSession(
  options: OpenOptions,
  settings: BuiltinSettings,
  deps: BuiltinDeps,
): Promise<RuntimeSession> {
  const { log, signal, history } = options;
  const model = options.model ?? settings.model;
  if (model === undefined) throw new Error("The agent has no model: set its `model` or `runtime.model`.");
  if (signal.aborted) throw new Error("Opening the session was cancelled.");

  let running: RunningTurn | undefined;
  let compacting: PromiseWithResolvers<Compaction | null> | undefined;
  let contextPercent: number | undefined;
  let stopping = false;
  let gone = false;
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});

  const lines = createLineSplitter(receive);
  const child: ManagedProcess = await spawnProcess({
    command: [process.execPath, ...NODE_FLAGS, fileURLToPath(builtinAgentEntry())],
    cwd: options.cwd,
    env: childEnvironment(deps.env, {
      ...options.env,
      ...(settings.apiKey !== undefined && { [KEY_VARIABLE]: settings.apiKey }),
    }),
    log,
    clock: deps.clock,
    reaper: deps.reaper,
    onStdout(chunk) {
      options.onOutput?.();
      lines.push(chunk);
    },
    onStderr: (text) => log.debug({ text }, "builtin agent wrote to stderr"),
  });
  const send = (message: ToAgent) => void child.write(`${JSON.stringify(message)}\n`);

  function receive(line: string): void {
    const message = parse(line);
    switch (message?.type) {
      case "ready":
        ready.resolve();
        break;
      case "event":
        emit(message.event);
        break;
      case "done":
        contextPercent = message.outcome.contextPercent ?? contextPercent;
        running?.over.resolve(message.outcome);
        break;
      case "compacted":
        contextPercent = message.contextPercent;
        compacting?.resolve(message);
        break;
      case "tool_call":
        void answer(message.id, () => callTool(message));
        break;
      case "acting":
        void answer(message.id, async () => {
          await options.acting?.();
          return "";
        });
        break;
      case "log":
        log[message.level]({ detail: message.detail }, message.message);
        break;
      default:
        log.debug({ chars: line.length }, "builtin agent wrote a line that is not of its protocol");
    }
  }

  function emit(event: WireEvent): void {
    if (!running) return;
    if (event.type === "text") running.text += event.text;
    running.emit(
      event.type === "image"
        ? { type: "image", mime: event.mime, data: Buffer.from(event.base64, "base64") }
        : event,
    );
  }

  async function callTool({ name, args }: Extract<FromAgent, { type: "tool_call" }>): Promise<string> {
    const tool = options.tools.find((candidate) => candidate.name === name);
    if (!tool) throw new Error("There is no such tool.");
    return tool.call(args);
  }

  async function answer(id: string, work: () => Promise<string>): Promise<void> {
    try {
      send({ type: "tool_result", id, text: await work(), isError: false });
    } catch (error) {
      const text = error instanceof Error ? error.message : "It failed.";
      send({ type: "tool_result", id, text, isError: true });
    }
  }

  const closed = child.exited.then(({ code, signal: killedBy }) => {
    lines.end();
    if (!stopping)
      log.warn({ code, signal: killedBy, stderr: child.stderrTail() }, "builtin agent ended by itself");
    ready.reject(new Error("The builtin agent could not be started."));
    gone = true;
    compacting?.resolve(null);
    running?.over.resolve(
      stopping
        ? { status: "interrupted", text: running.text }
        : {
            status: "failed",
            text: running.text,
            error: "The agent process ended in the middle of its answer.",
            gone: true,
          },
    );
  });
  const close = () => {
    stopping = true;
    return child.close();
  };

  send(initOf(options, settings, model));
  const cancelOpen = () => ready.reject(new Error("Opening the session was cancelled."));
  signal.addEventListener("abort", cancelOpen, { once: true });
  if (signal.aborted) cancelOpen();
  const cancelTimeout = deps.clock.after(READY_MS, () =>
    ready.reject(new Error("The builtin agent took too long to start.")),
  );
  try {
    await ready.promise;
  } catch (error) {
    stopping = true;
    child.kill("SIGKILL");
    await closed;
    throw error;
  } finally {
    cancelTimeout();
    signal.removeEventListener("abort", cancelOpen);
  }

  return {
    pid: child.pid,
    resumeToken: null,
    primed: history.length > 0,
    closed,
    close,
    stderrTail: child.stderrTail,
    async turn(input, onEvent) {
      if (gone) return { status: "failed", text: "", error: "The agent process is not running.", gone: true };
      running = { text: "", emit: onEvent, over: Promise.withResolvers() };
      send({ type: "turn", text: input.text, files: input.files });
      const outcome = await running.over.promise;
      running = undefined;
      return outcome;
    },
    async interrupt() {
      const over = running?.over ?? compacting;
      if (!over) return;
      send({ type: "interrupt" });
      const cancelKill = deps.clock.after(INTERRUPT_MS, () => {
        stopping = true;
        child.kill("SIGKILL");
      });
      await over.promise;
      cancelKill();
    },
    async setModel(next) {
      send({ type: "set_model", model: next });
      return !gone;
    },
    contextPercent: async () => contextPercent,
    async compact() {
      if (gone || running) return null;
      compacting = Promise.withResolvers();
      send({ type: "compact" });
      const made = await compacting.promise;
      compacting = undefined;
      if (made?.summary == null) return null;
      return { summary: made.summary, ...(made.used.length > 0 && { usage: { models: made.used } }) };
    },
  };
}

function parse(line: string): FromAgent | undefined {
  try {
    return JSON.parse(line) as FromAgent;
  } catch {
    return undefined;
  }
}

function initOf(options: OpenOptions, settings: BuiltinSettings, model: string): AgentInit {
  return {
    type: "init",
    provider: settings.provider,
    baseUrl: settings.baseUrl,
    model,
    contextWindow: options.contextWindow ?? settings.contextWindow,
    maxRetries: settings.maxRetries,
    maxSteps: settings.maxSteps,
    instructions: options.instructions,
    history: options.history,
    tools: options.tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    // Those of the agent's own runtime section are more specific.
    mcpServers: { ...options.mcpServers, ...settings.mcpServers },
    allowTools: options.allowTools,
  };
}
