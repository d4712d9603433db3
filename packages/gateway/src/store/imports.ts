/** A message of an import. */
export interface ImportedMessage {
  /** As stored. */
  chatId: string;
  sessionId: string;
  sessionName?: string | null | undefined;
  role: "user" | "assistant";
  content: string;
  /** Unix milliseconds. */
  ts: number;
  interrupted?: true | undefined;
  senderName?: string | undefined;
  error?: { code: string; message: string } | undefined;
  steps?: readonly unknown[] | undefined;
}

/** A message of a file; `number` is its line, `end` the offset behind it. */
export interface ImportedLine {
  number: number;
  end: number;
  message: ImportedMessage;
}

/** What the importing thread reads a checked file with: its lines from an offset on, behind line `number`. */
export type ReadImport = (file: string, offset: number, number: number) => Generator<ImportedLine>;

/** An import on its way into the store. */
export interface ImportState {
  /** Unique; the name of its file. */
  name: string;
  agentId: string;
  /** The home that has its file, where several gateways use the store. */
  home?: string | undefined;
  offset: number;
  line: number;
  imported: number;
  skipped: number;
  sessions: number;
}

export interface ImportResult {
  imported: number;
  skipped: number;
  sessions: number;
}

/** `code` of the error of an import that failed, and was not cut off: it must not go on. */
export const IMPORT_FAILED = "IMPORT_FAILED";

/** Imports of files. How far one came is part of each of its units, so that a crash only interrupts it. */
export interface Imports {
  /** Checks every line of a file, in a thread; resolves to their number. */
  check(file: string, signal: AbortSignal): Promise<number>;
  /**
   * Stores, as the owner of the agent, the messages of a checked file of so many lines that are not there yet, from where `state` is. Rejects with
   * {@link IMPORT_FAILED} when it failed; what it had stored then goes at once or, if that fails too, when it is called
   * again without the file.
   */
  store(file: string, state: ImportState, lines: number): Promise<ImportResult>;
  /** Those that are in progress, or were when their gateway stopped. */
  unfinished(): Promise<ImportState[]>;
}
