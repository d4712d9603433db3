import { randomBytes } from "node:crypto";
import { createReadStream, createWriteStream, openAsBlob } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";
import { detectFile } from "../lib/file-type.ts";
import { CliError } from "./errors.ts";
import { bytes, createProgress, type Progress } from "./output.ts";

/** Body of a request with a raw body. */
export interface RawInput {
  raw: BodyInit;
  headers: Record<string, string>;
}

/** Reports the progress of a stream. */
function meter(progress: Progress, verb: string, total: number | undefined): Transform {
  let count = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      count += chunk.length;
      progress.update(`${verb} ${bytes(count)}${total === undefined ? "" : ` of ${bytes(total)}`}`);
      done(null, chunk);
    },
  });
}

async function regularFile(file: string): Promise<{ size: number }> {
  const stats = await stat(file);
  if (!stats.isFile() && !stats.isFIFO()) throw new CliError(`${file} is not a file.`);
  return stats;
}

/** A file as the body of an upload, with its type detected from its content. */
export async function uploadBody(file: string): Promise<RawInput> {
  await regularFile(file);
  const handle = await open(file);
  const { mime } = await detectFile(handle).finally(() => handle.close());
  const name = /^[\x20-\x7e]+$/.test(basename(file)) ? basename(file) : `upload${extname(file)}`;
  const headers: Record<string, string> = { "content-type": mime };
  if (/^[\x20-\x7e]+$/.test(name)) headers["x-filename"] = name;
  return { raw: await openAsBlob(file), headers };
}

/** A file, or stdin for `-`, as a streamed body. */
export async function streamBody(file: string, progress: Progress): Promise<RawInput> {
  const total = file === "-" ? undefined : (await regularFile(file)).size;
  const source: Readable = file === "-" ? process.stdin : createReadStream(file);
  const metered = meter(progress, "sent", total);
  // The request reports errors of the source.
  source.on("error", (error) => metered.destroy(error));
  const raw = Readable.toWeb(source.pipe(metered)) as unknown as BodyInit;
  return { raw, headers: { "content-type": "application/x-ndjson" } };
}

/** The body of a response as a stream of this program. */
export const bodyOf = (response: Response): Readable =>
  response.body ? Readable.fromWeb(response.body as unknown as WebStream) : Readable.from([]);

/**
 * Saves a response: the file appears once it is complete. Anything but a regular file, such as a pipe, is written to.
 * @returns the number of bytes
 */
export async function saveResponse(response: Response, file: string): Promise<number> {
  const there = await stat(file).catch(() => null);
  const special = there !== null && !there.isFile();
  if (there?.isDirectory()) throw new CliError(`${file} is a folder; -o needs a file name.`);
  const temp = special
    ? file
    : join(dirname(file), `.${basename(file)}.${randomBytes(6).toString("hex")}.tmp`);
  const progress = createProgress();
  const length = Number(response.headers.get("content-length")) || undefined;
  const target = createWriteStream(
    temp,
    special ? {} : { flags: "wx", mode: there?.mode ?? 0o600, flush: true },
  );
  try {
    await pipeline(bodyOf(response), meter(progress, "received", length), target);
    if (!special) await rename(temp, file);
    return target.bytesWritten;
  } catch (error) {
    if (!special) await rm(temp, { force: true });
    throw error;
  } finally {
    progress.done();
  }
}
