import { noFacts } from "../status.ts";
import type { Runtime } from "../types.ts";
import type { BuiltinDeps } from "./deps.ts";
import { openBuiltinSession } from "./session.ts";
import { builtinSettings } from "./settings.ts";

/**
 * Talks to a model provider directly, one process per session. The conversation lives in that process alone: it has
 * no resume token, and a new process starts from the given history.
 * @param runtime the agent's `runtime` section.
 * @param agentEnv the agent's `env`, which wins over the gateway's own.
 * @throws Error with one sentence when the section is wrong or a key is missing.
 */
export function createBuiltinRuntime(
  runtime: Readonly<Record<string, unknown>>,
  agentEnv: Readonly<Record<string, string>>,
  deps: BuiltinDeps,
): Runtime {
  const settings = builtinSettings(runtime, { ...deps.env, ...agentEnv });
  return {
    type: "builtin",
    inspect: async () => noFacts("not-needed"),
    open: (options) => openBuiltinSession(options, settings, deps),
  };
}
