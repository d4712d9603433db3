import type * as z from "zod";

/** Something about the configuration that its owner should know. */
export interface Problem {
  /** `error`: a part, or the whole, is not used because of it. */
  level: "error" | "warning";
  /** Dotted path in the file; empty for the file as a whole. */
  path: string;
  message: string;
  /** The entry that is left out because of it: `agent "x" (agents[1])`. */
  skips?: string;
}

export const warning = (path: string, message: string): Problem => ({ level: "warning", path, message });
export const error = (path: string, message: string): Problem => ({ level: "error", path, message });

/** The failures of a schema as problems, below `path`. */
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
  // A rule goes on from the name of its key; what is a sentence of its own stands after a colon.
  const line = place === "" ? message : `${place}${/^(?:must|needs)\b/.test(message) ? "" : ":"} ${message}`;
  return skips === undefined ? line : `${skips} is skipped: ${line}`;
}

/** Marks the problems of an agent's entry as what it is left out for. */
export function skipping(problems: readonly Problem[], index: number, id: unknown): Problem[] {
  const skips =
    typeof id === "string"
      ? `agent ${JSON.stringify(id)} (agents[${index}])`
      : `the agent at agents[${index}]`;
  return problems.map((problem) => ({ ...problem, skips }));
}

/** The whole file cannot be used; the process ends with status 78 (EX_CONFIG of sysexits.h). */
export class ConfigFileError extends Error {
  readonly exitCode = 78;
  readonly problems: readonly Problem[];

  constructor(message: string, problems: readonly Problem[] = []) {
    super(message);
    this.name = "ConfigFileError";
    this.problems = problems;
  }
}
