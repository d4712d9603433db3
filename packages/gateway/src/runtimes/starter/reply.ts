import type { TurnInput } from "../types.ts";

export const HOW_TO_CONNECT =
  "No model is connected: this is the gateway's starter agent. To connect one, set ANTHROPIC_API_KEY or " +
  "OPENAI_API_KEY, put `claude` on PATH, or run Ollama on this machine; then restart the gateway.";

/** What a message asks of the starter agent. */
export type StarterRequest =
  | { type: "message" }
  | { type: "count"; to: number }
  | { type: "share"; path: string | undefined };

const MAX_COUNT = 10_000;

/** Reads `count to N` and `share [path]`; all else is a plain message. */
export function readRequest(text: string): StarterRequest {
  const asked = text.trim();
  const count = /^count to (\d{1,5})$/i.exec(asked);
  if (count) return { type: "count", to: Math.min(Number(count[1]), MAX_COUNT) };
  const share = /^share(?:[ \t]+(\S.*))?$/i.exec(asked);
  if (share) return { type: "share", path: share[1] };
  return { type: "message" };
}

/** The whole reply to a message. `seen` counts the user's messages of this conversation, this one included. */
export function replyTo({
  input,
  seen,
  notes,
}: {
  input: TurnInput;
  seen: number;
  notes: readonly string[];
}): string {
  const lines = [HOW_TO_CONNECT, "", `You wrote: ${input.text}`];
  if (input.files.length > 0) {
    const types = input.files.map((file) => file.mime).join(", ");
    lines.push(`You attached ${input.files.length} file${input.files.length === 1 ? "" : "s"}: ${types}.`);
    if (notes.length === 0) lines.push("Send it with the message `share` to have it shared back to you.");
  }
  lines.push(...notes, `This is message ${seen} of this conversation.`);
  return lines.join("\n");
}
