import type { Attachment, MessageStep } from "@agent-gateway/contract";
import { cutToBytes } from "../lib/cut-text.ts";
import type { RuntimeEvent } from "../runtimes/types.ts";
import type { SessionDeps } from "./ports.ts";
import { createStepRecorder } from "./steps.ts";
import type { TurnLog } from "./turn-log.ts";
import type { PartWriter } from "./turn-parts.ts";

/** Images that one turn may leave, and what of them may wait in memory for the disk. */
const MAX_IMAGES = 100;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** Takes what an agent says in one turn, until the turn is closed. */
export interface Emitter {
  emit(event: RuntimeEvent): void;
  attach(attachment: Attachment): void;
  readonly attachments: Attachment[];
  /** True once anything at all came from the agent. */
  readonly produced: boolean;
  /** What it did, in order, for a reply of this text. */
  steps(content: string): MessageStep[];
  /** Takes nothing more; resolves when what was taken is complete. */
  close(): Promise<void>;
}

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

  return {
    attachments,
    get produced() {
      return produced;
    },
    steps: recorder.finish,
    emit(given) {
      if (closed || given.type === "activity" || (given.type === "text" && given.text === "")) return;
      if (given.type === "retry") return turnLog.append(given);
      const event = bounded(given);
      recorder.take(event);
      if (!produced) {
        produced = true;
        if (room.marked) parts.mark();
      }
      switch (event.type) {
        case "text":
          if (turnLog.text === "") {
            deps.step("first-delta");
            if (room.partial) parts.begin();
          }
          turnLog.append({ type: "text_delta", text: event.text });
          return;
        case "thinking":
          turnLog.append({ type: "thinking", text: event.text });
          return;
        case "tool_use":
          turnLog.append(event);
          return;
        case "tool_result":
          turnLog.append({
            type: "tool_result",
            id: event.id,
            is_error: event.isError,
            ...(event.result !== undefined && { result: event.result }),
          });
          return;
        case "image":
          takeImage(event.mime, event.data);
          return;
        default:
          event satisfies never;
      }
    },
    attach(attachment) {
      if (!closed) attach(attachment);
    },
    async close() {
      closed = true;
      await Promise.all(pending);
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
