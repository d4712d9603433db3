import { basename } from "node:path";

/** Programs that only start another one, which is what the user knows the agent by. */
const STARTERS = /^(?:node|nodejs|bun|bunx|deno|npx|pnpx|uvx|env|sh|bash)(?:\.exe)?$/;

/** The name that people know an agent program by: the file's, without its folder. It holds no path and no argument. */
export function programName(command: readonly string[]): string | null {
  const [first, ...rest] = command;
  if (first === undefined) return null;
  const name = basename(first);
  const started = STARTERS.test(name) ? rest.find((word) => !word.startsWith("-")) : undefined;
  return started === undefined ? name : basename(started);
}
