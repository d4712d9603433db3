import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { type Folder, openRoot, READ } from "../../lib/guarded/index.ts";
import { PathError } from "../../lib/safe-path.ts";

/** Folders that are looked through for a transcript. */
const MAX_FOLDERS = 10_000;
/** They are not all looked through again sooner. */
const SEARCH_PAUSE_MS = 500;

/** The file in which the agent program keeps a session: `<session id>.jsonl` in one of its folders of projects. */
export interface TranscriptPlace {
  /** Opens it; undefined while there is none. Rejects where something else lies in its place. */
  open(): Promise<FileHandle | undefined>;
}

/** Where the program with this environment keeps its projects. */
export const projectsFolder = (env: Readonly<Record<string, string>>): string =>
  join(env.CLAUDE_CONFIG_DIR || join(env.HOME ?? "", ".claude"), "projects");

/** @param cwd the program's working folder, after which it names the project's */
export function findTranscript(
  { projects, cwd, sessionId }: { projects: string; cwd: string; sessionId: string },
  clock: Clock,
): TranscriptPlace {
  const name = `${sessionId}.jsonl`;
  const likely = cwd.replaceAll(/[^a-zA-Z0-9]/g, "-");
  let searchedAt = Number.NEGATIVE_INFINITY;

  async function openIn(root: Folder, folder: string): Promise<FileHandle | undefined> {
    if ((await root.stat(folder))?.isDirectory() !== true) return undefined;
    await using inner = await root.folder(folder);
    return (await inner.stat(name)) === undefined ? undefined : await inner.open(name, READ);
  }

  return {
    async open() {
      try {
        await using root = await openRoot(projects);
        const found = await openIn(root, likely);
        if (found || clock.elapsed() - searchedAt < SEARCH_PAUSE_MS) return found;
        searchedAt = clock.elapsed();
        for await (const { name: folder } of root.entries(MAX_FOLDERS)) {
          const other = await openIn(root, folder);
          if (other) return other;
        }
      } catch (error) {
        if (!(error instanceof PathError) || error.problem !== "missing") throw error;
      }
      return undefined;
    },
  };
}
