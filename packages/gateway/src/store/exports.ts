import type { StoredMessage } from "./sql/index.ts";

/** Position of an export: messages up to (`ts`, `id`) are done. Those above `maxId` arrived after its start. */
export interface ExportCursor {
  ts: number;
  id: number;
  maxId: number;
  /** Milliseconds that the next slice looks at, where a driver reads by time. */
  span?: number;
}

export interface ExportSlice {
  /** Lines, each with its end. */
  text: string;
  /** Undefined if there is nothing more. */
  cursor: ExportCursor | undefined;
}

/** A message on its way out. */
export interface ExportedMessage {
  chatId: string;
  sessionName: string;
  message: StoredMessage;
}

/** Reads an agent's messages for an export; no lock or snapshot is held between two slices. */
export interface Exports {
  /** The next lines, oldest first over all chats; `chatId` for one chat alone. The first slice has no cursor. */
  slice(agentId: string, chatId: string | undefined, cursor: ExportCursor | undefined): Promise<ExportSlice>;
}

/** A line of an export, without its end. */
export type FormatExport = (exported: ExportedMessage) => string;
