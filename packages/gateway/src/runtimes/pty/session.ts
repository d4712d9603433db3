import { randomUUID } from "node:crypto";
import { sleep } from "../../lib/clock.ts";
import {
  type AgentCliOptions,
  buildTerminalArguments,
  type Conversation,
  nextConversation,
  prepareLaunch,
  readSummary,
  safeSentence,
} from "../agent-cli/index.ts";
import { historyText } from "../history-text.ts";
import type { OpenOptions, RuntimeEvent, RuntimeSession, TurnInput, TurnOutcome } from "../types.ts";
import { createFollower, UNREADABLE } from "./follow.ts";
import { hookSettings, removeHooks } from "./hooks.ts";
import { createInputLine } from "./input-line.ts";
import { CLEAR_LINE, ESCAPE, keysOf } from "./keys.ts";
import { createLink, terminalOf } from "./link.ts";
import { createOccupant } from "./occupant.ts";
import { pasteOf, plainText } from "./paste.ts";
import type { TerminalProgram } from "./program.ts";
import { createRun, type Run } from "./run.ts";
import { enter, freeLine, paste, pastesFor, untilReady } from "./submit.ts";
import { projectsFolder } from "./transcript.ts";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** An unknown conversation, then an id that is in use: nothing can fail a third time. */
const MAX_RESTARTS = 2;
const CLOSE_GRACE_MS = 1000;
/** After Escape the program tells the end within this; a loaded machine takes its time. */
const INTERRUPT_STEP_MS = 1200;
/** A program that ends itself after an answer is gone within this, and whatever is sent to it meanwhile is lost. */
const LEAVING_MS = 500;
const COMPACT = "/compact";
/** Tokens; the program's records do not tell the model's. */
const USUAL_WINDOW = 200_000;

const ENDED = "The agent process ended unexpectedly.";
const CANCELLED = "Opening the session was cancelled.";

