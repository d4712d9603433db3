import { openRoot, readInside } from "./guarded/index.ts";

/** In an agent's workspace: what the agent is told once, so that it speaks first. */
const GREETING_FILE = "GREETING.md";
const MAX_GREETING_BYTES = 65_536;

/** The agent's greeting; empty when there is none, or when it is larger than 64 KiB or no file. */
export const readGreeting = (workspace: string): Promise<string> =>
  readInside(workspace, GREETING_FILE, MAX_GREETING_BYTES).then(
    (bytes) => bytes.toString("utf8"),
    () => "",
  );

/** Replaces the greeting; an empty one removes the file. */
export async function writeGreeting(workspace: string, text: string): Promise<void> {
  await using folder = await openRoot(workspace);
  if (text === "") await folder.remove(GREETING_FILE);
  else await folder.write(GREETING_FILE, text);
}
