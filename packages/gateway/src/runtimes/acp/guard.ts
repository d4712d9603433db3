import type { Clock } from "../../lib/clock.ts";
import { keepNewest } from "../../lib/keep-newest.ts";
import { MAX_CALLS, toolId } from "../tool-text.ts";
import { mayUse, type PermissionRules } from "./permission.ts";

/** Agents announce a call as running before they ask; the question follows within moments. */
const ASKING_MS = 2000;

/** Notices tools that an agent uses although they are not allowed, without having asked. */
export interface ToolGuard {
  /** The agent asked for permission for this call. */
  asked(callId: string): void;
  /** A call's newest state. `name` is what permissions go by. */
  saw(call: { id: string; name: string | null; title: string | null; status: unknown }): void;
  /** The turn is over. */
  end(): void;
}

/** @param used called once, with the name of the tool. */
export function createToolGuard(
  rules: PermissionRules,
  clock: Clock,
  used: (name: string) => void,
): ToolGuard {
  const settled = new Set<string>();
  const waiting = new Map<string, () => void>();
  let over = rules.allowTools === true;

  const settle = (id: string) => {
    waiting.get(id)?.();
    waiting.delete(id);
    settled.add(id);
    keepNewest(settled, MAX_CALLS);
  };
  const end = () => {
    over = true;
    for (const cancel of waiting.values()) cancel();
    waiting.clear();
  };
  const report = (name: string) => {
    if (over) return;
    end();
    used(name);
  };

  return {
    asked: (callId) => settle(toolId(callId)),
    saw({ id, name, title, status }) {
      if (over || settled.has(id)) return;
      // Its own title is all that some agents give of a tool of the gateway's.
      if (mayUse(name, rules) || mayUse(title, { ...rules, allowTools: false })) return settle(id);
      const told = name ?? "a tool";
      if (status === "completed") return report(told);
      if (status === "failed") return settle(id);
      if (status !== "in_progress" || waiting.has(id)) return;
      waiting.set(
        id,
        clock.after(ASKING_MS, () => report(told)),
      );
    },
    end,
  };
}
