import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { importLine, messageStep } from "@agent-gateway/contract";
import * as z from "zod";
import { BAD_LINE, type BadLine } from "./bad-line.ts";
import { readLines } from "./lines.ts";

/** Several times what the gateway itself stores per message. */
const MAX_STEPS_CHARS = 1024 * 1024;

/** A line of an import as it is stored. */
const storedLine = importLine().extend({
  // It names a folder, like every stored chat id.
  chatId: z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._@:+-]{1,160}$/, {
    error: "must be 1-160 characters of A-Za-z0-9._@:+-",
  }),
  sessionId: z.string().min(1).max(128),
  sessionName: z.string().max(1000).nullish(),
  // The latest instant that a Date can represent.
  ts: z.number().int().min(0).max(8_640_000_000_000_000),
  interrupted: z.literal(true).optional(),
  senderName: z.string().max(1000).optional(),
  error: z.object({ code: z.string().max(64), message: z.string().max(4000) }).optional(),
  steps: z
    .array(z.unknown())
    .refine((steps) => JSON.stringify(steps).length <= MAX_STEPS_CHARS, { error: "are too many" })
    .pipe(z.array(messageStep()))
    .optional(),
});

const SLICE_MS = 10;

/** Is every line of this file a message? Resolves to their number. For a thread, which it keeps for itself. */
export async function checkImport(
  { signal }: { signal: AbortSignal },
  { file }: { file: string },
): Promise<number> {
  let count = 0;
  let until = performance.now() + SLICE_MS;
  for (const { number, text } of readLines(file)) {
    const problem = problemOf(text);
    if (problem) {
      throw Object.assign(new Error(problem.message), {
        code: BAD_LINE,
        data: { line: number, ...problem } satisfies BadLine,
      });
    }
    count++;
    if (performance.now() > until) {
      await turnOfTheLoop();
      signal.throwIfAborted();
      until = performance.now() + SLICE_MS;
    }
  }
  return count;
}

function problemOf(text: string | null): Omit<BadLine, "line"> | undefined {
  if (text === null) return { path: "", message: "is too long or not UTF-8" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { path: "", message: "is not JSON" };
  }
  const parsed = storedLine.safeParse(value);
  if (parsed.success) return undefined;
  const issue = parsed.error.issues[0]!;
  const path = issue.path.join(".");
  return { path, message: path ? `${path}: ${issue.message}` : issue.message };
}
