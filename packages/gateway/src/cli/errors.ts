import { GatewayError } from "@agent-gateway/contract";

/** The command was typed wrongly: exit code 2, with a short usage. */
export class UsageError extends Error {
  /** Lines that say how it is typed. */
  readonly usage: string;
  constructor(message: string, usage = "") {
    super(message);
    this.name = "UsageError";
    this.usage = usage;
  }
}

/** The command failed: exit code 1, with this one sentence. */
export class CliError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CliError";
  }
}

/** The person pressed Ctrl-C: exit code 130, as shells expect of it (128 + SIGINT). */
export class Interrupted extends Error {}

const SYSTEM: Readonly<Record<string, string>> = {
  ENOENT: "There is no such file or folder",
  EACCES: "Access is denied",
  EPERM: "The operation is not permitted",
  EISDIR: "This is a folder, not a file",
  ENOTDIR: "A part of the path is no folder",
  ENOSPC: "The disk is full",
  EROFS: "The file system is read-only",
};

/** What a failure tells the person: a sentence, with the code of the gateway's errors, and details on further lines. */
export function describeFailure(error: unknown): string {
  if (error instanceof GatewayError) {
    const details = (error.details ?? []).map(({ path, message }) => `\n  ${path}: ${message}`);
    const request = error.extra?.request_id;
    const trace = error.status >= 500 && typeof request === "string" ? `\n  request id: ${request}` : "";
    return `${error.message} (${error.code})${details.join("")}${trace}`;
  }
  if (!(error instanceof Error)) return String(error);
  const { code, path } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : SYSTEM[code];
  return known ? `${known}${path ? `: ${path}` : ""}.` : error.message;
}
