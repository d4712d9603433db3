import { hash } from "node:crypto";
import { type Fields, isFields, textOrNull } from "../agent-cli/protocol.ts";
import type { RuntimeEvent } from "../types.ts";
import { toolName } from "./permission.ts";

/** Turns the updates of one prompt into events. */
export interface TurnReader {
  /** All text so far, as it was emitted. */
  readonly text: string;
  read(update: Fields): void;
  /** Name of a tool call of this turn. */
  toolName(id: string): string | undefined;
}

/** Images of one tool call; more are not looked at. */
const MAX_CALL_IMAGES = 20;

interface Call {
  name: string;
  /** A programmatic name, not a title. */
  named: boolean;
  over: boolean;
  /** Images of the newest content, which each update replaces. */
  images: readonly Fields[];
}

export function createTurnReader(emit: (event: RuntimeEvent) => void): TurnReader {
  const calls = new Map<string, Call>();
  const images = new Set<string>();
  let text = "";
  let messageId: string | null = null;
  /** Something other than text came after the last text: the next text is a new paragraph. */
  let broken = false;

  const say = (piece: string) => {
    if (piece === "") return;
    const added = broken && text !== "" ? `\n\n${piece}` : piece;
    broken = false;
    text += added;
    emit({ type: "text", text: added });
  };

  const show = (content: Fields) => {
    if (typeof content.data !== "string" || typeof content.mimeType !== "string") return;
    // A tool's content is sent whole with each update.
    const digest = hash("sha256", content.data, "base64");
    if (images.has(digest)) return;
    images.add(digest);
    emit({ type: "image", mime: content.mimeType, data: Buffer.from(content.data, "base64") });
  };

  const message = (update: Fields) => {
    const content = isFields(update.content) ? update.content : {};
    const id = textOrNull(update.messageId);
    if (id !== null && id !== messageId) {
      messageId = id;
      broken = true;
    }
    if (content.type === "text") say(textOrNull(content.text) ?? "");
    else if (content.type === "image") show(content);
  };

  const thought = (update: Fields) => {
    const content = isFields(update.content) ? update.content : {};
    if (typeof content.text !== "string" || content.text === "") return;
    broken = true;
    emit({ type: "thinking", text: content.text });
  };

  const tool = (update: Fields) => {
    if (typeof update.toolCallId !== "string") return;
    const id = update.toolCallId;
    broken = true;
    let call = calls.get(id);
    if (!call) {
      const own = toolName(update);
      const name = own ?? textOrNull(update.title) ?? textOrNull(update.kind) ?? "tool";
      call = { name, named: own !== null, over: false, images: [] };
      calls.set(id, call);
      emit({ type: "tool_use", name, id });
    }
    if (Array.isArray(update.content)) call.images = imagesOf(update.content);
    if (!call.over && (update.status === "completed" || update.status === "failed")) {
      call.over = true;
      emit({ type: "tool_result", id, isError: update.status === "failed" });
    }
    if (!call.over) return;
    for (const image of call.images) show(image);
    call.images = [];
  };

  return {
    get text() {
      return text;
    },
    toolName(id) {
      const call = calls.get(id);
      return call?.named ? call.name : undefined;
    },
    read(update) {
      if (ofSubagent(update)) return;
      if (update.sessionUpdate === "agent_message_chunk") message(update);
      else if (update.sessionUpdate === "agent_thought_chunk") thought(update);
      else if (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update")
        tool(update);
    },
  };
}

function imagesOf(content: readonly unknown[]): Fields[] {
  const images = content.flatMap((item) =>
    isFields(item) && isFields(item.content) && item.content.type === "image" ? [item.content] : [],
  );
  return images.slice(0, MAX_CALL_IMAGES);
}

/** A subagent's work is the business of the tool call that started it (claude-agent-acp marks it so). */
function ofSubagent({ _meta: meta }: Fields): boolean {
  return isFields(meta) && isFields(meta.claudeCode) && typeof meta.claudeCode.parentToolUseId === "string";
}
