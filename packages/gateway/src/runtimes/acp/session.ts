import { sleep } from "../../lib/clock.ts";
import { type Fields, isFields } from "../agent-cli/index.ts";
import { openToolBridge } from "../tool-bridge.ts";
import type { OpenOptions, RuntimeEvent, RuntimeSession, TurnOutcome } from "../types.ts";
import { DEFAULT_MAX_RETRIES } from "../upstream.ts";
import { factsFromResult, factsFromUpdate, modelOf, NO_FACTS, withModel } from "./facts.ts";
import { PROCESS_ENDED } from "./failure.ts";
import type { Seen } from "./inspect.ts";
import { createMeter, type Meter } from "./meter.ts";
import { openAgent } from "./open.ts";
import type { AcpOptions } from "./options.ts";
import { answerPermission } from "./permission.ts";
import { prefaceOf, promptBlocks, textBlock } from "./prompt.ts";
import { createRun, type Run } from "./run.ts";

const SET_MODEL_MS = 10_000;
/** Agents tell their commands right after they opened the session; claude-agent-acp takes 3 ms. */
const COMMANDS_MS = 1000;
/** What an agent says after `/compact` is its summary only when it is longer than any notice. */
const SUMMARY_MIN_CHARS = 200;
const CANCELLED = "Opening the session was cancelled.";

