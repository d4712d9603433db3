import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { CliError } from "../errors.ts";
import { bytes, type Progress } from "../output.ts";
import { HOME_PREFIX, MANIFEST, MAX_MANIFEST_BYTES, type Manifest, manifest } from "./manifest.ts";
import { createSealer, SEAL_BYTES } from "./seal.ts";
import { readTar, type TarEntry, TarError } from "./tar.ts";

const damaged = (why: string) => new CliError(`The archive is damaged: ${why}.`);

/** The end of the file: the seal, if it is an archive. */
async function readSeal(file: string): Promise<{ seal: Buffer; size: number }> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const first = Buffer.alloc(2);
    await handle.read(first, 0, 2, 0);
    if (size <= SEAL_BYTES || first.readUInt16BE(0) !== 0x1f8b)
      throw new CliError(`${file} is not a backup archive.`);
    const seal = Buffer.alloc(SEAL_BYTES);
    await handle.read(seal, 0, SEAL_BYTES, size - SEAL_BYTES);
    return { seal, size: size - SEAL_BYTES };
  } finally {
    await handle.close();
  }
}

/**
 * The path in the home directory that an entry stands for.
 * @throws CliError for an entry that would end up elsewhere
 */
function pathOf({ name }: TarEntry): string {
  const path = name.startsWith(HOME_PREFIX) ? name.slice(HOME_PREFIX.length).replace(/\/$/, "") : "";
  const unsafe = path.split("/").some((part) => part === "" || part === "." || part === "..");
  if (unsafe || path.includes("\0")) throw damaged("it names a file outside the home directory");
  return path;
}

/** What is done with each entry; a file's content must be read to its end. */
export type Visitor = (path: string, entry: TarEntry) => Promise<void>;

const compressionError = (error: unknown) =>
  ["Z_DATA_ERROR", "Z_BUF_ERROR"].includes((error as NodeJS.ErrnoException).code ?? "");

/**
 * Reads an archive to its end and compares every file with the manifest.
 * @throws CliError if anything is missing, changed or added
 */
export async function readBackup(file: string, visit: Visitor, progress: Progress): Promise<Manifest> {
  const { seal, size } = await readSeal(file);
  const files = new Map<string, string>();
  const links = new Map<string, string>();
  const seen = new Set<string>();
  let listed: Manifest | undefined;
  let done = 0;

  const hashed = (entry: TarEntry) => {
    const hash = createHash("sha256");
    async function* content(): AsyncGenerator<Buffer> {
      for await (const piece of entry.content) {
        hash.update(piece);
        done += piece.length;
        progress.update(`${bytes(done)} ${entry.name}`);
        yield piece;
      }
    }
    return { entry: { ...entry, content: content() }, digest: () => hash.digest("hex") };
  };

  const source = createReadStream(file, { end: size - 1 });
  const sealer = createSealer({ append: false });
  const unzipped = createGunzip();
  const passing = pipeline(source, sealer.stream, unzipped);
  // The reader of `unzipped` gets the error too.
  passing.catch(() => {});
  try {
    for await (const entry of readTar(unzipped as AsyncIterable<Buffer>)) {
      if (listed) throw damaged("something follows its list of files");
      if (entry.name === MANIFEST) {
        listed = await readManifest(entry);
        continue;
      }
      const path = pathOf(entry);
      if (seen.has(path)) throw damaged("it contains a file twice");
      seen.add(path);
      const { entry: checked, digest } = hashed(entry);
      await visit(path, checked);
      if (entry.type === "file") files.set(path, digest());
      if (entry.type === "link") links.set(path, entry.target);
    }
  } catch (error) {
    if (error instanceof TarError) throw damaged(error.message);
    throw compressionError(error) ? damaged("its bytes are not the ones that were written") : error;
  } finally {
    progress.done();
    source.destroy();
  }
  if (!sealer.seal().equals(seal)) throw damaged("its bytes are not the ones that were written");
  if (!listed) throw damaged("its list of files is missing");
  compare(new Map(Object.entries(listed.files)), files);
  compare(new Map(Object.entries(listed.links)), links);
  return listed;
}

async function readManifest(entry: TarEntry): Promise<Manifest> {
  if (entry.size > MAX_MANIFEST_BYTES) throw damaged("its list of files is too long");
  const pieces: Buffer[] = [];
  for await (const piece of entry.content) pieces.push(piece);
  try {
    return manifest.parse(JSON.parse(Buffer.concat(pieces).toString("utf8")));
  } catch {
    throw damaged("its list of files cannot be read");
  }
}

function compare(listed: ReadonlyMap<string, string>, found: ReadonlyMap<string, string>): void {
  for (const [path, value] of listed) {
    if (!found.has(path)) throw damaged(`${path} is missing`);
    if (found.get(path) !== value) throw damaged(`${path} was changed`);
  }
  for (const path of found.keys()) if (!listed.has(path)) throw damaged(`${path} was added`);
}