/** Starts the agent program for one session in a pseudo-terminal. */
export async function openTerminalSession(
  runtime: AgentCliOptions,
  options: OpenOptions,
  mcpFile: string | undefined,
): Promise<RuntimeSession> {
  const { log, clock, signal, sessionDir } = options;
  const settings = hookSettings(options);
  const launch = await prepareLaunch(
    { ...runtime, configDir: undefined },
    options,
    (given, ...more) => buildTerminalArguments({ ...given, settings }, ...more),
    mcpFile,
  );
  const mayAnswer = runtime.hostEnv.PTY_SHELL_SKIP_DIALOG_DISMISS !== "1";
  const { claudeCode } = launch.traits;
  const gone = Promise.withResolvers<void>();
  const ownId = UUID.test(options.sessionId) ? options.sessionId : randomUUID();
  const line = createInputLine();
  await removeHooks(sessionDir);

  let conversation: Conversation =
    options.resume === undefined ? { type: "new", id: ownId } : { type: "resume", id: options.resume };
  let history = options.resume === undefined ? options.history : [];
  let current: Run | undefined;
  /** Its message has been pasted and Enter is next, or was pressed. */
  let submittedAt: number | undefined;
  let answeredBy: string | undefined;
  let lastPercent: number | undefined;
  let proven = false;
  let restarts = 0;
  let closing = false;
  let dead = false;

  const link = await createLink(options, { env: launch.env, reaper: runtime.reaper });
  const occupant = createOccupant({ link, clock, occupied: (until) => options.onOccupied?.(until) });
  const newFollower = () =>
    createFollower({
      place: { projects: projectsFolder(launch.env), cwd: options.cwd, sessionId: conversation.id },
      sessionDir,
      clock,
      link,
      run: () => (submittedAt === undefined ? undefined : current),
      occupant,
      onOverflow() {
        log.error({}, "the agent program wrote a record that is too long");
        current?.fail({ error: "The agent sent more data in one piece than the gateway accepts." });
        link.program.kill("SIGKILL");
      },
      onUnreadable(error) {
        log.error({ err: error }, "could not read the agent program's records");
        current?.fail({ error: UNREADABLE });
      },
    });
  let follower = newFollower();

  async function start(): Promise<void> {
    const program = await link.start(launch.command(conversation, options.model));
    log.info({ pid: program.pid, resumed: conversation.type === "resume" }, "agent process started");
    void program.exited.then(({ code }) => exited(program, code));
    follower.begin();
    void watchStart(program);
    if (closing) void program.close(0);
  }

  /** Answers the questions of a start, until the program takes input. */
  async function watchStart(program: TerminalProgram): Promise<void> {
    while (!dead && link.program === program) {
      const seen = link.events;
      const { ready, dialog } = await link.reading();
      if (ready) {
        proven = true;
        log.info({}, "agent program is ready");
        return;
      }
      if (dialog !== null && mayAnswer) {
        log.info({ dialog }, "answering a question of the agent program");
        await link.press("answer");
      }
      await link.changed(1000, seen);
    }
  }

  async function exited(program: TerminalProgram, code: number | null): Promise<void> {
    await link.screen.settled();
    const said = link.screen.text().trim();
    const lost = current;
    const next =
      proven || closing || restarts >= MAX_RESTARTS
        ? null
        : nextConversation(conversation, ownId, {
            unknown: /no conversation found/i.test(said),
            code,
            stderr: said,
          });
    if (next !== null && link.program === program) {
      restarts++;
      log.info({ from: conversation.type }, "could not resume the conversation; starting a new one");
      await follower.close();
      conversation = next;
      history = options.history;
      follower = newFollower();
      return start().catch(end);
    }
    if (code !== 0 && !closing) log.warn({ code }, "agent process ended");
    // Its last records may tell how the turn ended.
    await follower.last().catch(() => {});
    const unread = !lost?.taken && (submittedAt === undefined || clock.elapsed() - submittedAt < LEAVING_MS);
    const error = proven ? ENDED : startError(said);
    lost?.fail({ error, wanted: closing, unread, gone: !closing });
    end();
  }

  function end(): void {
    if (dead) return;
    dead = true;
    current?.fail({ error: ENDED, wanted: closing, gone: !closing });
    occupant.free();
    void follower.close();
    link.wake();
    gone.resolve();
  }

  /** Pastes a message and presses Enter, once the program and its people let it. */
  async function submit(run: Run, make: () => readonly string[]): Promise<void> {
    await Promise.race([occupant.until, run.end]);
    if (!(await untilReady(link, run))) return;
    proven = true;
    await freeLine(link, line, run, clock);
    if (run.over) return;
    await options.acting?.();
    await follower.skip();
    if (run.over) return;
    await paste(link, make());
    if (run.over) return link.write(CLEAR_LINE);
    submittedAt = clock.elapsed();
    follower.wake();
    // What a person has typed since goes with it.
    line.clear();
    await enter(link, run, clock);
  }

  async function follow(
    make: () => { text: string; pastes: readonly string[] },
    emit: (event: RuntimeEvent) => void,
  ): Promise<{ outcome: TurnOutcome; run: Run }> {
    let text = "";
    const run = createRun(() => text, emit, options.contextWindow ?? USUAL_WINDOW);
    if (dead) run.fail({ error: ENDED, unread: true, gone: true });
    else {
      current = run;
      submittedAt = undefined;
      const pastes = () => {
        const made = make();
        text = made.text.trim();
        return made.pastes;
      };
      submit(run, pastes).catch((error: unknown) => {
        log.warn({ err: error }, "could not hand the message to the agent program");
        run.fail({ error: error instanceof Error ? error.message : ENDED });
      });
    }
    const outcome = await run.end;
    if (submittedAt !== undefined && run.taken) history = [];
    current = undefined;
    return { outcome, run };
  }

  /** Escape until the turn has ended; then the process has to go. */
  async function interrupt(run: Run): Promise<void> {
    if (run.interrupted || run.over) return;
    run.interrupt();
    if (submittedAt === undefined) return run.fail({ wanted: true });
    for (let step = 0; step < 2; step++) {
      link.write(ESCAPE);
      const until = clock.elapsed() + INTERRUPT_STEP_MS;
      while (!run.over && clock.elapsed() < until) await Promise.race([run.end, sleep(clock, 50)]);
      if (run.over) return;
    }
    const { ready, busy } = await link.reading();
    if (ready && !busy) {
      // It gave the message back, without a word of it in its records.
      link.write(CLEAR_LINE);
      return run.fail({ wanted: true });
    }
    await link.program.close(CLOSE_GRACE_MS / 2);
  }

  if (signal.aborted) throw new Error(CANCELLED);
  await start();
  const session: RuntimeSession = {
    get pid() {
      return link.program.pid;
    },
    get model() {
      return answeredBy ?? options.model;
    },
    get resumeToken() {
      return follower.found ? conversation.id : null;
    },
    get primed() {
      return conversation.type === "resume" || options.history.length > 0;
    },
    closed: gone.promise,
    terminal: terminalOf(link, type, gone.promise),
    async turn(input: TurnInput, emit) {
      const before = () => (history.length === 0 ? "" : historyText(history));
      const { outcome } = await follow(
        () => pastesFor(input, before(), (text) => plainText(text, claudeCode)),
        emit,
      );
      lastPercent = outcome.contextPercent ?? lastPercent;
      answeredBy = outcome.model ?? answeredBy;
      return outcome;
    },
    async interrupt() {
      if (current) await interrupt(current);
      else await occupant.interrupt();
    },
    // Its own command for that would change the settings of the user who runs the gateway.
    setModel: async () => false,
    contextPercent: async () => lastPercent,
    async compact() {
      const { outcome, run } = await follow(
        () => ({ text: COMPACT, pastes: [pasteOf(COMPACT)] }),
        () => {},
      );
      if (outcome.status !== "done" || !run.state.compacted) return null;
      lastPercent = undefined;
      return { summary: readSummary(run.state.summary), ...(outcome.usage && { usage: outcome.usage }) };
    },
    async close() {
      closing = true;
      await link.program.close(CLOSE_GRACE_MS);
      await gone.promise;
      link.screen.dispose();
    },
  };

  function type(sent: string): void {
    const keys = keysOf(sent);
    if (keys === "" || dead) return;
    const { submitted } = line.keys(keys);
    link.write(keys);
    if (submitted) occupant.begin(current?.end);
    link.wake();
  }

  if (signal.aborted) {
    await session.close();
    throw new Error(CANCELLED);
  }
  return session;
}

/** What a program that did not start says on its screen. */
function startError(said: string): string {
  const text = safeSentence(
    said
      .split("\n")
      .filter((row) => row.trim() !== "")
      .slice(-3)
      .join(" "),
    "",
  );
  return text === "" ? ENDED : `The agent program did not start: ${text}`;
}
