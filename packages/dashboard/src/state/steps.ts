import type { Message } from "../api/types.ts";

/** A piece of an answer, in the order in which the agent made it. */
export type Step =
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  | {
      type: "tool";
      id: string;
      name: string;
      title?: string | undefined;
      input?: string | undefined;
      result?: string | undefined;
      state: "running" | "done" | "failed" | "stopped";
      durationMs?: number | undefined;
    }
  /** So many more that the gateway did not keep. */
  | { type: "omitted"; count: number };

/** The pieces of a stored answer; text that its steps do not cover comes last. */
export function stepsOf({ content, steps = [] }: Pick<Message, "content" | "steps">): Step[] {
  const pieces: Step[] = [];
  let at = 0;
  let omitted = 0;
  for (const step of steps) {
    omitted += step.omitted ?? 0;
    if (step.type === "text") {
      pieces.push({ type: "text", text: content.slice(at, at + step.length) });
      at += step.length;
    } else if (step.type === "thinking") pieces.push({ type: "thinking", text: step.text });
    else {
      const { id, name, title, input, result, isError, durationMs } = step;
      const state = isError
        ? "failed"
        : durationMs === undefined && result === undefined
          ? "stopped"
          : "done";
      pieces.push({ type: "tool", id, name, title, input, result, state, durationMs });
    }
  }
  if (omitted > 0) pieces.push({ type: "omitted", count: omitted });
  if (at < content.length) pieces.push({ type: "text", text: content.slice(at) });
  return pieces;
}

/** The pieces with more text, or more thinking, at their end. */
export function grown(steps: readonly Step[], type: "text" | "thinking", text: string): readonly Step[] {
  const last = steps.at(-1);
  if (last?.type !== type) return [...steps, { type, text }];
  return [...steps.slice(0, -1), { type, text: last.text + text }];
}

/** The answer's text alone. */
export const textOf = (steps: readonly Step[]): string =>
  steps.map((step) => (step.type === "text" ? step.text : "")).join("");
