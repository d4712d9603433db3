import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { type FileHandle, open, realpath, rename, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Paths } from "../../config/index.ts";
import type { CopyPlace } from "../../store/index.ts";
import { VERSION } from "../../version.ts";
import { CliError } from "../errors.ts";
import { bytes, type Progress } from "../output.ts";
import { snapshotStore } from "./database.ts";
import { DATABASE, FORMAT, HOME_PREFIX, MANIFEST, type Manifest } from "./manifest.ts";
import { withScratch } from "./scratch.ts";
import { createSealer } from "./seal.ts";
import { END, encodeHeader, padding, type TarHeader } from "./tar.ts";
import { type Found, walk } from "./walk.ts";

const CHUNK = 256 * 1024;
/** Text and SQLite pages compress well at any level; higher ones only take longer. */
const GZIP_LEVEL = 3;

export interface CreateOptions {
  file: string;
  paths: Paths;
  /** Where the rows are. */
  store: CopyPlace;
  withLogs: boolean;
  progress: Progress;
}
export interface Created {
  file: string;
  bytes: number;
  files: number;
  /** Paths in the home directory that could not be read. */
  unreadable: string[];
  /** The configuration, if it is outside the home directory and so not in the archive. */
  outside: string[];
}

/** What migrations copied, as large as the database; for going back on this machine alone. */
const COPIES = new RegExp(`^${RegExp.escape(DATABASE)}\\.before-\\d+(?:\\.partial)?$`);

/** Left out: what a gateway recreates (sockets, caches), and the database's own files, which the snapshot replaces. */
function exclusions(withLogs: boolean, own: readonly string[]): (path: string) => boolean {
  const top = new Set([
    "run",
    "cache",
    ...["", "-wal", "-shm", "-journal"].map((end) => DATABASE + end),
    ...own,
  ]);
  if (!withLogs) top.add("logs");
  return (path) => top.has(path) || COPIES.test(path) || /(?:^|\/)\.[^/]*\.tmp$/.test(path);
}

/** A file's content, exactly as long as its header says, even if the file changes meanwhile. */
async function* contentOf(handle: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; ) {
    const { buffer, bytesRead } = await handle.read(
      Buffer.alloc(Math.min(CHUNK, size - at)),
      0,
      undefined,
      at,
    );
    const piece = bytesRead === 0 ? Buffer.alloc(Math.min(CHUNK, size - at)) : buffer.subarray(0, bytesRead);
    at += piece.length;
    yield piece;
  }
}

/**
 * Writes an archive of the home directory: the database as of one moment, then the files that it may refer to.
 * The archive (mode 0600: it contains secrets) appears once it is complete.
 * @throws CliError
 */
export async function createBackup(options: CreateOptions): Promise<Created> {
  const { file, paths } = options;
  const home = await realpath(paths.home).catch(() => null);
  if (home === null) throw new CliError(`There is no home directory at ${paths.home}.`);
  const folder = await realpath(dirname(resolve(file)));
  const target = join(folder, basename(file));
  return withScratch(join(folder, `.${basename(file)}.`), (scratch) =>
    writeArchive(home, target, scratch, options),
  );
}

async function writeArchive(
  home: string,
  target: string,
  scratch: string,
  { paths, store, withLogs, progress }: CreateOptions,
): Promise<Created> {
  const inHome = [target, scratch].map((path) => relative(home, path).split(sep).join("/"));
  const unreadable: string[] = [];
  const manifest: Manifest = {
    format: FORMAT,
    version: VERSION,
    created: new Date().toISOString(),
    files: {},
    links: {},
  };
  let done = 0;

  async function* entry({ header, handle }: Found): AsyncGenerator<Buffer> {
    const slash = header.type === "directory" ? "/" : "";
    yield encodeHeader({ ...header, name: `${HOME_PREFIX}${header.name}${slash}` });
    if (header.type === "link") manifest.links[header.name] = header.target;
    if (!handle) return;
    const hash = createHash("sha256");
    for await (const piece of contentOf(handle, header.size)) {
      hash.update(piece);
      done += piece.length;
      progress.update(`${bytes(done)} ${header.name}`);
      yield piece;
    }
    yield padding(header.size);
    manifest.files[header.name] = hash.digest("hex");
  }
  async function* archive(): AsyncGenerator<Buffer> {
    const snapshot = join(scratch, DATABASE);
    progress.update("copying the database");
    const sources = [
      walk({
        root: home,
        excludes: exclusions(withLogs, inHome),
        onUnreadable: (path) => unreadable.push(path),
      }),
    ];
    if (await snapshotStore(store, snapshot, progress)) {
      sources.unshift(
        walk({
          root: scratch,
          excludes: (path) => path !== DATABASE,
          onUnreadable: (path) => unreadable.push(path),
        }),
      );
    }
    for (const source of sources) {
      for await (const found of source) {
        if (found.header.name === DATABASE) found.header.mode = 0o600;
        try {
          yield* entry(found);
        } finally {
          await found.handle?.close();
        }
      }
    }
    const list = Buffer.from(JSON.stringify(manifest));
    const header: TarHeader = {
      name: MANIFEST,
      type: "file",
      mode: 0o600,
      size: list.length,
      mtime: Date.now() / 1000,
      target: "",
    };
    yield encodeHeader(header);
    yield list;
    yield padding(list.length);
    yield END;
  }

  try {
    const whole = join(scratch, "archive");
    await pipeline(
      Readable.from(archive(), { objectMode: false }),
      createGzip({ level: GZIP_LEVEL }),
      createSealer({ append: true }).stream,
      createWriteStream(whole, { flags: "wx", mode: 0o600, flush: true }),
    );
    await rename(whole, target);
    await syncFolder(dirname(target));
    const { size } = await stat(target);
    const away = relative(paths.home, paths.configFile).startsWith("..");
    const outside = away ? [paths.configFile] : [];
    return { file: target, bytes: size, files: Object.keys(manifest.files).length, unreadable, outside };
  } finally {
    progress.done();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder).catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
