import type { Attachment, MessageStep } from "@agent-gateway/contract";
import { sleep } from "../lib/clock.ts";
import { cutToBytes } from "../lib/cut-text.ts";
import type { RuntimeEvent } from "../runtimes/types.ts";
import type { SessionDeps } from "./ports.ts";
import { createStepRecorder } from "./steps.ts";
import { MAX_TEXT_BYTES, TextOverflow } from "./turn-cap.ts";
import type { TurnLog } from "./turn-log.ts";
import type { PartWriter } from "./turn-parts.ts";

/** Images that one turn may leave, and what of them may wait in memory for the disk. */
const MAX_IMAGES = 100;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** The end of a turn waits this long for images that are still being stored. */
const IMAGES_MS = 5_000;

/** Takes what an agent says in one turn, until the turn is closed. */
export interface Emitter {
  /** Throws, after the turn was told, when the turn cannot go on; the runtime's process is ended for it. */
  emit(event: RuntimeEvent): void;
  attach(attachment: Attachment): void;
  /** Resolves when it is on disk that the agent has begun: only then may it do what cannot be undone. */
  acting(): Promise<void>;
  readonly attachments: Attachment[];
  /** True once anything at all came from the agent. */
  readonly produced: boolean;
  /** What it did, in order, for a reply of this text. */
  steps(content: string): MessageStep[];
  /** Takes nothing more; resolves when what was taken is complete. */
  close(): Promise<void>;
}

/** Files of one reply; a tool call that would add another fails. */
const MAX_ATTACHMENTS = 200;
/** Bytes of a tool call's id, and of its name: programs choose both. */
const MAX_NAME_BYTES = 200;

export function createEmitter(room: {
  deps: Pick<SessionDeps, "media" | "log" | "step" | "clock">;
  agentId: string;
  turnLog: TurnLog;
  parts: PartWriter;
  /** Stores that the agent has begun as soon as it has: whether the turn may run again hangs on that row. */
  marked: boolean;
  /** Stores the text as it grows. */
  partial: boolean;
  /** Told of what an event led to that ends the turn. */
  fail(error: unknown): void;
}): Emitter {
  const { deps, agentId, turnLog, parts } = room;
  const attachments: Attachment[] = [];
  const pending: Promise<void>[] = [];
  let images = 0;
  let waitingBytes = 0;
  let dropping = false;
  const recorder = createStepRecorder(deps.clock);
  let produced = false;
  let closed = false;
  let textBytes = 0;
  let begun: Promise<void> = Promise.resolve();

  const begin = () => {
    if (produced) return;
    produced = true;
    if (!room.marked) return;
    deps.step("agent-began");
    begun = parts.mark().then(() => deps.step("after-began-row"));
    begun.catch((error) => deps.log.error({ err: error }, "storing that the agent has begun failed"));
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
      deps.log.warn({ err: error, agent: agentId }, "an image from the agent could not be kept");
    } finally {
      waitingBytes -= data.length;
    }
  };
  const takeImage = (mime: string, data: Uint8Array) => {
    if (images < MAX_IMAGES && waitingBytes + data.length <= MAX_WAITING_BYTES) {
      pending.push(keepImage(mime, data));
    } else if (!dropping) {
      dropping = true;
      deps.log.warn(
        { agent: agentId },
        "the agent sent more images than one turn may have; the rest are dropped",
      );
    }
  };

  const say = (text: string) => {
    if (turnLog.text === "") deps.step("first-delta");
    const taken = cutToBytes(text, MAX_TEXT_BYTES - textBytes);
    textBytes += Buffer.byteLength(taken);
    if (room.partial) parts.add(taken);
    if (taken !== "") {
      recorder.take({ type: "text", text: taken });
      turnLog.append({ type: "text_delta", text: taken });
    }
    if (taken.length < text.length) throw new TextOverflow();
  };

  const take = (given: Exclude<RuntimeEvent, { type: "activity" }>) => {
    if (given.type === "retry") return turnLog.append(given);
    begin();
    const event = bounded(given);
    if (event.type !== "text") recorder.take(event);
    switch (event.type) {
      case "text":
        return say(event.text);
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

  return {
    attachments,
    get produced() {
      return produced;
    },
    steps: recorder.finish,
    emit(given) {
      if (closed || given.type === "activity" || (given.type === "text" && given.text === "")) return;
      try {
        take(given);
      } catch (error) {
        closed = true;
        room.fail(error);
        throw error;
      }
    },
    attach(attachment) {
      if (attachments.length >= MAX_ATTACHMENTS)
        throw new Error("The reply has as many files as it can have.");
      if (!closed) attach(attachment);
    },
    async acting() {
      if (closed) throw new Error("The turn is over.");
      begin();
      await begun.catch(() => {
        throw new Error("The gateway could not store that the agent has begun; its disk may be full.");
      });
    },
    async close() {
      closed = true;
      await Promise.race([Promise.all(pending), sleep(deps.clock, IMAGES_MS)]);
    },
  };
}

/** The event with an id and a name of a bearable length. */
function bounded(event: Exclude<RuntimeEvent, { type: "retry" | "activity" }>) {
  if (event.type === "tool_result") return { ...event, id: cutToBytes(event.id, MAX_NAME_BYTES) };
  if (event.type !== "tool_use") return event;
  return {
    ...event,
    id: cutToBytes(event.id, MAX_NAME_BYTES),
    name: cutToBytes(event.name, MAX_NAME_BYTES),
  };
}
