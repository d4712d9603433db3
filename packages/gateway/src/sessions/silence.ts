import type { Clock } from "../lib/clock.ts";
import type { RuntimeEvent } from "../runtimes/index.ts";

export const DEFAULT_SILENT_SECONDS = 300;

/** Checks that the model of a running turn shows signs of life. */
export interface SilenceWatch {
  /** Starts waiting for the model. */
  begin(): void;
  heard(event: RuntimeEvent): void;
  /** When the model last showed a sign of life, or was begun to be waited for, by the clock's `elapsed`. */
  heardAt(): number;
  /** Whether a tool is running, as far as is known. */
  toolRuns(): boolean;
  end(): void;
}

/**
 * Calls `onSilent` once when nothing arrives for `limitMs`; 0 means never. The time that a tool runs does not count,
 * because the model has nothing to say then.
 */
export function createSilenceWatch(clock: Clock, limitMs: number, onSilent: () => void): SilenceWatch {
  const tools = new Set<string>();
  let heardAt = 0;
  let cancel: (() => void) | undefined;

  const look = () => {
    if (tools.size > 0) heardAt = clock.elapsed();
    const rest = heardAt + limitMs - clock.elapsed();
    cancel = rest > 0 ? clock.after(rest, look) : undefined;
    if (rest <= 0) onSilent();
  };

  return {
    begin() {
      heardAt = clock.elapsed();
      tools.clear();
      if (limitMs === 0 || cancel) return;
      cancel = clock.after(limitMs, look);
    },
    heard(event) {
      heardAt = clock.elapsed();
      if (event.type === "tool_use") tools.add(event.id);
      else if (event.type === "tool_result") tools.delete(event.id);
      // The model continues, so the tools it called are finished; not every agent says so.
      else if (tools.size > 0 && (event.type === "text" || event.type === "thinking")) tools.clear();
    },
    heardAt: () => heardAt,
    toolRuns: () => tools.size > 0,
    end() {
      cancel?.();
      cancel = undefined;
    },
  };
}
