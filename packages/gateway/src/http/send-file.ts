import type { FileHandle } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { type FileType, isInert } from "../lib/file-type.ts";
import type { OpenedFile } from "../lib/guarded/index.ts";
import type { Reply } from "./endpoint.ts";

/** Large chunks, so that a file takes few reads. */
const CHUNK_BYTES = 256 * 1024;

/** Bytes of a file, both ends included; `whole` when there is no usable range. */
export type ByteRange = { start: number; end: number } | "whole" | "unsatisfiable";

/**
 * Reads a `Range` header (RFC 9110, section 14). Multiple ranges, other units and malformed values are ignored, as
 * the standard allows.
 */
export function parseRange(header: string | undefined, size: number): ByteRange {
  const match = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? "");
  const [, first = "", last = ""] = match ?? [];
  if (!match || (first === "" && last === "")) return "whole";
  if (first === "") {
    const length = Number(last);
    return length === 0 || size === 0
      ? "unsatisfiable"
      : { start: Math.max(0, size - length), end: size - 1 };
  }
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return "whole";
  return start >= size ? "unsatisfiable" : { start, end };
}

/** True when the client's copy is still valid: `If-None-Match`, else `If-Modified-Since`. */
export function isUnchanged(headers: IncomingMessage["headers"], etag: string, modified: number): boolean {
  const tags = headers["if-none-match"];
  if (tags !== undefined) {
    return tags.trim() === "*" || tags.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
  }
  return modified <= Date.parse(headers["if-modified-since"] ?? "");
}

function rangeStillApplies(condition: string | undefined, etag: string, modified: number): boolean {
  if (condition === undefined) return true;
  return condition.startsWith('"') ? condition === etag : Date.parse(condition) === modified;
}

/**
 * Replies with an opened file: conditional, whole or one byte range. Anything that a browser could execute is sent
 * as a download. Takes over `file.handle` and closes it.
 */
export async function sendFile(
  req: IncomingMessage,
  file: OpenedFile & { type: FileType },
): Promise<Reply<undefined>> {
  const { handle, stats, type } = file;
  const { size } = stats;
  // HTTP dates have whole seconds.
  const modified = Math.floor(stats.mtimeMs / 1000) * 1000;
  const etag = `"${stats.ino.toString(36)}-${size.toString(36)}-${Math.round(stats.mtimeMs * 1000).toString(36)}"`;
  const headers: Record<string, string> = {
    "Accept-Ranges": "bytes",
    "Cache-Control": "private, no-cache",
    ETag: etag,
    "Last-Modified": new Date(modified).toUTCString(),
  };
  const done = async (reply: Reply<undefined>) => {
    await handle.close();
    return reply;
  };
  if (isUnchanged(req.headers, etag, modified)) return done({ status: 304, headers, empty: true });

  const range = rangeStillApplies(req.headers["if-range"] as string | undefined, etag, modified)
    ? parseRange(req.headers.range, size)
    : "whole";
  if (range === "unsatisfiable") {
    return done({ status: 416, headers: { ...headers, "Content-Range": `bytes */${size}` }, empty: true });
  }
  const { start, end } = range === "whole" ? { start: 0, end: size - 1 } : range;
  Object.assign(headers, {
    "Content-Type": type.mime,
    "Content-Length": String(end - start + 1),
    "Content-Disposition": disposition(isInert(type) ? "inline" : "attachment", basename(file.path)),
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    ...(range !== "whole" && { "Content-Range": `bytes ${start}-${end}/${size}` }),
  });
  const status = range === "whole" ? 200 : 206;
  if (req.method === "HEAD" || size === 0) return done({ status, headers, empty: true });
  return { status, headers, stream: readRange(handle, start, end) };
}

/**
 * Bytes of an open file, both ends included; closes the handle at the end. Stops with an error if the file has
 * shrunk: the announced length cannot be met, and the client would wait for the rest.
 */
function readRange(handle: FileHandle, start: number, end: number): Readable {
  let at = start;
  return new Readable({
    highWaterMark: CHUNK_BYTES,
    async read() {
      try {
        const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - at + 1));
        const { bytesRead } = await handle.read(chunk, 0, chunk.length, at);
        if (bytesRead === 0) throw new Error("the file shrank while it was being sent");
        at += bytesRead;
        this.push(chunk.subarray(0, bytesRead));
        if (at > end) this.push(null);
      } catch (error) {
        this.destroy(error as Error);
      }
    },
    destroy(error, done) {
      handle.close().then(
        () => done(error),
        (failure: Error) => done(error ?? failure),
      );
    },
  });
}

/** A file that the gateway named itself: its name means nothing and would override the one in a link. */
const OWN_NAME = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.[a-z0-9]{1,8})?$/;

/** RFC 6266, with an ASCII name for old clients and the full name for the others. */
function disposition(kind: "inline" | "attachment", name: string): string {
  if (OWN_NAME.test(name)) return kind;
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${ascii}"${ascii === name ? "" : `; filename*=UTF-8''${encoded}`}`;
}
