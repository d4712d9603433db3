import { GatewayError } from "@agent-gateway/contract";

/** Wrong usage: exit code 2, with a short usage text. */
export class UsageError extends Error {
  /** Usage lines. */
  readonly usage: string;
  constructor(message: string, usage = "") {
    super(message);
    this.name = "UsageError";
    this.usage = usage;
  }
}

/** The command failed: exit code 1, with this message. */
export class CliError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CliError";
  }
}

/** The user pressed Ctrl-C: exit code 130, as shells expect (128 + SIGINT). */
export class Interrupted extends Error {}

const SYSTEM: Readonly<Record<string, string>> = {
  ENOENT: "There is no such file or folder",
  EACCES: "Access is denied",
  EPERM: "The operation is not permitted",
  EISDIR: "This is a folder, not a file",
  ENOTDIR: "Part of the path is not a folder",
  ENOSPC: "The disk is full",
  EROFS: "The file system is read-only",
};

/** User-facing text of a failure: a sentence, with the gateway's error code, and details on further lines. */
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
