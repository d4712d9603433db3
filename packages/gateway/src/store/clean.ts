import type { ImportedMessage } from "./imports.ts";
import type { SearchQuery } from "./search.ts";
import type { Param, Statement } from "./statement.ts";

/** What stands for a character that no store takes. */
const REPLACEMENT = "\u{FFFD}";

/** A text as it is stored: U+0000, which Postgres cannot hold, and halves of surrogate pairs become U+FFFD. */
export function cleanText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes("\0") ? whole.replaceAll("\0", REPLACEMENT) : whole;
}

const isClean = (param: Param) =>
  typeof param === "string"
    ? param.isWellFormed() && !param.includes("\0")
    : param === null || Number.isSafeInteger(param);
const MOST = Number.MAX_SAFE_INTEGER;
const cleanNumber = (number: number) => Math.min(MOST, Math.max(-MOST, Math.round(number)));
const clean = (param: Param) =>
  typeof param === "string" ? cleanText(param) : param === null ? null : cleanNumber(param);

/**
 * Parameters as they are stored, or looked for: Postgres refuses a fraction where a column takes whole numbers, and what
 * 64 bits cannot hold. No row has a number beyond 2^53, so the nearest one stands for all of them.
 */
export const cleanParams = (params: readonly Param[]): readonly Param[] =>
  params.every(isClean) ? params : params.map(clean);

/** A statement whose texts can be stored. */
export const cleanStatement = (statement: Statement): Statement => {
  const params = cleanParams(statement.params);
  return params === statement.params ? statement : { ...statement, params };
};

const cleanOptional = <T extends string | null | undefined>(text: T) =>
  (typeof text === "string" ? cleanText(text) : text) as T;

/** A search, as it is looked for. */
export const cleanQuery = (query: SearchQuery): SearchQuery => ({
  ...query,
  q: cleanText(query.q),
  session_id: cleanOptional(query.session_id),
  offset: cleanNumber(query.offset),
});

/** A message of an import, as it is stored. */
export const cleanMessage = (message: ImportedMessage): ImportedMessage => ({
  ...message,
  chatId: cleanText(message.chatId),
  sessionId: cleanText(message.sessionId),
  sessionName: cleanOptional(message.sessionName),
  content: cleanText(message.content),
  senderName: cleanOptional(message.senderName),
});
