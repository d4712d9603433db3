import type { ToolResultPart } from "ai";

/** Characters of one tool result that the model is shown. */
const MAX_TEXT = 100_000;

/** Result of an MCP tool call: https://modelcontextprotocol.io/specification, `CallToolResult`. */
export interface McpResult {
  content: readonly Record<string, unknown>[];
  isError?: boolean;
  structuredContent?: unknown;
}

export function isMcpResult(value: unknown): value is McpResult {
  return typeof value === "object" && value !== null && "content" in value && Array.isArray(value.content);
}

/** The images in a result. */
export function imagesOf(result: McpResult): { mime: string; base64: string }[] {
  return result.content.flatMap((part) => imageOf(part) ?? []);
}

/** What a result says, images named. */
export function textOf(result: McpResult): string {
  return result.content.map(partText).join("\n");
}

/** A result as the model gets it: text as text, images as files, an error as an error. */
export function modelOutput(result: McpResult, images: boolean): ToolResultPart["output"] {
  let left = MAX_TEXT;
  const text = (value: string) => {
    const kept = value.slice(0, Math.max(0, left));
    left -= value.length;
    return kept.length === value.length
      ? value
      : `${kept}\n[${value.length - kept.length} characters left out]`;
  };
  if (result.isError) return { type: "error-text", value: text(textOf(result)) };
  if (result.content.length === 0 && result.structuredContent !== undefined) {
    return { type: "text", value: text(JSON.stringify(result.structuredContent)) };
  }
  if (!images || !result.content.some(imageOf)) {
    return { type: "text", value: text(textOf(result)) };
  }
  return {
    type: "content",
    value: result.content.map((part) => {
      const image = imageOf(part);
      return image
        ? { type: "file", mediaType: image.mime, data: { type: "data", data: image.base64 } }
        : { type: "text", text: text(partText(part)) };
    }),
  };
}

function imageOf(part: Record<string, unknown>): { mime: string; base64: string } | undefined {
  const source = part.type === "resource" ? (part.resource as Record<string, unknown>) : part;
  const base64 = part.type === "image" ? part.data : source.blob;
  const mime = source.mimeType;
  if (typeof base64 !== "string" || typeof mime !== "string" || !mime.startsWith("image/")) return undefined;
  return { mime, base64 };
}

function partText(part: Record<string, unknown>): string {
  if (typeof part.text === "string") return part.text;
  if (imageOf(part)) return "[an image, shown to the user]";
  const resource = part.resource as Record<string, unknown> | undefined;
  if (typeof resource?.text === "string") return resource.text;
  const uri = part.uri ?? resource?.uri;
  return typeof uri === "string" ? `[${String(part.name ?? "resource")}: ${uri}]` : `[${String(part.type)}]`;
}
