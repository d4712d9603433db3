import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { CliError } from "../errors.ts";
import { bytes, type Progress } from "../output.ts";
import { HOME_PREFIX, MANIFEST, MAX_MANIFEST_BYTES, type Manifest, manifest } from "./manifest.ts";
import { readTar, type TarEntry, TarError } from "./tar.ts";

const damaged = (why: string) => new CliError(`The archive is damaged: ${why}.`);

/** The few bytes of a gzip file that its checksum does not cover (RFC 1952), as the backup writes them. */
async function checkGzipHeader(file: string): Promise<void> {
  const handle = await open(file);
  const head = Buffer.alloc(10);
  const { bytesRead } = await handle.read(head, 0, 10, 0).finally(() => handle.close());
  if (bytesRead < 10 || head.readUInt16BE(0) !== 0x1f8b)
    throw new CliError(`${file} is no archive of a backup.`);
  const plain = head[2] === 8 && head[3] === 0 && head.readUInt32LE(4) === 0;
  if (!plain || ![0, 2, 4].includes(head[8]!)) throw damaged("its header is not as it was written");
}

/**
 * The path in the home directory that an entry stands for.
 * @throws CliError for one that would lie elsewhere
 */
function pathOf({ name }: TarEntry): string {
  const path = name.startsWith(HOME_PREFIX) ? name.slice(HOME_PREFIX.length).replace(/\/$/, "") : "";
  const unsafe = path.split("/").some((part) => part === "" || part === "." || part === "..");
  if (unsafe || path.includes("\0")) throw damaged("it names a file outside of the home directory");
  return path;
}

/** What is done with each entry; a file's content must be read to its end. */
export type Visitor = (path: string, entry: TarEntry) => Promise<void>;

const compressionError = (error: unknown) =>
  ["Z_DATA_ERROR", "Z_BUF_ERROR"].includes((error as NodeJS.ErrnoException).code ?? "");

/**
 * Reads an archive to its end and compares every file with the manifest.
 * @throws CliError when anything is missing, changed or added
 */
export async function readBackup(file: string, visit: Visitor, progress: Progress): Promise<Manifest> {
  await checkGzipHeader(file);
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

  const source = createReadStream(file);
  const unzipped = createGunzip();
  source.on("error", (error) => unzipped.destroy(error));
  try {
    for await (const entry of readTar(source.pipe(unzipped) as AsyncIterable<Buffer>)) {
      if (listed) throw damaged("something follows its list of files");
      if (entry.name === MANIFEST) {
        listed = await readManifest(entry);
        continue;
      }
      const path = pathOf(entry);
      if (seen.has(path)) throw damaged("it holds a file twice");
      seen.add(path);
      const { entry: checked, digest } = hashed(entry);
      await visit(path, checked);
      if (entry.type === "file") files.set(path, digest());
      if (entry.type === "link") links.set(path, entry.target);
    }
  } catch (error) {
    if (error instanceof TarError) throw damaged(error.message);
    throw compressionError(error) ? damaged("its bytes are not those that were written") : error;
  } finally {
    progress.done();
    source.destroy();
  }
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
    if (found.get(path) !== value) throw damaged(`${path} is not what it was`);
  }
  for (const path of found.keys()) if (!listed.has(path)) throw damaged(`${path} was added`);
}
