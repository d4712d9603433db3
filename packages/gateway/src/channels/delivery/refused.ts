import { UnsettledError } from "../../store/index.ts";

/** Does something about what was stored although its caller was refused, once that is known. */
export async function ifStored(error: unknown, task: () => Promise<unknown>): Promise<void> {
  if (error instanceof UnsettledError && (await error.outcome)) await task();
}
