import { type GrowingText, growingText } from "../../lib/growing-text.ts";
import { keepNewest } from "../../lib/keep-newest.ts";
import { addTokens, anyTokens, NO_TOKENS } from "../token-counts.ts";
import { MAX_CALLS } from "../tool-text.ts";
import type { RuntimeEvent, TokenCounts, TurnOutcome } from "../types.ts";
import { failureIn, retryEvent } from "../upstream.ts";
import { NOT_LOGGED_IN, saysNotLoggedIn } from "./login.ts";
import type { AgentLine, Block, ResultLine, Usage } from "./protocol.ts";
import { safeSentence } from "./safe-sentence.ts";

/** What is known of a running turn. {@link reduceTurn} returns the next one; the last one is not used again. */
export interface TurnState {
  /** All text so far, as it was emitted. Grows in place, like `unrepeated` and `tools`. */
  text: GrowingText;
  /** Text that came in deltas and that no `assistant` line has repeated yet. */
  unrepeated: GrowingText;
  /** Whether thinking came in deltas that no `assistant` line has repeated yet. */
  thinkingUnrepeated: boolean;
  /** Something other than text came after the last text: the next text is a new paragraph. */
  broken: boolean;
  tools: Set<string>;
  /** A tool call whose input is still being written; it is told with its input. */
  tool: { id: string; name: string } | null;
  model: string | undefined;
  usage: Usage;
  /** What earlier model calls of the turn were reported to have used, and the latest one. */
  used: TokenCounts;
  using: TokenCounts;
  compacted: boolean;
  /** The program's own summary, from the message that follows a compaction. */
  summary: string | null;
}

export interface TurnStep {
  state: TurnState;
  events: readonly RuntimeEvent[];
  /** Set by the line that ends the turn. */
  result?: ResultLine;
}

const NO_EVENTS: readonly RuntimeEvent[] = [];
const ACTIVITY: readonly RuntimeEvent[] = [{ type: "activity" }];

export function newTurn(): TurnState {
  return {
    text: growingText(),
    unrepeated: growingText(),
    thinkingUnrepeated: false,
    broken: false,
    tools: new Set(),
    tool: null,
    model: undefined,
    usage: { input: undefined, output: undefined, billed: {} },
    used: NO_TOKENS,
    using: NO_TOKENS,
    compacted: false,
    summary: null,
  };
}

/** Takes a piece of text that only goes on with the text before it; false, with nothing done, for any other. */
export function continueText(state: TurnState, text: string): boolean {
  if (state.tool !== null || state.broken || text === "") return false;
  state.unrepeated.add(text);
  state.text.add(text);
  return true;
}

/** Lines that leave a tool call open whose input is still being written. */
const BETWEEN: ReadonlySet<AgentLine["kind"]> = new Set(["working", "block_stop", "message_delta", "other"]);

/** Advances a turn by one line of the agent program. */
export function reduceTurn(state: TurnState, line: AgentLine): TurnStep {
  const { tool } = state;
  if (tool === null || BETWEEN.has(line.kind)) return reduceLine(state, line);
  const repeated =
    line.kind === "assistant" && line.blocks.some((b) => b.type === "tool_use" && b.id === tool.id);
  if (repeated) return reduceLine({ ...state, tool: null }, line);
  // The line that brings the input did not come.
  const told = toolUse(state, tool.id, tool.name, undefined);
  const step = reduceLine(told.state, line);
  return { ...step, events: [...told.events, ...step.events] };
}

function reduceLine(state: TurnState, line: AgentLine): TurnStep {
  switch (line.kind) {
    case "init":
      return quiet({ ...state, model: line.model ?? state.model });
    case "message_start":
      return quiet({
        ...withUsage(state, line.usage),
        used: addTokens(state.used, state.using),
        using: { ...NO_TOKENS, ...line.usage?.billed },
        model: line.model ?? state.model,
        broken: true,
        unrepeated: growingText(),
        thinkingUnrepeated: false,
      });
    case "message_delta":
      return quiet({ ...withUsage(state, line.usage), using: { ...state.using, ...line.usage?.billed } });
    case "block_start":
      if (line.block === "tool_use") return toolBegins(state, line.id, line.name);
      return quiet(line.block === "text" ? state : { ...state, broken: true });
    case "delta":
      return delta(state, line.of, line.text);
    case "working":
      return { state, events: ACTIVITY };
    case "retry":
      return { state, events: [retryEvent(line)] };
    case "assistant":
      return assistant(state, line);
    case "user":
      return user(state, line.blocks, line.synthetic);
    case "compacted":
      return quiet({ ...state, compacted: true });
    case "result":
      return line.queued > 0 && !line.isError ? quiet({ ...state, broken: true }) : result(state, line);
    default:
      return quiet(state);
  }
}

/** How a turn ended, from its state and its last line; null stands for a process that is gone. */
export function outcomeOf(
  state: TurnState,
  end: ResultLine | null,
  { interrupted, window }: { interrupted: boolean; window: number | undefined },
): TurnOutcome {
  const model = state.model ?? (end ? soleModel(end) : undefined);
  const percent = contextShare(state.usage, window ?? (end && model ? end.windows[model] : undefined));
  const about = {
    ...(model === undefined ? {} : { model }),
    ...(percent === undefined ? {} : { contextPercent: percent }),
  };
  const text = state.text.toString();
  if (interrupted || end?.aborted) return { status: "interrupted", text, ...about };
  if (end === null)
    return { status: "failed", text, error: "The agent process ended unexpectedly.", ...about };
  if (end.isError) {
    const said = end.text || end.errors.join(" ");
    const error = saysNotLoggedIn(said)
      ? NOT_LOGGED_IN
      : (failureIn(said, end.apiStatus ?? undefined) ?? safeSentence(said, "The agent reported an error."));
    return { status: "failed", text, error, ...about };
  }
  const known = end.text.trim() === "" || text.trimEnd().endsWith(end.text.trim());
  return { status: "done", text: known ? text : end.text, ...about };
}

