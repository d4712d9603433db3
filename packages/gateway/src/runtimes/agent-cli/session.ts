import { randomUUID } from "node:crypto";
import type { HistoryEntry, OpenOptions, RuntimeEvent, RuntimeSession, TurnOutcome } from "../types.ts";
import { buildArguments, type Conversation } from "./args.ts";
import { type Connection, openConnection } from "./connection.ts";
import { CONTROL_TIMEOUT_MS } from "./control.ts";
import { commandLine, userLine } from "./input.ts";
import { createMeter, type Readings } from "./meter.ts";
import { type AgentLine, type Fields, nameOrNull } from "./protocol.ts";
import { replayHistory } from "./replay.ts";
import { createRequestHandler } from "./requests.ts";
import { createRun, type Run } from "./run.ts";
import { safeSentence } from "./safe-sentence.ts";
import { type AgentCliOptions, nextConversation, prepareLaunch, saysUnknown } from "./start.ts";
import { readSummary } from "./summary.ts";
import { createToolServer, GATEWAY_SERVER } from "./tool-server.ts";
import { contextShare, streamedUse, type TurnState } from "./turn-state.ts";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Claude Code answers within 0.5 s, but takes seconds when many start at once. */
const CLAUDE_START_TIMEOUT_MS = 15_000;
/** An unknown conversation, then an id that is in use: nothing can fail a third time. */
const MAX_RESTARTS = 2;
const CLOSE_GRACE_MS = 1000;

const INTERRUPTED: TurnOutcome = { status: "interrupted", text: "" };
const ENDED = "The agent process ended unexpectedly.";
const failed = (error: string): TurnOutcome => ({ status: "failed", text: "", error });

/** One start of the program. */
interface Link extends Connection {
  conversation: Conversation;
  /** It has said something that proves the start succeeded. */
  proven: boolean;
  /** It has said who it is. */
  introduced: boolean;
  /** It has said that it does not know the conversation. */
  unknown: boolean;
  initialized: Promise<unknown>;
  meter: ReturnType<typeof createMeter>;
}

