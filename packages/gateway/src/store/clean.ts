import type { ImportedMessage } from "./imports.ts";
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
    : param === null || Number.isInteger(param);
const clean = (param: Param) =>
  typeof param === "string" ? cleanText(param) : param === null ? null : Math.round(param);

/** Parameters as they are stored, or looked for: Postgres refuses a fraction where a column takes whole numbers. */
export const cleanParams = (params: readonly Param[]): readonly Param[] =>
  params.every(isClean) ? params : params.map(clean);

/** A statement whose texts can be stored. */
export const cleanStatement = (statement: Statement): Statement => {
  const params = cleanParams(statement.params);
  return params === statement.params ? statement : { ...statement, params };
};

const cleanOptional = <T extends string | null | undefined>(text: T) =>
  (typeof text === "string" ? cleanText(text) : text) as T;

/** A message of an import, as it is stored. */
export const cleanMessage = (message: ImportedMessage): ImportedMessage => ({
  ...message,
  chatId: cleanText(message.chatId),
  sessionId: cleanText(message.sessionId),
  sessionName: cleanOptional(message.sessionName),
  content: cleanText(message.content),
  senderName: cleanOptional(message.senderName),
});
