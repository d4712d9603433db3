import type { Attachment, MessageStep } from "@agent-gateway/contract";
import { sleep } from "../lib/clock.ts";
import { cutToBytes } from "../lib/cut-text.ts";
import type { RuntimeEvent } from "../runtimes/index.ts";
import type { SessionDeps } from "./ports.ts";
import { createStepRecorder } from "./steps.ts";
import { MAX_TEXT_BYTES, TextOverflow } from "./turn-cap.ts";
import type { TurnLog } from "./turn-log.ts";
import type { PartWriter } from "./turn-parts.ts";

/** Limit on the images of one turn, and on those waiting in memory to be written. */
const MAX_IMAGES = 100;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** The end of a turn waits this long for images that are still being stored. */
const IMAGES_MS = 5_000;

/** UTF-8 takes no more for a unit of a string. */
const MAX_BYTES_PER_CHAR = 3;

/** Takes an agent's output in one turn, until the turn is closed. */
export interface Emitter {
  /** Throws when the turn cannot continue, after the turn has been notified; the runtime's process is then ended. */
  emit(event: RuntimeEvent): void;
  attach(attachment: Attachment): void;
  /** Counts a file before it is shared; throws when the turn may have no more. */
  takeShare(): void;
  /** Resolves once the start of the agent's work is on disk: only then may it do anything that cannot be undone. */
  acting(): Promise<void>;
  readonly attachments: Attachment[];
  /** True once the agent has sent anything at all. */
  readonly produced: boolean;
  /** The agent's steps in order, for a reply with this text. */
  steps(content: string): MessageStep[];
  /** Accepts nothing more; resolves when everything accepted is processed. */
  close(): Promise<void>;
}

/** Files of one reply; a tool call that would add another fails. */
const MAX_ATTACHMENTS = 200;
/** Size limit of a tool call's id, and of its name: programs choose both. */
const MAX_NAME_BYTES = 200;

export function createEmitter(room: {
  deps: Pick<SessionDeps, "media" | "log" | "step" | "clock">;
  agentId: string;
  turnLog: TurnLog;
  parts: PartWriter;
  /** Records the start of the agent's work as soon as it begins: whether the turn may run again depends on that row. */
  marked: boolean;
  /** Stores the text as it grows. */
  partial: boolean;
  /** Called when an event leads to something that ends the turn. */
  fail(error: unknown): void;
}): Emitter {
  const { deps, agentId, turnLog, parts } = room;
  const attachments: Attachment[] = [];
  const pending: Promise<void>[] = [];
  let images = 0;
  let shares = 0;
  let waitingBytes = 0;
  let dropping = false;
  const recorder = createStepRecorder(deps.clock);
  let closed = false;
  let spoken = false;
  /** Bytes that the text may surely still have. Counted anew only when they might not suffice. */
  let left = MAX_TEXT_BYTES;
  let begun: Promise<void> = Promise.resolve();

  const begin = () => {
    if (emitter.produced) return;
    emitter.produced = true;
    if (!room.marked) return;
    deps.step("agent-began");
    begun = parts.mark().then(() => deps.step("after-began-row"));
    begun.catch((error) => deps.log.error({ err: error }, "could not record that the agent has begun"));
  };

  const attach = (attachment: Attachment) => {
    attachments.push(attachment);
    turnLog.append({ type: "attachment", attachment });
  };
  const keepImage = async (mime: string, data: Uint8Array) => {
    images++;
    waitingBytes += data.length;
    try {
      const path = await deps.media.storeImage(agentId, mime, data);
      attach({ type: "image", url: deps.media.attachmentUrl(agentId, path) });
    } catch (error) {
      deps.log.warn({ err: error, agent: agentId }, "could not store an image from the agent");
    } finally {
      waitingBytes -= data.length;
    }
  };
  const takeImage = (mime: string, data: Uint8Array) => {
    if (images < MAX_IMAGES && waitingBytes + data.length <= MAX_WAITING_BYTES) {
      pending.push(keepImage(mime, data));
    } else if (!dropping) {
      dropping = true;
      deps.log.warn({ agent: agentId }, "the agent sent more images than a turn may have; dropping the rest");
    }
  };

  const say = (text: string) => {
    if (!spoken) deps.step("first-delta");
    spoken = true;
    if (text.length * MAX_BYTES_PER_CHAR > left) left = MAX_TEXT_BYTES - Buffer.byteLength(turnLog.text);
    const taken = cutToBytes(text, left);
    left -= taken.length * MAX_BYTES_PER_CHAR;
    if (room.partial) parts.add(taken);
    if (taken !== "") {
      recorder.say(taken.length);
      turnLog.append({ type: "text_delta", text: taken });
    }
    if (taken.length < text.length) throw new TextOverflow();
  };

  const take = (given: Exclude<RuntimeEvent, { type: "activity" }>) => {
    if (given.type === "retry") return turnLog.append(given);
    begin();
    if (given.type === "text") return say(given.text);
    const event = bounded(given);
    recorder.take(event);
    switch (event.type) {
      case "thinking":
        return turnLog.append({ type: "thinking", text: event.text });
      case "tool_use":
        return turnLog.append(event);
      case "tool_result":
        return turnLog.append({
          type: "tool_result",
          id: event.id,
          is_error: event.isError,
          ...(event.result !== undefined && { result: event.result }),
        });
      case "image":
        return takeImage(event.mime, event.data);
      default:
        event satisfies never;
    }
  };

  // No accessors: they would make a hash table of it, and it is used for every delta.
  const emitter = {
    attachments,
    produced: false,
    steps: recorder.finish,
    emit(given: RuntimeEvent) {
      if (closed || given.type === "activity" || (given.type === "text" && given.text === "")) return;
      try {
        take(given);
      } catch (error) {
        closed = true;
        room.fail(error);
        throw error;
      }
    },
    takeShare() {
      if (closed) throw new Error("The turn has ended.");
      if (++shares > MAX_ATTACHMENTS) throw new Error("This turn has shared the maximum number of files.");
    },
    attach(attachment: Attachment) {
      if (attachments.length >= MAX_ATTACHMENTS)
        throw new Error("The reply already has the maximum number of files.");
      if (!closed) attach(attachment);
    },
    async acting() {
      if (closed) throw new Error("The turn has ended.");
      begin();
      await begun.catch(() => {
        throw new Error("The gateway could not record that the agent has begun; its disk may be full.");
      });
    },
    async close() {
      closed = true;
      if (pending.length > 0) await Promise.race([Promise.all(pending), sleep(deps.clock, IMAGES_MS)]);
    },
  };
  return emitter;
}

/** The event, with its id and name cut to a reasonable length. */
function bounded(event: Exclude<RuntimeEvent, { type: "retry" | "activity" | "text" }>) {
  if (event.type === "tool_result") return { ...event, id: cutToBytes(event.id, MAX_NAME_BYTES) };
  if (event.type !== "tool_use") return event;
  return {
    ...event,
    id: cutToBytes(event.id, MAX_NAME_BYTES),
    name: cutToBytes(event.name, MAX_NAME_BYTES),
  };
}
