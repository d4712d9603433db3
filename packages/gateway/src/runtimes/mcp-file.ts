import { createHash } from "node:crypto";
import { join } from "node:path";
import { type Folder, namesBelow, openRoot, readNamed, removeFolderBelow } from "../lib/guarded/index.ts";
import { createMutex } from "../lib/mutex.ts";
import type { McpServer } from "./types.ts";

const NAME = "mcp.json";
const MAX_PATH_BYTES = 4096;
/** More than can have been in use when a gateway was killed. */
const MAX_NOTES = 10_000;

/** The latest process that a file was written for, by path. */
const owners = new Map<string, symbol>();
const oneAtATime = createMutex();

/** A private file that lists a session's tool servers with their secrets. */
export interface McpFile {
  path: string;
  /** Leaves it to the session's next process when that has it already. Never rejects. */
  remove(): Promise<void>;
}

/**
 * Writes the tool servers of one process into its session's folder, mode 0600.
 * @param notes folder that keeps where such files are, so that {@link sweepMcpFiles} finds them after a kill
 */
export function writeMcpFile(
  sessionDir: string,
  servers: Readonly<Record<string, McpServer>>,
  notes: string | undefined,
): Promise<McpFile> {
  const path = join(sessionDir, NAME);
  const own = Symbol(path);
  const note = createHash("sha256").update(path).digest("hex");
  const mcpServers = Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [
      name,
      "command" in server ? { type: "stdio", ...server } : { type: "http", ...server },
    ]),
  );
  const remove = () =>
    oneAtATime(async () => {
      if (owners.get(path) !== own) return;
      owners.delete(path);
      await removeFile(path);
      if (notes !== undefined) await inFolder(notes, (folder) => folder.remove(note));
    }).catch(() => {});
  return oneAtATime(async () => {
    owners.set(path, own);
    if (notes !== undefined) await inFolder(notes, (folder) => folder.write(note, path));
    // An agent may have put anything in its place.
    await removeFile(path);
    await inFolder(sessionDir, (folder) => folder.write(NAME, JSON.stringify({ mcpServers })));
    return { path, remove };
  });
}

/** Removes the files that a killed gateway left. To be called before sessions start. Never rejects. */
export async function sweepMcpFiles(notes: string): Promise<void> {
  for (const note of await namesBelow(notes, 1, MAX_NOTES).catch(() => [])) {
    const path = await readNamed(join(notes, note), MAX_PATH_BYTES).catch(() => undefined);
    if (path !== undefined) await removeFile(path.toString("utf8")).catch(() => {});
    await removeFolderBelow(join(notes, note), 1).catch(() => {});
  }
}

/** Also a folder that lies there instead. */
const removeFile = (path: string) => removeFolderBelow(path, 1);

async function inFolder(path: string, work: (folder: Folder) => Promise<void>): Promise<void> {
  await using folder = await openRoot(path, { create: true });
  await work(folder);
}
