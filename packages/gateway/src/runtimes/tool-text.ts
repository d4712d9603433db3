import { cutToBytes } from "../lib/cut-text.ts";

/** What is told of a tool's input or result. */
const MAX_BYTES = 4096;
const MAX_TITLE_BYTES = 500;
const MAX_ID_BYTES = 200;

/** Tool calls of one turn that are remembered; what is said of older ones counts as new. */
export const MAX_CALLS = 2000;

/** A tool call's id, in a bearable length: programs choose it. */
export const toolId = (id: string): string => cutToBytes(id, MAX_ID_BYTES);

/** A tool's input or result as text: a string as it is, anything else as JSON; undefined where there is none. */
export function toolText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return cutToBytes(value, MAX_BYTES);
  try {
    return cutToBytes(JSON.stringify(value), MAX_BYTES);
  } catch {
    // Nested deeper than the stack.
    return undefined;
  }
}

/** A tool call's title: one short line. */
export function toolTitle(value: unknown): string | undefined {
  const line =
    typeof value === "string"
      ? value
          .slice(0, 4 * MAX_TITLE_BYTES)
          .replaceAll(/\s+/g, " ")
          .trim()
      : "";
  return line === "" ? undefined : cutToBytes(line, MAX_TITLE_BYTES);
}
