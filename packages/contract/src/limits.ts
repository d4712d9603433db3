/** What the schemas allow, for those that check before they ask: the page has no validator. */

export const CHAT_ID = /^(?!\.{1,2}$)[A-Za-z0-9._@:+-]{1,128}$/;
export const MAX_CHAT_ID_CHARS = 128;
export const AGENT_ID = /^[a-z][a-z0-9_-]{0,31}$/;
export const MAX_MESSAGE_CHARS = 10_000;
/** Files that one message takes (`media_files`). */
export const MAX_MESSAGE_FILES = 10;

/** Account of a linked device, but for `default`, which always exists. */
export const ACCOUNT_ID = /^(?!default$)[a-z0-9][a-z0-9_-]{0,31}$/;
export const MAX_ACCOUNT_ID_CHARS = 32;
export const MAX_LABEL_CHARS = 200;
/** Id of a user or group in a channel. */
export const MAX_SENDER_ID_CHARS = 128;
/** Token or key of a provider. */
export const SECRET = /^[\x21-\x7e]{1,1000}$/;
export const MAX_SECRET_CHARS = 1000;
/** E.164, with or without the usual separators. */
export const PHONE_NUMBER = /^[\s().-]*(?:\+[\s().-]*)?[1-9](?:[\s().-]*\d){6,14}[\s().-]*$/;

/**
 * A trimmed message that is a slash command: `/` and a letter, and no other `/` in the first word. The name follows
 * without its slash, then the argument.
 */
export const COMMAND = /^\/(\p{L}[^\s/]*)(?:\s+([\s\S]*))?$/u;
