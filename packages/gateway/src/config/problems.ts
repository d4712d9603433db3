import type * as z from "zod";

/** A problem with the configuration. */
export interface Problem {
  /** `error`: some part, or all, of the configuration is not used because of it. */
  level: "error" | "warning";
  /** Dotted path in the file; empty for the file as a whole. */
  path: string;
  message: string;
  /** The entry that is skipped because of it: `agent "x" (agents[1])`. */
  skips?: string;
}

export const warning = (path: string, message: string): Problem => ({ level: "warning", path, message });
export const error = (path: string, message: string): Problem => ({ level: "error", path, message });

/** Schema failures as problems, below `path`. */
export function schemaProblems(failure: z.ZodError, path: string): Problem[] {
  return failure.issues.map((issue) =>
    error([path, ...issue.path.map(String)].filter(Boolean).join("."), issue.message),
  );
}

/** A dotted path as people write it: `gateway.api.keys[4]`. */
const written = (path: string): string => path.replace(/\.(\d+)(?=\.|$)/g, "[$1]");

/** One line for a log or a console. */
export function describe({ path, message, skips }: Problem): string {
  const place = written(skips === undefined ? path : path.replace(/^agents\.\d+\.?/, ""));
  // A rule continues from the name of its key; a complete sentence follows a colon.
  const line = place === "" ? message : `${place}${/^(?:must|needs)\b/.test(message) ? "" : ":"} ${message}`;
  return skips === undefined ? line : `${skips} is skipped: ${line}`;
}

/** Marks problems as the reason for skipping an agent's entry. */
export function skipping(problems: readonly Problem[], index: number, id: unknown): Problem[] {
  const skips =
    typeof id === "string"
      ? `agent ${JSON.stringify(id)} (agents[${index}])`
      : `the agent at agents[${index}]`;
  return problems.map((problem) => ({ ...problem, skips }));
}

/** The file as a whole is unusable; the process exits with status 78 (EX_CONFIG in sysexits.h). */
export class ConfigFileError extends Error {
  readonly exitCode = 78;
  readonly problems: readonly Problem[];

  constructor(message: string, problems: readonly Problem[] = []) {
    super(message);
    this.name = "ConfigFileError";
    this.problems = problems;
  }
}
