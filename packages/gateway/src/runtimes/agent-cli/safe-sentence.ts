import { hideSecrets } from "../../lib/hide-secrets.ts";
import { plainMessage } from "../plain-message.ts";

const MAX_CHARS = 500;

/** Turns an agent program's error into a user-facing message. */
export function safeSentence(reported: string, otherwise: string): string {
  const text = hideSecrets(
    plainMessage(reported)
      .slice(0, MAX_CHARS * 8)
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
  if (text === "") return otherwise;
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS - 1)}…` : text;
}
