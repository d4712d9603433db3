import { exchange } from "../support/exchange.ts";
import { outcomeOfStatus } from "../support/outcome.ts";
import { openOutgoing } from "../support/outgoing-file.ts";
import type { Content, SendOutcome, Target } from "../types.ts";
import type { Client } from "./client.ts";
import { outcomeOfError } from "./errors.ts";
import { threadOf } from "./thread.ts";

interface Clients {
  /** For what nobody sees. */
  quiet: Client;
  client: Client;
}

/**
 * Uploads a file and shares it. The library's own upload reads the whole file into memory; this one streams it. Only
 * the last step is visible to anyone, so a failure before it can be retried.
 * Source: https://docs.slack.dev/messaging/working-with-files#uploading_files
 */
export async function sendFile(
  { quiet, client }: Clients,
  target: Target,
  { path, name, caption }: Extract<Content, { kind: "file" }>,
  signal: AbortSignal,
  now: number,
): Promise<SendOutcome> {
  await using opened = await openOutgoing(path);
  if (!opened) return { status: "failed", reason: "The file no longer exists." };
  const uploaded = await upload(quiet, name, await opened.blob(), signal, now);
  if ("status" in uploaded) return uploaded;
  const file = { id: uploaded.id, title: name };
  const thread = threadOf(target).thread_ts;
  const place = { channel_id: target.chatId, ...(caption && { initial_comment: caption }) };
  await client.files.completeUploadExternal(
    thread === undefined ? { files: [file], ...place } : { files: [file], ...place, thread_ts: thread },
  );
  return { status: "sent" };
}

async function upload(
  client: Client,
  filename: string,
  bytes: Blob,
  signal: AbortSignal,
  now: number,
): Promise<{ id: string } | SendOutcome> {
  try {
    const { upload_url, file_id } = await client.files.getUploadURLExternal({ filename, length: bytes.size });
    if (!upload_url || !file_id)
      return { status: "failed", reason: "Slack returned no upload address for the file." };
    const { status } = await exchange(upload_url, { method: "POST", body: bytes, signal });
    if (status === 200) return { id: file_id };
    return outcomeOfStatus(status, `Slack answered ${status} to the file.`);
  } catch (error) {
    const outcome = outcomeOfError(error, now);
    return outcome.status === "unknown" ? { ...outcome, status: "retry" } : outcome;
  }
}
