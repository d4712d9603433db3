import { generateText, type ModelMessage } from "ai";
import type { ModelUse } from "../../types.ts";
import type { Agent } from "./agent.ts";
import { type Conversation, contextPercent, estimateTokens, transcriptOf } from "./conversation.ts";
import { describeFailure } from "./failure.ts";
import { useOf } from "./use.ts";

/** Share of the context from which on the next turn begins with a compaction. */
const COMPACT_AT_PERCENT = 80;
/** Questions of the user that stay as they are, with all that followed them. */
const KEEP_QUESTIONS = 2;
/** Of the context, how much the text to be summarised may take. */
const TRANSCRIPT_SHARE = 0.6;
const CHARACTERS_PER_TOKEN = 3;

const PROMPT =
  "Write a detailed summary of the conversation below, so that it can be continued without it: what was asked, what " +
  "was found and decided, names, numbers and files that matter, and what is still open. Put it in <summary> tags.";

/** Whether the conversation has come close to the end of its context. */
export function needsCompaction(conversation: Conversation): boolean {
  const percent =
    contextPercent(conversation) ?? (estimateTokens(conversation.messages) / conversation.window) * 100;
  return percent >= COMPACT_AT_PERCENT;
}

/**
 * Has the model summarise all but the last questions, and puts the summary in their place.
 * @param whole summarise a conversation too, of which nothing would be replaced.
 * @param onUse is told what the summary used.
 * @returns the summary; null when there was nothing to summarise or the model gave none.
 */
export async function compact(
  agent: Agent,
  { signal, whole, onUse }: { signal: AbortSignal; whole: boolean; onUse: (use: ModelUse) => void },
): Promise<string | null> {
  const { conversation, models } = agent;
  const cut = cutOf(conversation.messages);
  const older = cut === 0 && whole ? conversation.messages : conversation.messages.slice(0, cut);
  if (older.length === 0) return null;
  try {
    const { text, usage, response } = await generateText({
      model: models.current,
      prompt: `${PROMPT}\n\n${transcript(older, conversation.window)}`,
      providerOptions: models.options,
      maxRetries: 0,
      abortSignal: signal,
    });
    const use = useOf(response.modelId, usage);
    if (use) onUse(use);
    const summary = between(text, "<summary>", "</summary>").trim();
    if (summary === "") return null;
    if (cut > 0) {
      conversation.messages = [
        { role: "user", content: `Summary of our conversation so far:\n${summary}` },
        { role: "assistant", content: "I will go on from there." },
        ...conversation.messages.slice(cut),
      ];
      conversation.used = estimateTokens(conversation.messages);
    }
    return summary;
  } catch (error) {
    const { sentence, detail } = describeFailure(error, models.id);
    agent.log("warn", `the conversation was not compacted: ${sentence}`, detail);
    return null;
  }
}

/** Index of the first message that stays. */
function cutOf(messages: readonly ModelMessage[]): number {
  let questions = 0;
  for (let at = messages.length - 1; at > 0; at--) {
    if (messages[at]!.role === "user" && ++questions === KEEP_QUESTIONS) return at;
  }
  return 0;
}

/** The newest part of the messages that fits into a request, as text. */
function transcript(messages: readonly ModelMessage[], window: number): string {
  const text = messages.map(transcriptOf).join("\n\n");
  const limit = Math.floor(window * TRANSCRIPT_SHARE * CHARACTERS_PER_TOKEN);
  return text.length <= limit ? text : `[…]\n${text.slice(-limit)}`;
}

/** What stands between two marks; the whole text where they are missing. */
function between(text: string, open: string, close: string): string {
  const start = text.indexOf(open);
  const end = start < 0 ? -1 : text.indexOf(close, start);
  return end < 0 ? text : text.slice(start + open.length, end);
}