/** Starts the agent program for one session and speaks stream-JSON with it. */
export async function openAgentCliSession(
  runtime: AgentCliOptions,
  options: OpenOptions,
  readings: Readings,
  mcpFile?: string,
): Promise<RuntimeSession> {
  const { log, clock, signal } = options;
  const launch = await prepareLaunch(runtime, options, buildArguments, mcpFile);
  const requests = createRequestHandler(options.allowTools, createToolServer(options.tools), options.acting);
  const gone = Promise.withResolvers<void>();

  let link: Link;
  let ready: Promise<void> = Promise.resolve();
  let unreplayed: readonly HistoryEntry[] = [];
  let onReplayResult: ((taken: boolean) => void) | undefined;
  /** A replayed message was not waited for any longer; its empty result may still come. */
  let owesResult = false;
  let current: Run | undefined;
  let model = options.model;
  let answeredBy: string | undefined;
  let sessionId: string | null = null;
  // An imported session keeps its id; the program accepts only UUIDs.
  const ownId = UUID.test(options.sessionId) ? options.sessionId : randomUUID();
  let version: string | null = null;
  let lastPercent: number | undefined;
  let restarts = 0;
  let closing = false;
  let dead = false;

  const window = () => (model === options.model ? options.contextWindow : undefined);

  /** Any program can answer control requests; only one that reports its version is known to keep sessions. */
  const isClaudeCode = () =>
    link.control.supported === true && (version !== null || launch.traits.claudeCode);

  async function start(conversation: Conversation): Promise<void> {
    const connection = await openConnection({
      command: launch.command(conversation, model),
      cwd: options.cwd,
      env: launch.env,
      reaper: runtime.reaper,
      log,
      clock,
      requests,
      onOutput: options.onOutput,
      onLine: (line) => receive(started, line),
      onOverflow() {
        log.error({}, "the agent program wrote a line that is too long");
        current?.fail({ error: "The agent sent more data in one piece than the gateway accepts." });
        started.process.kill("SIGKILL");
      },
    });
    const initialized = connection.control.request(
      {
        subtype: "initialize",
        ...(options.tools.length > 0 ? { sdkMcpServers: [GATEWAY_SERVER] } : {}),
      },
      launch.traits.claudeCode ? CLAUDE_START_TIMEOUT_MS : CONTROL_TIMEOUT_MS,
    );
    void initialized.then((answer) => {
      if (answer.type === "ok") version = nameOrNull(answer.response.claude_code_version) ?? version;
    });
    const started: Link = {
      ...connection,
      conversation,
      proven: false,
      introduced: false,
      unknown: false,
      initialized,
      meter: createMeter(readings, conversation.type === "resume" ? conversation.id : undefined),
    };
    link = started;
    log.info({ pid: started.process.pid, resumed: conversation.type === "resume" }, "agent process started");
    void started.process.exited.then(({ code }) => exited(started, code));
    if (closing) void started.process.close({ graceMs: 0 });
  }

  /** Gives a fresh process the earlier messages, or keeps them for the first user line. */
  async function prime(): Promise<void> {
    unreplayed = link.conversation.type === "resume" ? [] : options.history;
    if (unreplayed.length === 0 || !launch.traits.claudeCode) return;
    const nextResult = () =>
      new Promise<boolean>((resolve) => {
        onReplayResult = resolve;
      });
    unreplayed = await replayHistory(unreplayed, link.send, nextResult, clock);
    owesResult = unreplayed.length > 0;
    onReplayResult = undefined;
  }

  function receive(from: Link, line: AgentLine): void {
    if (line.kind === "init") {
      version = line.version ?? version;
      // It says so before every turn; once is enough for the log.
      if (!from.introduced) log.info({ version: line.version, model: line.model }, "agent program is ready");
      from.introduced = true;
      sessionId = line.sessionId;
    }
    if (!from.proven && from.conversation.type === "resume" && saysUnknown(line)) {
      from.unknown = true;
      return void from.process.close({ graceMs: CLOSE_GRACE_MS / 2 });
    }
    if (line.kind !== "other" && !(line.kind === "result" && line.isError)) from.proven = true;
    if (line.kind === "result" && onReplayResult) return void onReplayResult(!line.isError);
    if (line.kind === "result" && owesResult) {
      owesResult = false;
      if (!line.isError && line.text === "" && !current?.answering()) return;
    }
    current?.receive(line);
  }

  function exited(from: Link, code: number | null): void {
    onReplayResult?.(false);
    const stderr = from.process.stderrTail();
    const retry = !from.proven && !closing && restarts < MAX_RESTARTS;
    const next = retry
      ? nextConversation(from.conversation, ownId, { unknown: from.unknown, code, stderr })
      : null;
    if (next === null) {
      if (code !== 0 && !closing) log.warn({ code, stderr: safeSentence(stderr, "") }, "agent process ended");
      end();
      return;
    }
    restarts++;
    owesResult = false;
    log.info({ from: from.conversation.type }, "could not resume the conversation; starting a new one");
    ready = start(next).then(prime).catch(end);
    current?.lose();
  }

  function end(): void {
    dead = true;
    current?.fail({ wanted: closing });
    gone.resolve();
  }

  async function attempt(run: Run, makeLine: () => Promise<Fields>): Promise<TurnOutcome | "lost"> {
    await Promise.race([ready, run.unwanted]);
    const to = link;
    const line = await makeLine().catch(() => null);
    if (run.interrupted || closing) return INTERRUPTED;
    if (dead) return { ...failed(ENDED), unread: true, gone: true };
    if (line === null) return failed("A file of the message could not be read.");
    if (to !== link) return "lost";
    run.sentTo(to);
    to.send(line);
    const how = await run.end;
    if (how === "lost") return how;
    unreplayed = [];
    const { result: end, state } = run;
    const usage = to.meter.read({ end, streamed: streamedUse(state), model: how.model, sessionId });
    return usage === undefined ? how : { ...how, usage };
  }

  /** Sends a line and follows it to its end, over a restart if need be. */
  async function follow(
    makeLine: () => Promise<Fields>,
    emit: (event: RuntimeEvent) => void,
  ): Promise<{ outcome: TurnOutcome; state: TurnState }> {
    for (;;) {
      const run = createRun(emit, window(), clock);
      current = run;
      const outcome = await attempt(run, makeLine);
      current = undefined;
      if (outcome !== "lost") return { outcome, state: run.state };
      if (run.interrupted) return { outcome: INTERRUPTED, state: run.state };
    }
  }

  if (signal.aborted) throw new Error("Opening the session was cancelled.");
  await start(
    options.resume === undefined ? { type: "new", id: ownId } : { type: "resume", id: options.resume },
  );
  ready = prime();

  const session: RuntimeSession = {
    get pid() {
      return link.process.pid;
    },
    get model() {
      return answeredBy ?? model;
    },
    get resumeToken() {
      if (!isClaudeCode()) return null;
      return sessionId ?? (link.conversation.type === "resume" ? link.conversation.id : null);
    },
    get primed() {
      return link.conversation.type === "resume" || options.history.length > 0;
    },
    closed: gone.promise,
    stderrTail: () => link.process.stderrTail(),
    async turn(input, emit) {
      const { outcome } = await follow(() => userLine(input, unreplayed), emit);
      lastPercent = outcome.contextPercent ?? lastPercent;
      answeredBy = outcome.model ?? answeredBy;
      return outcome;
    },
    async interrupt() {
      await current?.interrupt();
    },
    async setModel(wanted) {
      const answer = await link.control.request({ subtype: "set_model", model: wanted });
      if (answer.type !== "ok") return false;
      model = wanted;
      answeredBy = undefined;
      return true;
    },
    async contextPercent() {
      const answer = await link.control.request({ subtype: "get_context_usage" });
      if (answer.type !== "ok") return lastPercent;
      const { totalTokens: total, maxTokens: max } = answer.response;
      if (typeof total !== "number") return lastPercent;
      const size = window() ?? (typeof max === "number" ? max : undefined);
      return contextShare({ input: total, output: 0 }, size) ?? lastPercent;
    },
    async compact() {
      await Promise.race([link.initialized, gone.promise]);
      if (!isClaudeCode()) return null;
      const { outcome, state } = await follow(
        async () => commandLine("/compact"),
        () => {},
      );
      if (outcome.status !== "done" || !state.compacted) return null;
      lastPercent = undefined;
      return { summary: readSummary(state.summary), ...(outcome.usage && { usage: outcome.usage }) };
    },
    async close() {
      closing = true;
      await link.process.close({ graceMs: CLOSE_GRACE_MS });
      await ready;
      // A second start may have come in between.
      await link.process.close({ graceMs: 0 });
    },
  };
  if (signal.aborted) {
    await session.close();
    throw new Error("Opening the session was cancelled.");
  }
  return session;
}
