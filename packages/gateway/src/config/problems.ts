import type * as z from "zod";

/** Something about the configuration that its owner should know. */
export interface Problem {
  /** `error`: a part, or the whole, is not used because of it. */
  level: "error" | "warning";
  /** Dotted path in the file; empty for the file as a whole. */
  path: string;
  message: string;
}

export const warning = (path: string, message: string): Problem => ({ level: "warning", path, message });
export const error = (path: string, message: string): Problem => ({ level: "error", path, message });

/** The failures of a schema as problems, below `path`. */
export function schemaProblems(failure: z.ZodError, path: string): Problem[] {
  return failure.issues.map((issue) =>
    error([path, ...issue.path.map(String)].filter(Boolean).join("."), issue.message),
  );
}

/** One line for a log or a console. */
export function describe(problem: Problem): string {
  return problem.path ? `${problem.path}: ${problem.message}` : problem.message;
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
