import type { Config } from "./config/index.ts";
import type { Told } from "./events/index.ts";
import { createHealing, type HealingDeps, type Watched } from "./healing/index.ts";
import { routes } from "./http/index.ts";
import { hideSecrets } from "./lib/hide-secrets.ts";

interface Deps extends Pick<HealingDeps, "clock" | "log" | "mask"> {
  config(): Config;
  env: Readonly<Record<string, string | undefined>>;
  feed: { tell(told: Told): void };
  /** Once they are there. */
  rooms(): {
    sessions: { allRunning(): readonly Watched[] };
    channels: { say(requestId: string, sentence: string): void };
  };
}

/** The watchdog of running turns, and its routes. */
export function createAppHealing({ config, feed, env, rooms, mask, ...base }: Deps) {
  const healing = createHealing({
    ...base,
    settings: () => config().gateway.selfHealing,
    running: () => rooms().sessions.allRunning(),
    tell: feed.tell,
    say: (requestId, sentence) => rooms().channels.say(requestId, sentence),
    leavesDialogs: env.PTY_SHELL_SKIP_DIALOG_DISMISS === "1",
    mask: (text) => hideSecrets(mask(text)),
  });
  return { ...healing, endpoints: routes.incidentRoutes(healing) };
}
