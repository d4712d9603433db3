/** JSON text that is written unchanged; part of ECMAScript 2026, not yet in TypeScript's library. */
interface RawJson {
  rawJSON(text: string): unknown;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
}
const rawJson = JSON as unknown as RawJson;

/** Parses a valid JSON object so that whole numbers too large for JavaScript are written back unchanged. */
export function parseForEdit(text: string): Record<string, unknown> {
  return rawJson.parse(text.replace(/^\uFEFF/, ""), (_key, value, { source }) =>
    typeof value === "number" &&
    Number.isInteger(value) &&
    !Number.isSafeInteger(value) &&
    source !== undefined
      ? rawJson.rawJSON(source)
      : value,
  ) as Record<string, unknown>;
}

/** Writes JSON with the indentation, line endings and final newline of `model`. */
export function stringifyLike(value: unknown, model: string): string {
  const oneLine = !model.trim().includes("\n");
  const indent = /^[[{]\s*?\r?\n([ \t]+)/.exec(model.replace(/^\uFEFF/, "").trimStart())?.[1] ?? "  ";
  const text =
    JSON.stringify(value, null, oneLine ? 0 : indent) +
    (model.slice(model.trimEnd().length).includes("\n") ? "\n" : "");
  return model.includes("\r\n") ? text.replaceAll("\n", "\r\n") : text;
}
