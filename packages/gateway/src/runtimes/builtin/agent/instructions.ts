import { open } from "node:fs/promises";
import { join } from "node:path";

/** More of a workspace's AGENTS.md than this is not read, in bytes. */
const MAX_BYTES = 64 * 1024;

/** The workspace's `AGENTS.md`, if there is one, followed by the gateway's own instructions. */
export async function readInstructions(cwd: string, own: string | undefined): Promise<string | undefined> {
  const parts = [await readStart(join(cwd, "AGENTS.md")), own ?? ""];
  return parts.filter((part) => part.trim() !== "").join("\n\n") || undefined;
}

async function readStart(path: string): Promise<string> {
  try {
    await using file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } catch {
    return "";
  }
}
