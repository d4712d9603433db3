import { hash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { keepNewest } from "../../lib/keep-newest.ts";
import { type Fields, isFields, nameOrNull, textOrNull } from "../agent-cli/index.ts";
import { MAX_CALLS, toolId, toolTitle } from "../tool-text.ts";
import type { RuntimeEvent } from "../types.ts";
import { retryEvent } from "../upstream.ts";
import type { ToolGuard } from "./guard.ts";
import { toolName } from "./permission.ts";
import type { KnownProgram } from "./programs.ts";
import { readRetryHint } from "./retry-hint.ts";
import { callName, inputOf, resultOf } from "./tool-call.ts";

/** Turns the updates of one prompt into events. */
export interface TurnReader {
  /** All text so far, as it was emitted. */
  readonly text: string;
  read(update: Fields): void;
  /** The agent asks whether it may make this tool call, which some tell of in no other way. */
  asked(call: Fields): void;
  /** The agent wrote this beside the protocol. */
  overhear(text: string): void;
  /** Tells the tool calls of which nothing more came. */
  end(): void;
  /** Name of a tool call of this turn. */
  toolName(id: string): string | undefined;
}

/** Images of one tool call; more are not looked at. */
const MAX_CALL_IMAGES = 20;
/** Images that wait for the end of their calls, as base64. */
const MAX_HELD_CHARS = 64 * 1024 * 1024;

/** The newest of what was told of a tool call. */
interface Call {
  /** The programmatic name; null while the agent told none. */
  own: string | null;
  kind: string | null;
  title: string | undefined;
  input: string | undefined;
  result: string | undefined;
  told: boolean;
  over: boolean;
  /** Images of the newest content, which each update replaces. */
  images: readonly Fields[];
}

/** The input of a call follows the call at once; a call without any is told after this all the same. */
const TELL_AFTER_MS = 1000;
/** An agent that retries may write a page about each attempt. */
const HINT_EVERY_MS = 1000;
const RETRYING_ALOUD = /^\W{0,8}(?:retrying|reconnecting|api error|rate limit)/i;

export interface ReaderOptions {
  /** Names a call of a program that gives no name: from its id, or from the title that it began with. */
  nameCall?: KnownProgram["toolName"];
  /** Gets each failed attempt to reach the model that the agent tells of. */
  onRetry?(retry: ReturnType<typeof retryEvent>): void;
  /** Gets every state of a call. */
  onCall?: ToolGuard["saw"];
}

export function createTurnReader(
  emit: (event: RuntimeEvent) => void,
  clock: Pick<Clock, "elapsed" | "after">,
  { nameCall = () => null, onCall = () => {}, onRetry = () => {} }: ReaderOptions = {},
): TurnReader {
  const calls = new Map<string, Call>();
  /** Tool calls that wait for their input to be told with. */
  const untold = new Set<string>();
  let attempts = 0;
  let hintedAt = Number.NEGATIVE_INFINITY;
  const images = new Set<string>();
  let text = "";
  let heldChars = 0;
  let messageId: string | null = null;
  /** Something other than text came after the last text: the next text is a new paragraph. */
  let broken = false;

  const say = (piece: string) => {
    if (piece === "") return;
    tellAll();
    attempts = 0;
    const added = broken && text !== "" ? `\n\n${piece}` : piece;
    broken = false;
    text += added;
    emit({ type: "text", text: added });
  };

  const show = (content: Fields) => {
    if (typeof content.data !== "string" || typeof content.mimeType !== "string") return;
    // A tool's content is sent whole with each update.
    const digest = hash("sha256", content.data, "base64");
    if (images.has(digest)) return;
    images.add(digest);
    keepNewest(images, MAX_CALLS);
    emit({ type: "image", mime: content.mimeType, data: Buffer.from(content.data, "base64") });
  };

  const message = (update: Fields) => {
    const content = isFields(update.content) ? update.content : {};
    const id = textOrNull(update.messageId);
    if (id !== null && id !== messageId) {
      messageId = id;
      broken = true;
    }
    if (content.type === "text") say(textOrNull(content.text) ?? "");
    else if (content.type === "image") show(content);
  };

  const thought = (update: Fields) => {
    const content = isFields(update.content) ? update.content : {};
    if (typeof content.text !== "string" || content.text === "") return;
    tellAll();
    // A thought about a failure is none; some agents tell of their own attempts this way.
    if (RETRYING_ALOUD.test(content.text)) overhear(content.text);
    broken = true;
    emit({ type: "thinking", text: content.text });
  };

  const tell = (id: string, call: Call) => {
    untold.delete(id);
    if (call.told) return;
    call.told = true;
    const { title, input } = call;
    const name = callName(call);
    emit({
      type: "tool_use",
      name,
      id,
      ...(title !== undefined && title !== name && { title }),
      ...(input !== undefined && { input }),
    });
  };
  const tellAll = () => {
    for (const id of untold) tell(id, calls.get(id)!);
  };

  /** Keeps the images of a call until it is over; of calls that hold too much together, the newest goes without. */
  const hold = (call: Call, content: readonly Fields[]) => {
    heldChars -= charsOf(call.images);
    call.images = heldChars + charsOf(content) <= MAX_HELD_CHARS ? content : [];
    heldChars += charsOf(call.images);
  };

  const callOf = (id: string, update: Fields): Call => {
    let call = calls.get(id);
    if (!call) {
      call = newCall();
      calls.set(id, call);
      keepNewest(calls, MAX_CALLS, (old) => {
        const gone = calls.get(old)!;
        tell(old, gone);
        hold(gone, []);
      });
      // One timer for all: those that come while it runs are told with the first.
      if (untold.size === 0) clock.after(TELL_AFTER_MS, tellAll);
      untold.add(id);
      broken = true;
    }
    const title = textOrNull(update.title);
    call.own ??= toolName(update) ?? nameCall({ id, title, first: update.sessionUpdate === "tool_call" });
    call.kind = nameOrNull(update.kind) ?? call.kind;
    call.title = toolTitle(update.title) ?? call.title;
    call.input = inputOf(update.rawInput) ?? call.input;
    call.result = resultOf(update.content, update.rawOutput) ?? call.result;
    if (Array.isArray(update.content)) hold(call, imagesOf(update.content));
    return call;
  };

  const tool = (update: Fields) => {
    if (typeof update.toolCallId !== "string") return;
    const id = toolId(update.toolCallId);
    broken = true;
    const call = callOf(id, update);
    const { status } = update;
    onCall({ id, name: call.own ?? call.kind, title: call.title ?? null, status });
    const over = status === "completed" || status === "failed";
    if (over || status === "in_progress" || call.input !== undefined) tell(id, call);
    else emit({ type: "activity" });
    if (!call.over && over) {
      call.over = true;
      const { result } = call;
      emit({
        type: "tool_result",
        id,
        isError: status === "failed",
        ...(result !== undefined && { result }),
      });
    }
    if (!call.over) return;
    for (const image of call.images) show(image);
    hold(call, []);
    Object.assign(call, { input: undefined, result: undefined });
  };

  const overhear = (said: string) => {
    if (clock.elapsed() - hintedAt < HINT_EVERY_MS) return;
    const hint = readRetryHint(said);
    if (!hint) return;
    hintedAt = clock.elapsed();
    attempts = hint.attempt ?? attempts + 1;
    const retry = retryEvent({ attempt: attempts, of: hint.of ?? attempts, status: hint.status });
    emit(retry);
    onRetry(retry);
  };

  return {
    get text() {
      return text;
    },
    toolName(id) {
      return calls.get(toolId(id))?.own ?? undefined;
    },
    asked(call) {
      if (typeof call.toolCallId !== "string") return;
      const id = toolId(call.toolCallId);
      tell(id, callOf(id, call));
    },
    overhear,
    end: tellAll,
    read(update) {
      if (ofSubagent(update)) return;
      if (update.sessionUpdate === "agent_message_chunk") message(update);
      else if (update.sessionUpdate === "agent_thought_chunk") thought(update);
      else if (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update") {
        // The model has answered.
        attempts = 0;
        tool(update);
      } else if (update.sessionUpdate === "plan") emit({ type: "activity" });
    },
  };
}

const newCall = (): Call => ({
  own: null,
  kind: null,
  title: undefined,
  input: undefined,
  result: undefined,
  told: false,
  over: false,
  images: [],
});

function imagesOf(content: readonly unknown[]): Fields[] {
  const images = content.flatMap((item) =>
    isFields(item) && isFields(item.content) && item.content.type === "image"
      ? [{ data: item.content.data, mimeType: item.content.mimeType }]
      : [],
  );
  return images.slice(0, MAX_CALL_IMAGES);
}

const charsOf = (images: readonly Fields[]) =>
  images.reduce((sum, { data }) => sum + (textOrNull(data)?.length ?? 0), 0);

/** A subagent's work is the business of the tool call that started it (claude-agent-acp marks it so). */
function ofSubagent({ _meta: meta }: Fields): boolean {
  return isFields(meta) && isFields(meta.claudeCode) && typeof meta.claudeCode.parentToolUseId === "string";
}
