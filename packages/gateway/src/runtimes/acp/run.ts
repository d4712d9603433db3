import { type Clock, sleep } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Fields } from "../agent-cli/index.ts";
import type { RuntimeEvent, TurnOutcome } from "../types.ts";
import { describeFailure } from "./failure.ts";
import { createToolGuard } from "./guard.ts";
import type { RpcAnswer } from "./json-rpc.ts";
import type { Link } from "./link.ts";
import type { PermissionRules } from "./permission.ts";
import type { KnownProgram } from "./programs.ts";
import { createTurnReader, type TurnReader } from "./turn-reader.ts";

/** After a cancellation the agents that were tried answer within 0.2 s; together the steps stay within 5 s. */
const CANCEL_MS = 3000;
const TERMINATE_MS = 1200;

/** One prompt and everything until it is answered. */
export interface Run {
  readonly reader: TurnReader;
  readonly interrupted: boolean;
  /** What the agent answered to the prompt; null while, or where, it answered nothing. */
  readonly answer: Fields | null;
  /** Whether the agent now holds what the prompt said. */
  readonly heard: boolean;
  /** Sends the prompt and waits for its end. */
  prompt(blocks: Promise<readonly Fields[]>): Promise<TurnOutcome>;
  /** Asks the agent to stop, and ends its process when it does not. */
  interrupt(): Promise<void>;
  /** The agent asked for permission for this tool call. */
  asked(callId: string): void;
}

export interface RunOptions {
  link: Link;
  sessionId: string;
  emit(event: RuntimeEvent): void;
  clock: Clock;
  log: Logger;
  rules: PermissionRules;
  program: KnownProgram | undefined;
  /** Retries of a failed model call. */
  maxRetries: number;
}

const UNASKED = "The agent used a tool that it is not allowed to use, so the turn was ended.";

export function createRun({
  link,
  sessionId,
  emit,
  clock,
  log,
  rules,
  program,
  maxRetries,
}: RunOptions): Run {
  const { rpc, process } = link;
  /** Why the gateway ended the turn. */
  let refused: string | undefined;
  const guard = createToolGuard(rules, clock, (tool) => {
    log.warn({ tool }, "the agent used a tool that is not allowed, without asking; ending its turn");
    refused = UNASKED;
    void interrupt();
  });
  const reader = createTurnReader(emit, clock, {
    nameCall: program?.toolName,
    onCall: guard.saw,
    onRetry({ attempt, message }) {
      // What an unknown program writes may mean something else.
      if (program === undefined || attempt <= maxRetries || refused !== undefined) return;
      log.warn({ attempt, maxRetries }, "the agent's own retries exceed runtime.maxRetries; ending its turn");
      refused = `${message} The agent gave up after ${maxRetries === 1 ? "1 retry" : `${maxRetries} retries`}.`;
      void interrupt();
    },
  });
  const stop = Promise.withResolvers<"interrupted">();
  const over = Promise.withResolvers<"over">();
  let interrupted = false;
  let sent = false;
  let answered: Fields | null = null;
  let heard = false;

  const overWithin = async (ms: number) => (await Promise.race([over.promise, sleep(clock, ms)])) === "over";

  async function send(blocks: Promise<readonly Fields[]>): Promise<TurnOutcome> {
    const prompt = await Promise.race([stop.promise, blocks.catch(() => null)]);
    if (prompt === "interrupted" || interrupted) return { status: "interrupted", text: "" };
    if (prompt === null)
      return { status: "failed", text: "", error: "A file of the message could not be read." };
    sent = true;
    const answer = await rpc.request("session/prompt", { sessionId, prompt });
    reader.end();
    if (answer.type === "result") answered = answer.value;
    heard = answer.type === "result" && answer.value.stopReason !== "refusal";
    if (refused !== undefined) return { status: "failed", text: reader.text, error: refused };
    return outcomeOf(answer, reader.text, interrupted);
  }

  async function interrupt(): Promise<void> {
    if (interrupted) return void (await over.promise);
    interrupted = true;
    stop.resolve("interrupted");
    if (sent) {
      rpc.notify("session/cancel", { sessionId });
      if (await overWithin(CANCEL_MS)) return;
      process.kill("SIGTERM");
      if (await overWithin(TERMINATE_MS)) return;
      process.kill("SIGKILL");
    }
    await over.promise;
  }

  return {
    reader,
    get interrupted() {
      return interrupted;
    },
    get answer() {
      return answered;
    },
    get heard() {
      return heard;
    },
    async prompt(blocks) {
      try {
        return await send(blocks);
      } finally {
        guard.end();
        over.resolve("over");
      }
    },
    interrupt,
    asked: guard.asked,
  };
}

function outcomeOf(answer: RpcAnswer, text: string, interrupted: boolean): TurnOutcome {
  if (interrupted) return { status: "interrupted", text };
  if (answer.type !== "result") {
    const gone = answer.type === "closed";
    return { status: "failed", text, error: describeFailure(answer), ...(gone && { gone }) };
  }
  switch (answer.value.stopReason) {
    case "cancelled":
      return { status: "interrupted", text };
    case "refusal":
      if (text === "") return { status: "failed", text, error: "The agent declined to answer." };
      return { status: "done", text };
    default:
      return { status: "done", text };
  }
}
