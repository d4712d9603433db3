import type { Clock } from "../../lib/clock.ts";
import type { Reaper } from "../../lib/reaper.ts";

export interface BuiltinDeps {
  clock: Clock;
  /** Environment of the gateway. */
  env: Readonly<Record<string, string | undefined>>;
  reaper?: Reaper | undefined;
}
