import { type ModelMessage, stepCountIs, streamText, type UserContent } from "ai";
import { readPinned } from "../../../lib/guarded/index.ts";
import { toolText } from "../../tool-text.ts";
import { MAX_FILE_BYTES, type ModelUse, type TurnInput, type TurnOutcome } from "../../types.ts";
import type { WireEvent } from "../protocol.ts";
import type { Agent } from "./agent.ts";
import { compact, needsCompaction } from "./compact.ts";
import { contextPercent } from "./conversation.ts";
import { describeFailure, type Failure } from "./failure.ts";
import { imagesOf, isMcpResult, textOf } from "./mcp-result.ts";
import { type CallUse, useOf } from "./use.ts";

type Emit = (event: WireEvent) => void;

/** Stands for an answer that was stopped before its first word. */
const NOTHING_SAID = "(I was stopped before I could answer.)";

/** Answers one message: model calls and tool calls in turn until the model is done. Never rejects. */
export async function runTurn(
  agent: Agent,
  input: TurnInput,
  emit: Emit,
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const { conversation, models } = agent;
  const question = await userMessage(input);
  if (!question) return { status: "failed", text: "", error: "A file of the message could not be read." };
  const used: ModelUse[] = [];
  const onUse = (use: ModelUse) => void used.push(use);
  if (needsCompaction(conversation)) await compact(agent, { signal, whole: false, onUse });

  let answer = await askModel(agent, question, { emit, onUse }, signal);
  if (answer.failure?.overflow && answer.messages.length === 0 && !signal.aborted) {
    if (await compact(agent, { signal, whole: false, onUse }))
      answer = await askModel(agent, question, { emit, onUse }, signal);
  }

  const { text, failure, messages } = answer;
  const interrupted = signal.aborted;
  if (interrupted && messages.length === 0) messages.push({ role: "assistant", content: NOTHING_SAID });
  // A question that failed without an answer is forgotten: a file the model cannot take must not spoil the rest.
  if (messages.length > 0) conversation.messages.push(question, ...messages);

  const percent = contextPercent(conversation);
  const facts = {
    text,
    model: answer.model ?? models.id,
    ...(percent !== undefined && { contextPercent: percent }),
    ...(used.length > 0 && { usage: { models: used } }),
  };
  if (interrupted) return { status: "interrupted", ...facts };
  if (!failure) return { status: "done", ...facts };
  agent.log("warn", failure.sentence, failure.detail);
  return { status: "failed", ...facts, error: failure.sentence };
}

interface Answer {
  /** All text of the turn. */
  text: string;
  /** What the conversation gains by it; unfinished tool calls left out. */
  messages: ModelMessage[];
  model: string | undefined;
  failure: Failure | undefined;
}

async function askModel(
  agent: Agent,
  question: ModelMessage,
  { emit, onUse }: { emit: Emit; onUse: (use: ModelUse) => void },
  signal: AbortSignal,
): Promise<Answer> {
  const { conversation, models } = agent;
  const answer: Answer = { text: "", messages: [], model: undefined, failure: undefined };
  let stepText = "";
  const fail = (error: unknown) => {
    if (!signal.aborted) answer.failure ??= describeFailure(error, models.id);
  };

  const reportUse = (model: string, usage: CallUse) => {
    const use = useOf(model, usage);
    if (use) onUse(use);
  };

  const stream = streamText({
    model: models.current,
    ...(agent.instructions !== undefined && { instructions: agent.instructions }),
    messages: [...conversation.messages, question],
    tools: agent.tools,
    stopWhen: stepCountIs(agent.maxSteps),
    // The provider is asked by a `fetch` that does this itself, and tells of it.
    maxRetries: 0,
    providerOptions: models.options,
    abortSignal: signal,
    onError: ({ error }) => fail(error),
    onStepEnd: (step) => {
      answer.messages.push(...step.response.messages);
      stepText = "";
    },
  });
  let finish = "";
  try {
    for await (const part of stream.stream) {
      switch (part.type) {
        case "text-delta": {
          if (part.text === "") break;
          // The words before and after a tool call are two paragraphs.
          const gap = stepText === "" && answer.text !== "" && !answer.text.endsWith("\n") ? "\n\n" : "";
          stepText += part.text;
          answer.text += gap + part.text;
          emit({ type: "text", text: gap + part.text });
          break;
        }
        case "reasoning-delta":
          if (part.text !== "") emit({ type: "thinking", text: part.text });
          break;
        case "tool-input-delta":
          emit({ type: "activity" });
          break;
        case "tool-call":
          emit({ type: "tool_use", name: part.toolName, id: part.toolCallId, ...named("input", part.input) });
          break;
        case "tool-result":
          emitResult(part.toolCallId, part.output, emit);
          break;
        case "tool-error":
          emit({
            type: "tool_result",
            id: part.toolCallId,
            isError: true,
            ...named("result", part.error instanceof Error ? part.error.message : part.error),
          });
          break;
        case "file":
          if (part.file.mediaType.startsWith("image/")) {
            emit({ type: "image", mime: part.file.mediaType, base64: part.file.base64 });
          }
          break;
        case "finish-step":
          answer.model = part.response.modelId;
          conversation.used = part.usage.inputTokens ?? conversation.used;
          reportUse(part.response.modelId, part.usage);
          finish = part.finishReason;
          break;
        case "error":
          fail(part.error);
          break;
      }
    }
  } catch (error) {
    fail(error);
  }
  if (stepText !== "") answer.messages.push({ role: "assistant", content: stepText });
  if (answer.text === "" && !answer.failure && !signal.aborted) answer.failure = emptyAnswer(finish);
  return answer;
}

function emitResult(id: string, output: unknown, emit: Emit): void {
  const result = isMcpResult(output) ? output : undefined;
  for (const image of result ? imagesOf(result) : []) emit({ type: "image", ...image });
  emit({
    type: "tool_result",
    id,
    isError: result?.isError === true,
    ...named("result", result ? textOf(result) : output),
  });
}

/** A field for what a tool was given or gave, where there is any. */
function named<Name extends "input" | "result">(name: Name, value: unknown): { [Key in Name]?: string } {
  const text = toolText(value);
  return text === undefined ? {} : ({ [name]: text } as { [Key in Name]: string });
}

function emptyAnswer(finish: string): Failure | undefined {
  const sentence = {
    "tool-calls": "The agent used up all its steps on tools without answering.",
    "content-filter": "The model provider's filter stopped the answer.",
    length: "The model used up its output on thinking without answering.",
  }[finish];
  return sentence === undefined ? undefined : { sentence, detail: finish, overflow: false };
}

async function userMessage({ text, files }: TurnInput): Promise<ModelMessage | undefined> {
  if (files.length === 0) return { role: "user", content: text };
  try {
    const parts: UserContent = await Promise.all(
      files.map(async (file) => ({
        type: "file" as const,
        mediaType: file.mime,
        data: await readPinned(file.path, MAX_FILE_BYTES),
      })),
    );
    return { role: "user", content: [...parts, { type: "text", text }] };
  } catch {
    return undefined;
  }
}
