import type { Logger } from "../lib/logger.ts";
import type { Config } from "./schema.ts";
import type { ConfigStore } from "./types.ts";

/**
 * Orchestration resumes saved sessions, which only the headless mode can: wherever the file turns it on, the file gets
 * that mode as well, now and with each change. Turning it off again changes nothing.
 */
export function keepHeadless(store: ConfigStore, log: Logger): void {
  const look = ({ gateway }: Config) => {
    if (!gateway.orchestration.enabled || gateway.headless) return;
    store
      .update((raw) => {
        const section = raw.gateway as Record<string, unknown>;
        section.headless = true;
      })
      .then(
        () => log.info({}, "configuration: gateway.headless is true now, as orchestration needs it"),
        (error) =>
          log.warn(
            { err: error },
            "configuration: could not set gateway.headless, which orchestration needs",
          ),
      );
  };
  store.onChange(look);
  look(store.current);
}
