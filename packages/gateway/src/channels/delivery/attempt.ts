import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { NOT_HERE } from "../../lib/not-here.ts";
import { type AgentUnits, FencedError, type Outbox, type OutboxRow, type Store } from "../../store/index.ts";
import type { ChannelStep } from "../steps.ts";
import { openOutgoing } from "../support/outgoing-file.ts";
import type { ChannelAdapter, Content, Sendable, SendOutcome } from "../types.ts";
import type { Flight } from "./journal.ts";
import type { StoredTarget } from "./sending.ts";

/** Adapters end an attempt within 60 s; one that does not is given up, and its outcome is unknown. */
const ATTEMPT_MS = 75_000;
const NOT_RECORDED = "The gateway could not record the attempt to send; the disk may be full.";
const TOO_SLOW = "Preparing the message took too long.";

interface AttemptDeps {
  store: Pick<Store, "outbox">;
  /** Of the row's agent. */
  units: AgentUnits;
  clock: Clock;
  log: Logger;
  step(label: ChannelStep): void;
}

/** What a row says is to be sent; undefined when it says nothing. */
export async function outgoingOf(
  outbox: Pick<Outbox, "progressOf">,
  row: OutboxRow,
): Promise<Sendable | undefined> {
  const content = JSON.parse(row.content ?? "null") as Content | null;
  if (!content) return undefined;
  const { replaces, handshake: _, ...target } = JSON.parse(row.target) as StoredTarget;
  const changes = replaces && content.kind === "text" && row.inbox !== null;
  const sent = changes ? await outbox.progressOf(row.inbox!) : undefined;
  return {
    target,
    content,
    key: row.key,
    ...(sent?.state === "sent" && sent.provider_id !== null && { replaces: sent.provider_id }),
    ...(row.uncertain_at !== null && { uncertainAt: row.uncertain_at }),
  };
}

/** One attempt at a row. Never rejects, and always ends. */
export async function attempt(
  deps: AttemptDeps,
  adapter: ChannelAdapter,
  row: OutboxRow,
  flight: Flight,
): Promise<SendOutcome> {
  let outgoing: Sendable | undefined;
  let there = true;
  try {
    outgoing = await outgoingOf(deps.store.outbox, row);
    if (outgoing?.content.kind === "file") there = await exists(outgoing.content.path);
  } catch (error) {
    deps.log.error({ err: error, row: row.id }, "could not read a message; trying again");
    return { status: "retry", reason: "The gateway could not read the message." };
  }
  if (!outgoing) return { status: "failed", reason: "There is nothing to send." };
  if (!there) return { status: "failed", reason: "The file no longer exists." };
  const { replaces } = outgoing;
  const send = (what: Sendable) => once(deps, adapter, what, () => flight.begun(row));
  const outcome = await send(outgoing);
  if (replaces === undefined || outcome.status !== "failed") return outcome;
  flight.answered(row, { ...outcome, status: "retry" });
  // Gone or too old to change: the text then comes as a message of its own. That is on disk first, or a crash would
  // leave it open which of the two had been tried.
  try {
    await deps.units.commit(deps.store.outbox.loseProgress(row.inbox));
  } catch {
    return { status: "retry", reason: "Could not record that the text will go out as a new message." };
  }
  const { replaces: _, ...own } = outgoing;
  return send(own);
}

/** @param record throws when it could not be recorded that the request goes out */
async function once(
  { clock, log, step, units }: AttemptDeps,
  adapter: ChannelAdapter,
  outgoing: Sendable,
  record: () => void,
): Promise<SendOutcome> {
  const controller = new AbortController();
  const { promise: late, resolve } = Promise.withResolvers<SendOutcome>();
  let begun = false;
  let held: SendOutcome | undefined;
  const begin = () => {
    if (held) throw new Error(held.status);
    if (begun) return;
    if (!units.reaches()) {
      held = { status: "retry", reason: NOT_HERE };
      throw new FencedError();
    }
    try {
      record();
    } catch (error) {
      log.error({ err: error }, "did not send a message: could not record the attempt");
      held = { status: "retry", reason: NOT_RECORDED };
      throw error;
    }
    begun = true;
    step("after-request-noted");
  };
  const cancel = clock.after(ATTEMPT_MS, () => {
    held = begun
      ? { status: "unknown", reason: "The provider did not answer in time." }
      : { status: "retry", reason: TOO_SLOW };
    controller.abort();
    resolve(held);
  });
  try {
    const outcome = await Promise.race([adapter.send({ ...outgoing, begin }, controller.signal), late]);
    return held ?? outcome;
  } catch (error) {
    log.error({ err: error }, "sending failed unexpectedly");
    return held ?? { status: "unknown", reason: "Sending failed unexpectedly; see the log for details." };
  } finally {
    cancel();
  }
}

async function exists(path: string): Promise<boolean> {
  await using file = await openOutgoing(path);
  return file !== undefined;
}
