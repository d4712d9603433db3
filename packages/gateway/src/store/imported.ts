import { createHash } from "node:crypto";
import { oneLine } from "../lib/one-line.ts";
import type { ImportedMessage } from "./imports.ts";

/** Names a folder, like the ids that the gateway mints. */
const KEEPABLE = /^(?!\.{1,2}$|-)[A-Za-z0-9._-]{1,128}$/;
const DEFAULT_NAME = "Imported session";
const PREVIEW_CHARS = 200;
const MAX_NAME_CHARS = 1000;

/** Id of the session that holds the messages of a session while they are staged. */
export const stagedUuid = (name: string, chatId: string, sessionId: string) =>
  `import:${name}:${chatId}:${sessionId}`;

/**
 * Ids that an imported session may have, the best first. The last one is for a session whose own is taken or cannot name
 * a folder: the same each time, so that an import can be repeated.
 */
export function idsFor(agentId: string, chatId: string, sessionId: string): string[] {
  const hex = createHash("sha256").update(`${agentId}\0${chatId}\0${sessionId}`).digest("hex");
  // Version 8 and variant 10 of RFC 9562.
  const derived = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  return KEEPABLE.test(sessionId) ? [sessionId, derived] : [derived];
}

/** What is stored of a message that is clean. */
export interface ImportedRow {
  role: 0 | 1;
  content: string;
  /** JSON. */
  extra: string | null;
  /** JSON. */
  steps: string | null;
}

export function rowOf({ role, content, interrupted, error, steps, ...rest }: ImportedMessage): ImportedRow {
  const senderName = oneLine(rest.senderName, MAX_NAME_CHARS);
  return {
    role: role === "user" ? 0 : 1,
    content,
    extra:
      interrupted || error || senderName !== undefined
        ? JSON.stringify({ interrupted, senderName, error })
        : null,
    steps: steps && steps.length > 0 && role === "assistant" ? JSON.stringify(steps) : null,
  };
}

export function sessionNameOf({ sessionName }: ImportedMessage): { name: string; unnamed: 0 | 1 } {
  const name = oneLine(sessionName, MAX_NAME_CHARS);
  return { name: name ?? DEFAULT_NAME, unnamed: name === undefined ? 1 : 0 };
}

/** What stands for a message among those of its session and time: equal for equal messages. */
export const fingerprint = (role: number, content: string): string =>
  `${role}${content.length < 64 ? content : createHash("sha256").update(content).digest("base64")}`;

/** Beginning of a message, for lists. */
export const previewOf = (content: string): string => content.slice(0, PREVIEW_CHARS).toWellFormed();
