import type { Clock } from "../lib/clock.ts";
import type { RuntimeEvent } from "../runtimes/types.ts";

export const DEFAULT_SILENT_SECONDS = 300;

/** Watches that the model of a running turn gives signs of life. */
export interface SilenceWatch {
  /** From here on the model is waited for. */
  begin(): void;
  heard(event: RuntimeEvent): void;
  end(): void;
}

/**
 * Calls `onSilent` once when nothing is heard for `limitMs`; 0 is never. While a tool runs the model has nothing to say,
 * however long that takes.
 */
export function createSilenceWatch(clock: Clock, limitMs: number, onSilent: () => void): SilenceWatch {
  const tools = new Set<string>();
  let heardAt = 0;
  let cancel: (() => void) | undefined;

  const look = () => {
    // A clock that was set back says nothing about how long it was.
    if (tools.size > 0 || clock.now() < heardAt) heardAt = clock.now();
    const rest = heardAt + limitMs - clock.now();
    cancel = rest > 0 ? clock.after(rest, look) : undefined;
    if (rest <= 0) onSilent();
  };

  return {
    begin() {
      if (limitMs === 0 || cancel) return;
      heardAt = clock.now();
      cancel = clock.after(limitMs, look);
    },
    heard(event) {
      heardAt = clock.now();
      if (event.type === "tool_use") tools.add(event.id);
      else if (event.type === "tool_result") tools.delete(event.id);
      // The model goes on, so whatever it called is over; not every agent says so.
      else if (event.type === "text" || event.type === "thinking") tools.clear();
    },
    end() {
      cancel?.();
      cancel = undefined;
    },
  };
}
