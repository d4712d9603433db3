import type { AgentConfig } from "../config/index.ts";
import { readInside, readNamed } from "../lib/guarded/index.ts";
import type { Logger } from "../lib/logger.ts";
import { PathError } from "../lib/safe-path.ts";

const MAX_INSTRUCTIONS_BYTES = 65_536;
const INSTRUCTIONS_UNREAD =
  "could not read the agent's instructions: the file is missing, is not a regular file, or leads out of the workspace";

/** An agent's standing instructions: the file that its entry names, else the workspace's `AGENTS.md`. */
export async function instructionsOf(agent: AgentConfig, log: Logger): Promise<string | undefined> {
  const named = agent.instructions;
  const reading =
    named === undefined
      ? readInside(agent.workspace, "AGENTS.md", MAX_INSTRUCTIONS_BYTES)
      : readNamed(named, MAX_INSTRUCTIONS_BYTES);
  const text = await reading.then(
    (bytes) => bytes.toString("utf8"),
    (error: unknown) => {
      if (named !== undefined || !(error instanceof PathError) || error.problem !== "missing") {
        log.warn({ agent: agent.id, err: error }, INSTRUCTIONS_UNREAD);
      }
      return "";
    },
  );
  return text.trim() === "" ? undefined : text;
}
