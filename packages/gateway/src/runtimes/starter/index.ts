import { setImmediate as nextTick } from "node:timers/promises";
import { type Clock, sleep } from "../../lib/clock.ts";
import { noFacts } from "../status.ts";
import { NO_TOKENS } from "../token-counts.ts";
import { toolText } from "../tool-text.ts";
import type { OpenOptions, Runtime, RuntimeEvent, RuntimeSession, TurnInput, TurnOutcome } from "../types.ts";
import { HOW_TO_CONNECT, readRequest, replyTo } from "./reply.ts";

/** A text event's worth: 16 characters, never half of one. */
const SLICE = /[\s\S]{1,16}/gu;
/** Milliseconds between two numbers of `count to N`. */
const COUNT_EVERY_MS = 100;

const NOTHING = { models: [{ model: undefined, ...NO_TOKENS }] };

type Emit = (event: RuntimeEvent) => void;

/**
 * The embedded runtime: no process, no model, no network. It says so in each reply, repeats what it received, and
 * understands two requests that let the gateway's features be tried: `count to N` and `share [path]`.
 */
export function createStarterRuntime({ clock }: { clock: Clock }): Runtime {
  return {
    type: "starter",
    inspect: async () => noFacts("not-needed"),
    async open(options) {
      if (options.signal.aborted) throw new Error("Opening the session was cancelled.");
      return openSession(options, clock);
    },
  };
}

function openSession(options: OpenOptions, clock: Clock): RuntimeSession {
  let seen = options.history.filter((entry) => entry.role === "user").length;
  let running: AbortController | undefined;
  const closed = Promise.withResolvers<void>();
  let open = true;

  async function answer(input: TurnInput, say: (text: string) => void, emit: Emit, signal: AbortSignal) {
    const request = readRequest(input.text);
    if (request.type === "count") {
      say("No model is connected, but the starter agent can count. ");
      for (let n = 1; n <= request.to && !signal.aborted; n++) {
        say(`${n} `);
        if (n < request.to) await sleep(clock, COUNT_EVERY_MS, signal);
      }
      return;
    }
    const notes = request.type === "share" ? await share(request.path, input, emit, seen) : [];
    for (const [piece] of replyTo({ input, seen, notes }).matchAll(SLICE)) {
      if (signal.aborted) return;
      say(piece);
      await nextTick();
    }
  }

  /** Has the named file shared through the gateway's tool, or hands back the images that came with the message. */
  async function share(
    path: string | undefined,
    input: TurnInput,
    emit: Emit,
    turn: number,
  ): Promise<string[]> {
    const tool = options.tools.find((candidate) => candidate.name === "share_file");
    const paths = path ? [path] : input.files.map((file) => file.path);
    if (!tool) return ["Sharing files is not available in this session."];
    if (paths.length === 0) return ["Attach a file, or name one, to have it shared."];
    const notes: string[] = [];
    for (const [index, file] of paths.entries()) {
      const id = `share-${turn}-${index + 1}`;
      const shared = { path: file };
      emit({ type: "tool_use", name: tool.name, id, input: toolText(shared)! });
      try {
        const result = await tool.call(shared);
        notes.push(`share_file said: ${result}`);
        emit({ type: "tool_result", id, isError: false, result: toolText(result)! });
      } catch (error) {
        const result = error instanceof Error ? error.message : "unknown reason";
        notes.push(`share_file refused: ${result}`);
        emit({ type: "tool_result", id, isError: true, result: toolText(result)! });
      }
    }
    return notes;
  }

  return {
    pid: null,
    resumeToken: null,
    primed: options.history.length > 0,
    async turn(input, emit): Promise<TurnOutcome> {
      if (!open) return { status: "failed", text: "", error: "The session is closed." };
      const control = new AbortController();
      running = control;
      seen += 1;
      let text = "";
      const say = (piece: string) => {
        text += piece;
        emit({ type: "text", text: piece });
      };
      await nextTick();
      if (!control.signal.aborted) await answer(input, say, emit, control.signal);
      running = undefined;
      return {
        status: control.signal.aborted ? "interrupted" : "done",
        text,
        contextPercent: 0,
        usage: NOTHING,
      };
    },
    async interrupt() {
      running?.abort();
    },
    setModel: async () => true,
    contextPercent: async () => 0,
    compact: async () => ({
      summary: `The conversation has ${seen} message${seen === 1 ? "" : "s"} so far. ${HOW_TO_CONNECT}`,
      usage: NOTHING,
    }),
    async close() {
      open = false;
      running?.abort();
      closed.resolve();
    },
    closed: closed.promise,
  };
}
