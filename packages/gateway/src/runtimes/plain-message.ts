/** Depth to which errors are found wrapped into each other, each as the text of the next. */
const MAX_DEPTH = 5;
const MAX_CHARS = 65_536;

/**
 * What an error says in words. Agent programs hand on the JSON of a model's API as it came, some wrapped more than
 * once; of that only the innermost message is for people.
 */
export function plainMessage(reported: string, depth = 0): string {
  const text = reported.slice(0, MAX_CHARS);
  const start = text.search(/[{[]/);
  const end = Math.max(text.lastIndexOf("}"), text.lastIndexOf("]"));
  if (start < 0 || end < start || depth >= MAX_DEPTH) return text;
  let value: unknown;
  try {
    value = JSON.parse(text.slice(start, end + 1));
  } catch {
    return text;
  }
  const message = messageIn(value, 0);
  if (message === null) return text;
  const before = text.slice(0, start).trim();
  const inner = plainMessage(message, depth + 1).trim();
  return before === "" || inner.startsWith(before) ? inner : `${before} ${inner}`;
}

function messageIn(value: unknown, depth: number): string | null {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.length === 0 ? null : messageIn(value[0], depth + 1);
  const { error, message, detail } = value as Record<string, unknown>;
  if (typeof error === "string") return error;
  return messageIn(error, depth + 1) ?? [message, detail].find((text) => typeof text === "string") ?? null;
}
