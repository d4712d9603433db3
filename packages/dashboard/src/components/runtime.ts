import type { RuntimeStatus } from "@agent-gateway/contract";

const KINDS: Readonly<Record<string, string>> = {
  builtin: "the built-in runtime",
  starter: "the starter agent, without a model",
};

/** What runs an agent, as people call it. */
export function runtimeName({ type, program, version }: RuntimeStatus): string {
  const name = program ?? KINDS[type] ?? type;
  return version ? `${name} ${version}` : name;
}

/** Why an agent cannot work, and what to do; undefined when it can. */
export function problemOf({ problem, login, program }: RuntimeStatus): string | undefined {
  if (problem) return problem;
  if (login !== "missing") return undefined;
  return `${program ?? "The agent program"} is not logged in. Log in as the user that runs the gateway, or set an API key.`;
}