/** What the turn's model calls used, as they were streamed; undefined where nothing was said of it. */
export function streamedUse({ used, using }: TurnState): TokenCounts | undefined {
  const all = addTokens(used, using);
  return anyTokens(all) ? all : undefined;
}

/** Share of the context in use, 0-100 with one decimal. */
export function contextShare(
  usage: Pick<Usage, "input" | "output">,
  window: number | undefined,
): number | undefined {
  if (usage.input === undefined || window === undefined || window <= 0) return undefined;
  const share = ((usage.input + (usage.output ?? 0)) / window) * 100;
  return Math.min(100, Math.round(share * 10) / 10);
}

function quiet(state: TurnState): TurnStep {
  return { state, events: NO_EVENTS };
}

function withUsage(state: TurnState, usage: Usage | null): TurnState {
  if (usage === null) return state;
  // A call's closing line may leave out the input that its opening line gave.
  return {
    ...state,
    usage: {
      input: usage.input ?? state.usage.input,
      output: usage.output ?? state.usage.output,
      billed: usage.billed,
    },
  };
}

function delta(state: TurnState, of: "text" | "thinking", text: string): TurnStep {
  if (text === "") return quiet(state);
  if (of === "thinking") {
    return {
      state: { ...state, thinkingUnrepeated: true, broken: true },
      events: [{ type: "thinking", text }],
    };
  }
  state.unrepeated.add(text);
  return say(state, text);
}

/** Adds reply text; after a tool or a thought it starts a new paragraph. */
function say(state: TurnState, text: string): TurnStep {
  const added = state.broken && state.text.length > 0 ? `\n\n${text}` : text;
  state.text.add(added);
  return {
    state: state.broken ? { ...state, broken: false } : state,
    events: [{ type: "text", text: added }],
  };
}

function toolBegins(state: TurnState, id: string, name: string): TurnStep {
  const known = id === "" || state.tools.has(id);
  return { state: { ...state, broken: true, tool: known ? null : { id, name } }, events: ACTIVITY };
}

function toolUse(state: TurnState, id: string, name: string, input: string | undefined): TurnStep {
  const next = { ...state, broken: true, tool: null };
  if (id === "" || state.tools.has(id)) return quiet(next);
  state.tools.add(id);
  keepNewest(state.tools, MAX_CALLS);
  return { state: next, events: [{ type: "tool_use", name, id, ...(input !== undefined && { input }) }] };
}

function assistant(state: TurnState, line: Extract<AgentLine, { kind: "assistant" }>): TurnStep {
  const usage = line.usage?.input === undefined ? null : line.usage;
  let next: TurnState = { ...withUsage(state, usage), model: line.model ?? state.model };
  // The result reports an API error; as text it would be stored as the agent's words.
  if (line.apiError) return quiet(next);
  const events: RuntimeEvent[] = [];
  const take = (step: TurnStep) => {
    next = step.state;
    events.push(...step.events);
  };
  // What was streamed is repeated here: what is left is text that came in no delta.
  let repeated = next.unrepeated.toString();
  for (const block of line.blocks) {
    switch (block.type) {
      case "text": {
        const streamed = repeated !== "";
        const rest = streamed && block.text.startsWith(repeated) ? block.text.slice(repeated.length) : "";
        const covered = streamed && repeated.startsWith(block.text);
        repeated = covered ? repeated.slice(block.text.length) : "";
        if (!streamed && block.text !== "") take(say(next, block.text));
        else if (rest !== "") take(say({ ...next, broken: false }, rest));
        next = { ...next, unrepeated: growingText(repeated) };
        break;
      }
      case "thinking":
        if (!next.thinkingUnrepeated && block.text !== "")
          take({ state: { ...next, broken: true }, events: [{ type: "thinking", text: block.text }] });
        next = { ...next, thinkingUnrepeated: false };
        break;
      case "tool_use":
        take(toolUse(next, block.id, block.name, block.input));
        break;
      case "image":
        take(image(next, block.image));
        break;
      case "tool_result":
        break;
    }
  }
  return { state: next, events };
}

function user(state: TurnState, blocks: readonly Block[], synthetic: boolean): TurnStep {
  if (synthetic && state.compacted && state.summary === null) {
    const summary = blocks.map((block) => (block.type === "text" ? block.text : "")).join("\n");
    return quiet({ ...state, summary });
  }
  const events: RuntimeEvent[] = [];
  for (const block of blocks) {
    if (block.type !== "tool_result") continue;
    events.push({
      type: "tool_result",
      id: block.id,
      isError: block.isError,
      ...(block.text !== undefined && { result: block.text }),
    });
    for (const one of block.images) events.push(...image(state, one).events);
  }
  return events.length === 0 ? quiet(state) : { state: { ...state, broken: true }, events };
}

function image(state: TurnState, { mime, base64 }: { mime: string; base64: string }): TurnStep {
  return { state, events: [{ type: "image", mime, data: Buffer.from(base64, "base64") }] };
}

function result(state: TurnState, line: ResultLine): TurnStep {
  const seen = state.usage.input === undefined ? withUsage(state, line.usage) : state;
  // A program that streams nothing says everything here; readers of the stream get it too.
  const only = !line.isError && !line.aborted && seen.text.length === 0 && line.text !== "";
  const step: TurnStep = only ? say(seen, line.text) : quiet(seen);
  return { ...step, result: line };
}

function soleModel(line: ResultLine): string | undefined {
  const models = Object.keys(line.windows);
  return models.length === 1 ? models[0] : undefined;
}
