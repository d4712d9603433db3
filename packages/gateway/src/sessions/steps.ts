import type { MessageStep } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";
import { cutToBytes } from "../lib/cut-text.ts";
import type { RuntimeEvent } from "../runtimes/index.ts";

/** Size limit for the steps of one message. */
export const MAX_STEPS_BYTES = 256 * 1024;
/** Approximate size of a step besides its texts. */
const STEP_BYTES = 64;
/** Room that a new step needs: its id, its name and something to show. */
const MIN_ROOM_BYTES = 1024;

type ToolStep = Extract<MessageStep, { type: "tool" }>;

/** Records what an agent does in one turn, besides the text of its reply. */
export interface StepRecorder {
  take(event: RuntimeEvent): void;
  /** The same for that many characters of text. */
  say(length: number): void;
  /**
   * The steps of a turn whose reply is `content`, in order; empty when it was text only. The lengths of the text steps
   * add up to the content's.
   */
  finish(content: string): MessageStep[];
}

export function createStepRecorder(clock: Pick<Clock, "now">): StepRecorder {
  const steps: MessageStep[] = [];
  const running = new Map<string, ToolStep>();
  let used = 0;
  let omitted = 0;
  /** A thought arrives in many pieces but is counted as omitted once. */
  let omitting = false;
  let eventful = false;

  const full = () => used > MAX_STEPS_BYTES - MIN_ROOM_BYTES;
  /** As much of a text as there is room for. */
  const fit = (text: string): string => {
    const kept = cutToBytes(text, Math.max(0, MAX_STEPS_BYTES - used));
    used += Buffer.byteLength(kept);
    return kept;
  };
  const add = (step: MessageStep) => {
    used += STEP_BYTES;
    steps.push(step);
  };

  const say = (length: number) => {
    if (length === 0) return;
    omitting = false;
    const last = steps.at(-1);
    if (last?.type === "text") last.length += length;
    // Text keeps its place even without room: it is one number, and what follows is left out.
    else add({ type: "text", length });
  };

  const think = (text: string) => {
    eventful = true;
    const last = steps.at(-1);
    if (full()) {
      if (!omitting) omitted++;
      omitting = true;
      return;
    }
    if (last?.type !== "thinking") add({ type: "thinking", text: fit(text) });
    else last.text += fit(text);
  };

  const use = (event: Extract<RuntimeEvent, { type: "tool_use" }>) => {
    eventful = true;
    omitting = false;
    if (full()) return void omitted++;
    const step: ToolStep = { type: "tool", id: fit(event.id), name: fit(event.name), startedAt: clock.now() };
    if (event.title !== undefined) step.title = fit(event.title);
    if (event.input !== undefined) step.input = fit(event.input);
    add(step);
    running.set(event.id, step);
  };

  const settle = (event: Extract<RuntimeEvent, { type: "tool_result" }>) => {
    const step = running.get(event.id);
    if (!step) return;
    running.delete(event.id);
    if (event.result !== undefined) step.result = fit(event.result);
    step.isError = event.isError;
    step.durationMs = Math.max(0, clock.now() - step.startedAt);
  };

  return {
    say,
    take(event) {
      if (event.type === "text") say(event.text.length);
      else if (event.type === "thinking") think(event.text);
      else if (event.type === "tool_use") use(event);
      else if (event.type === "tool_result") settle(event);
    },
    finish(content) {
      if (!eventful) return [];
      let rest = content.length;
      for (const step of steps) {
        if (step.type !== "text") continue;
        step.length = Math.min(step.length, rest);
        rest -= step.length;
      }
      say(rest);
      const kept = steps.filter((step) => step.type !== "text" || step.length > 0);
      const last = kept.at(-1);
      if (last && omitted > 0) last.omitted = omitted;
      return kept;
    },
  };
}
