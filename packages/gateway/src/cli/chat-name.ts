import { askFor } from "./ask.ts";
import type { Connection } from "./connection.ts";
import { CliError } from "./errors.ts";
import type { CliRoute } from "./fields.ts";
import type { RouteInput } from "./request.ts";

const OWN = "api-";
const MAX_SHOWN = 5;

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const swap = row[j]! + (b[j] === letter ? 0 : 1);
      next.push(Math.min(swap, row[j + 1]! + 1, next[j]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

/** The chats with the closest names, best first. */
function nearest(chat: string, stored: readonly string[]): string[] {
  const far = (name: string) =>
    Math.min(distance(chat, name), distance(chat, name.slice(name.indexOf("-") + 1)));
  return stored
    .map((name) => ({ name, away: name.includes(chat) ? 0 : far(name) }))
    .sort((a, b) => a.away - b.away)
    .slice(0, MAX_SHOWN)
    .map(({ name }) => name);
}

/**
 * Accepts a chat by its caller's name (`me`) or its stored name (`api-me`), whichever the route takes.
 * @throws CliError if the route reads a chat and no chat has that name
 */
export async function resolveChat(route: CliRoute, input: RouteInput, connection: Connection): Promise<void> {
  const { agentId } = input.params;
  if (agentId === undefined) return;
  const reads =
    input.params.chatId !== undefined || (route.name === "exportHistory" && "chat_id" in input.query);
  const place =
    input.params.chatId !== undefined ? input.params : "chat_id" in input.query ? input.query : input.body;
  const field = place === input.params ? "chatId" : "chat_id";
  const chat = place?.[field];
  if (!place || typeof chat !== "string" || (!reads && !chat.startsWith(OWN))) return;
  const { chats } = await askFor(connection, "listChats", { params: { agentId } });
  const stored = chats.map(({ chatId }) => chatId);
  if (!reads) {
    // These routes prefix the name with `api-` themselves.
    if (stored.includes(chat) && !stored.includes(OWN + chat)) place[field] = chat.slice(OWN.length);
    return;
  }
  if (stored.includes(chat)) return;
  if (stored.includes(OWN + chat)) {
    place[field] = OWN + chat;
    return;
  }
  const near = nearest(chat, stored);
  const known = near.length === 0 ? "The agent has no chats yet." : `Did you mean: ${near.join(", ")}?`;
  throw new CliError(`There is no chat ${JSON.stringify(chat)} with ${agentId}. ${known}`);
}
