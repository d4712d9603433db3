import type { ExportedMessage } from "../store/index.ts";
import { parseSteps, toRecord } from "./records.ts";

/** A message as a line of an export. */
export function formatExport({ chatId, sessionName, message }: ExportedMessage): string {
  const { role, content, ts, sessionId, interrupted, senderName, error } = toRecord(message);
  const steps = message.steps == null ? undefined : parseSteps(message.steps);
  return JSON.stringify({
    chatId,
    sessionId,
    sessionName,
    role,
    content,
    ts,
    interrupted,
    senderName,
    error,
    steps,
  });
}
