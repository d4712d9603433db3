import { isFields, textOrNull } from "../agent-cli/index.ts";
import { toolText } from "../tool-text.ts";

/** A title that is the tool's name, bare or with a remark behind it: `bash`, `share_file (gateway MCP Server)`. */
const NAME_IN_TITLE = /^[\w.:/-]{1,64}(?= \(|$)/;

/**
 * Name of a tool call for people: its programmatic one, else what its title or its kind gives. A title can be a whole
 * command, which is no name.
 */
export function callName({
  own,
  kind,
  title,
}: {
  own: string | null;
  kind: string | null;
  title: string | undefined;
}): string {
  const named = NAME_IN_TITLE.exec(title ?? "")?.[0];
  return own ?? named ?? (kind === "other" ? null : kind) ?? "tool";
}

/** A tool's input as text; agents announce a call with an empty one. */
export function inputOf(rawInput: unknown): string | undefined {
  if (isFields(rawInput) && Object.keys(rawInput).length === 0) return undefined;
  return toolText(rawInput);
}

/** Where agents put the readable part of a raw output. */
const OUTPUT_FIELDS = ["formatted_output", "aggregated_output", "output", "stdout", "text"];

/** A tool's result as text: its content, else its raw output. */
export function resultOf(content: unknown, rawOutput: unknown): string | undefined {
  const parts = (Array.isArray(content) ? content : []).flatMap((item: unknown) => {
    if (!isFields(item)) return [];
    if (item.type === "diff") return `${textOrNull(item.path) ?? ""}\n${textOrNull(item.newText) ?? ""}`;
    const inner = isFields(item.content) ? item.content : {};
    return textOrNull(inner.text) ?? [];
  });
  if (parts.length > 0) return toolText(parts.join("\n"));
  if (!isFields(rawOutput)) return toolText(rawOutput);
  const field = OUTPUT_FIELDS.find((name) => typeof rawOutput[name] === "string" && rawOutput[name] !== "");
  return toolText(field === undefined ? rawOutput : rawOutput[field]);
}
