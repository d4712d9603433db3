import { constants, createWriteStream } from "node:fs";
import { access } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Progress } from "../output.ts";
import { checkDatabase } from "./database.ts";
import { DATABASE } from "./manifest.ts";
import { readBackup, type Visitor } from "./read.ts";
import { withScratch } from "./scratch.ts";

export interface Verified {
  version: string;
  created: string;
  files: number;
}

/** Where to put the database: beside the archive if possible, where there should be room, else in the temp folder. */
async function scratchPrefix(file: string): Promise<string> {
  const folder = dirname(resolve(file));
  const writable = await access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
  return join(writable ? folder : tmpdir(), ".verify-");
}

/**
 * Reads the whole archive and checks every file's hash and the database.
 * @throws CliError if it is not what was written
 */
export async function verifyBackup(file: string, progress: Progress): Promise<Verified> {
  return withScratch(await scratchPrefix(file), async (scratch) => {
    const copy = join(scratch, DATABASE);
    let hasDatabase = false;
    const visit: Visitor = async (path, { type, content }) => {
      if (path === DATABASE && type === "file") {
        hasDatabase = true;
        await pipeline(Readable.from(content), createWriteStream(copy, { mode: 0o600 }));
      } else for await (const _ of content);
    };
    const { version, created, files } = await readBackup(file, visit, progress);
    if (hasDatabase) checkDatabase(copy);
    return { version, created, files: Object.keys(files).length };
  });
}
