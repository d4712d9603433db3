import type { MessageStep } from "@agent-gateway/contract";
import type { MessageRecord, Read } from "./records.ts";

/** Steps that one page carries at most, as JSON; a page that would hold more ends early. */
const MAX_PAGE_CHARS = 4 * 1024 * 1024;

/**
 * Adds the steps to the agent's messages; one that was text alone has one step. Ends the list, after one message at the
 * earliest, where its steps become too many for one page.
 */
export function withSteps(read: Read, messages: readonly MessageRecord[]): MessageRecord[] {
  const page: MessageRecord[] = [];
  let chars = 0;
  for (const message of messages) {
    if (message.role === "user") {
      page.push(message);
      continue;
    }
    const stored = stepsOf(read, message.id!);
    chars += stored?.length ?? 0;
    if (chars > MAX_PAGE_CHARS && page.length > 0) break;
    page.push({ ...message, steps: stored === undefined ? textAlone(message.content) : parseSteps(stored) });
  }
  return page;
}

function stepsOf(read: Read, message: number): string | undefined {
  return read<{ steps: string }>("SELECT steps FROM message_steps WHERE message = ?", [message])[0]?.steps;
}

export const parseSteps = (stored: string) => JSON.parse(stored) as MessageStep[];

const textAlone = (content: string): MessageStep[] =>
  content === "" ? [] : [{ type: "text", length: content.length }];
