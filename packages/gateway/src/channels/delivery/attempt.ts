import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { openOutgoing } from "../support/outgoing-file.ts";
import type { ChannelAdapter, Content, Outgoing, SendOutcome } from "../types.ts";
import type { OutboxRow, OutboxStore, StoredTarget } from "./store.ts";

/** An adapter ends an attempt within 60 s; one that does not is given up, and nobody knows what became of it. */
const ATTEMPT_MS = 75_000;

/** One attempt at a row. Never rejects, and ends. */
export async function attempt(
  deps: { store: OutboxStore; clock: Clock; log: Logger },
  adapter: ChannelAdapter,
  row: OutboxRow,
): Promise<SendOutcome> {
  const content = JSON.parse(row.content ?? "null") as Content | null;
  if (!content) return { status: "failed", reason: "There is nothing to send." };
  const { replaces, handshake: _, ...target } = JSON.parse(row.target) as StoredTarget;
  if (content.kind === "file" && !(await exists(content.path))) {
    return { status: "failed", reason: "The file is not there any more." };
  }
  const outgoing: Outgoing = { target, content, key: row.key };
  const sent = replaces ? deps.store.progressOf(row.inbox) : undefined;
  if (content.kind === "text" && sent?.state === "sent" && sent.provider_id !== null) {
    const outcome = await once(deps, adapter, { ...outgoing, replaces: sent.provider_id });
    // Gone or too old to change: the text then comes as a message of its own.
    if (outcome.status !== "failed") return outcome;
  }
  return once(deps, adapter, outgoing);
}

async function once(
  { clock, log }: { clock: Clock; log: Logger },
  adapter: ChannelAdapter,
  outgoing: Outgoing,
): Promise<SendOutcome> {
  const controller = new AbortController();
  const { promise: late, resolve } = Promise.withResolvers<SendOutcome>();
  const cancel = clock.after(ATTEMPT_MS, () => {
    controller.abort();
    resolve({ status: "unknown", reason: "The provider did not answer in time." });
  });
  try {
    return await Promise.race([adapter.send(outgoing, controller.signal), late]);
  } catch (error) {
    log.error({ err: error }, "sending failed in an unforeseen way");
    return { status: "unknown", reason: "Sending failed in an unforeseen way; the log says more." };
  } finally {
    cancel();
  }
}

async function exists(path: string): Promise<boolean> {
  await using file = await openOutgoing(path);
  return file !== undefined;
}