/** Starts an agent for one session and speaks the Agent Client Protocol with it. */
export async function openAcpSession(
  runtime: AcpOptions,
  options: OpenOptions,
  seen: Seen,
): Promise<RuntimeSession> {
  const { log, clock, signal } = options;
  if (signal.aborted) throw new Error(CANCELLED);
  await using undo = new AsyncDisposableStack();

  const rules = {
    allowTools: options.allowTools,
    ownTools: options.tools.map((tool) => tool.name),
    servers: Object.keys(options.mcpServers),
    knownProgram: false,
  };
  const commandsKnown = Promise.withResolvers<void>();
  let facts = NO_FACTS;
  let current: Run | undefined;
  let openId: string | undefined;
  let meter: Meter | undefined;

  const onNotification = (method: string, params: Fields) => {
    if (method !== "session/update" || !isFields(params.update)) return;
    if (openId !== undefined && params.sessionId !== openId) return;
    facts = factsFromUpdate(facts, params.update);
    meter?.saw(params.update);
    if (facts.modelSwitch) seen.models = { ...facts.modelSwitch, current: seen.models?.current ?? null };
    if (facts.commands) commandsKnown.resolve();
    // What an agent repeats of an old conversation comes while no turn runs.
    current?.reader.read(params.update);
  };
  const permit = async (params: Fields): Promise<Fields> => {
    const run = current;
    const { toolCall } = params;
    // Before any wait: what is not asked for soon counts as used without a question.
    if (isFields(toolCall)) {
      if (typeof toolCall.toolCallId === "string") run?.asked(toolCall.toolCallId);
      run?.reader.asked(toolCall);
    }
    await options.acting?.();
    const over = run === undefined || run !== current || run.interrupted;
    return answerPermission(params, rules, (id) => run?.reader.toolName(id), over);
  };
  const onRequest = (method: string, params: Fields): Promise<Fields> | undefined =>
    method === "session/request_permission" ? permit(params) : undefined;

  const bridge = options.tools.length > 0 ? await openToolBridge(options) : null;
  if (bridge) undo.defer(bridge.close);
  const mcpServers = bridge ? [bridge.server] : [];
  const onStderr = (text: string) => current?.reader.overhear(text);
  const handlers = { onRequest, onNotification, onStderr, mcpServers };
  const agent = await openAgent(runtime, options, seen, handlers).catch((error: unknown) => {
    throw signal.aborted ? new Error(CANCELLED) : error;
  });
  const { link, traits, program } = agent;
  rules.knownProgram = program !== undefined;
  undo.defer(() => link.process.close());
  const onAbort = () => link.process.kill("SIGKILL");
  signal.addEventListener("abort", onAbort);
  undo.defer(() => signal.removeEventListener("abort", onAbort));
  if (signal.aborted) throw new Error(CANCELLED);
  const { id: sessionId, resumed, result } = agent.session;
  openId = sessionId;
  meter = createMeter(resumed);
  facts = factsFromResult(facts, result);
  seen.models = facts.modelSwitch ?? { current: null, available: [] };
  log.info({ pid: link.process.pid, resumed }, "agent process started");

  let preface = prefaceOf(options.instructions, resumed ? [] : options.history);
  /** The agent lacks earlier messages until the first prompt has brought them. */
  let lacksHistory = !resumed && options.history.length > 0;
  let dead = false;
  let closing = false;
  const gone = link.process.exited.then(async ({ code, signal: by }) => {
    dead = true;
    const stderr = link.process.stderrTail();
    if (!closing && code !== 0) log.warn({ code, signal: by, stderr }, "agent process ended");
    await bridge?.close();
  });

  async function setModel(model: string): Promise<boolean> {
    const { modelSwitch } = facts;
    if (dead || !modelSwitch) return false;
    if (modelSwitch.current === model) return true;
    const { configId } = modelSwitch;
    const answer = await link.rpc.request(
      configId === null ? "session/set_model" : "session/set_config_option",
      { sessionId, ...(configId === null ? { modelId: model } : { configId, value: model }) },
      { timeoutMs: SET_MODEL_MS },
    );
    if (answer.type !== "result") return false;
    facts = withModel(factsFromResult(facts, answer.value), model);
    return true;
  }

  /** Runs one prompt; `current` is what the agent's updates belong to meanwhile. */
  async function follow(
    blocks: () => Promise<Fields[]>,
    emit: (event: RuntimeEvent) => void,
  ): Promise<{ run: Run; outcome: TurnOutcome }> {
    const maxRetries = runtime.maxRetries ?? DEFAULT_MAX_RETRIES;
    const run = createRun({ link, sessionId, emit, clock, log, rules, program, maxRetries });
    current = run;
    meter?.begin();
    const outcome = await run.prompt(blocks());
    current = undefined;
    const usage = meter?.end(run.answer, modelOf(facts));
    return { run, outcome: usage === undefined ? outcome : { ...outcome, usage } };
  }

  seen.refusedModel = null;
  if (options.model !== undefined && !(await setModel(options.model))) {
    seen.refusedModel = options.model;
    log.warn({ model: options.model }, "the agent does not offer this model and uses its own");
  }
  if (signal.aborted) throw new Error(CANCELLED);
  signal.removeEventListener("abort", onAbort);
  undo.move();

  return {
    pid: link.process.pid,
    get model() {
      return modelOf(facts);
    },
    resumeToken: traits.loadSession || traits.resumeSession ? sessionId : null,
    primed: resumed || options.history.length > 0,
    closed: gone,
    stderrTail: () => link.process.stderrTail(),
    async turn(input, emit) {
      if (dead) return { status: "failed", text: "", error: PROCESS_ENDED, unread: true, gone: true };
      const { run, outcome } = await follow(() => promptBlocks(input, preface, traits), emit);
      if (outcome.status === "done") seen.login = "ok";
      if (run.heard) {
        preface = [];
        lacksHistory = false;
      }
      const model = modelOf(facts);
      return {
        ...outcome,
        ...(model === undefined ? {} : { model }),
        ...(facts.percent === undefined ? {} : { contextPercent: facts.percent }),
      };
    },
    interrupt: async () => current?.interrupt(),
    setModel,
    contextPercent: async () => facts.percent,
    async compact() {
      if (facts.commands === undefined)
        await Promise.race([commandsKnown.promise, sleep(clock, COMMANDS_MS)]);
      if (dead || lacksHistory || !facts.commands?.includes("compact")) return null;
      const { outcome } = await follow(
        async () => [textBlock("/compact")],
        () => {},
      );
      if (outcome.status !== "done") return null;
      return {
        summary: outcome.text.length < SUMMARY_MIN_CHARS ? null : outcome.text.trim(),
        ...(outcome.usage && { usage: outcome.usage }),
      };
    },
    async close() {
      closing = true;
      await link.process.close();
      await gone;
    },
  };
}
