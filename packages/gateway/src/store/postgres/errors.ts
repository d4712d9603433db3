import type { DatabaseError } from "pg";

export type { DatabaseError };

/** What the server answers to a statement that it could not do. */
export const isDatabaseError = (error: unknown): error is DatabaseError =>
  error instanceof Error && typeof (error as Partial<DatabaseError>).severity === "string";
