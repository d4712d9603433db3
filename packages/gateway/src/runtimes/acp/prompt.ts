import { readPinned } from "../../lib/guarded/index.ts";
import type { Fields } from "../agent-cli/index.ts";
import { historyText } from "../history-text.ts";
import { MAX_FILE_BYTES, type OpenOptions, type TurnInput } from "../types.ts";

/** What goes in front of the first prompt, since `session/new` takes neither instructions nor messages. */
export function prefaceOf(instructions: string | undefined, history: OpenOptions["history"]): string[] {
  return [
    ...(instructions ? [`<instructions>\n${instructions}\n</instructions>`] : []),
    ...(history.length > 0 ? [historyText(history)] : []),
  ];
}

/**
 * Content blocks of a prompt: the preface, the images (the other files and, for an agent that takes no images, those
 * too as a sentence with their path), then the text.
 * @throws when a file cannot be read.
 */
export async function promptBlocks(
  input: TurnInput,
  preface: readonly string[],
  { images }: { images: boolean },
): Promise<Fields[]> {
  const files = await Promise.all(
    input.files.map(async ({ path, mime }) =>
      images && mime.startsWith("image/")
        ? { type: "image", mimeType: mime, data: (await readPinned(path, MAX_FILE_BYTES)).toString("base64") }
        : textBlock(`The user attached a file (${mime}): ${path}`),
    ),
  );
  const text = input.text === "" ? [] : [textBlock(asText(input.text))];
  return [...preface.map(textBlock), ...files, ...text];
}

export function textBlock(text: string): Fields {
  return { type: "text", text };
}

/** A text that begins like a command is a message here; agents take only a slash in first place for a command. */
function asText(text: string): string {
  return text.startsWith("/") ? ` ${text}` : text;
}
