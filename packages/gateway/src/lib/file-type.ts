import type { FileHandle } from "node:fs/promises";

/** A file type, detected from the first bytes. */
export interface FileType {
  /** Without parameters, except the charset of text. */
  mime: string;
  /** Usual extension, without the dot. */
  ext: string;
}

/** Number of leading bytes that {@link detectType} needs. */
export const HEAD_BYTES = 4096;
const UNKNOWN: FileType = { mime: "application/octet-stream", ext: "bin" };

/** Signature (latin1, `.` for any byte), where it starts, what it means. */
const MAGIC: readonly (readonly [signature: string, mime: string, ext: string])[] = [
  ["\x89PNG\r\n\x1a\n", "image/png", "png"],
  ["\xff\xd8\xff", "image/jpeg", "jpg"],
  ["GIF87a", "image/gif", "gif"],
  ["GIF89a", "image/gif", "gif"],
  ["II*\0", "image/tiff", "tiff"],
  ["MM\0*", "image/tiff", "tiff"],
  ["\0\0\0\x0cJXL \r\n\x87\n", "image/jxl", "jxl"],
  ["%PDF-", "application/pdf", "pdf"],
  ["PK\x03\x04", "application/zip", "zip"],
  ["\x1f\x8b\x08", "application/gzip", "gz"],
  ["ID3", "audio/mpeg", "mp3"],
  ["OggS", "audio/ogg", "ogg"],
  ["fLaC", "audio/flac", "flac"],
  ["\x1aE\xdf\xa3", "video/webm", "webm"],
];
/** Forms inside RIFF, and brands of ISO base media files (ISO/IEC 14496-12, `ftyp`). */
const RIFF: Readonly<Record<string, FileType>> = {
  WEBP: { mime: "image/webp", ext: "webp" },
  WAVE: { mime: "audio/wav", ext: "wav" },
};
const BRANDS: readonly (readonly [brand: RegExp, mime: string, ext: string])[] = [
  [/^avi[fs]/, "image/avif", "avif"],
  [/^he(?:ic|ix|im|is|vc|vx)/, "image/heic", "heic"],
  [/^(?:mif1|msf1)/, "image/heif", "heif"],
  [/^M4A/, "audio/mp4", "m4a"],
  [/./, "video/mp4", "mp4"],
];
/** Sizes of the header that follows a bitmap's file header. */
const BMP_HEADERS = new Set([12, 40, 52, 56, 64, 108, 124]);
const MARKUP = /^(?:\s|<!--[\s\S]*?(?:-->|$)|<\?[\s\S]*?(?:\?>|$)|<!doctype[^>[]*(?:\[[\s\S]*?\])?\s*>?)*/i;
const HTML_TAG =
  /^<(?:html|head|body|script|iframe|style|title|table|div|span|font|img|br|h1|p|a|b|svg|meta|link|form|object|embed|base)(?=[\s/>])/i;

/** The type of a file by its first {@link HEAD_BYTES} bytes; `application/octet-stream` if they are not conclusive. */
export function detectType(head: Uint8Array): FileType {
  const bytes = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, HEAD_BYTES));
  const start = bytes.toString("latin1", 0, 64);
  for (const [signature, mime, ext] of MAGIC) if (start.startsWith(signature)) return { mime, ext };
  if (start.startsWith("RIFF")) return RIFF[start.slice(8, 12)] ?? UNKNOWN;
  if (start.slice(4, 8) === "ftyp") {
    for (const [brand, mime, ext] of BRANDS) if (brand.test(start.slice(8, 12))) return { mime, ext };
  }
  if (start.startsWith("BM") && bytes.length >= 18 && BMP_HEADERS.has(bytes.readUInt32LE(14))) {
    return { mime: "image/bmp", ext: "bmp" };
  }
  if (start.startsWith("\0\0\x01\0") && bytes.length >= 6 && bytes.readUInt16LE(4) > 0) {
    return { mime: "image/x-icon", ext: "ico" };
  }
  return textType(bytes);
}

function textType(bytes: Buffer): FileType {
  if (bytes.length === 0) return UNKNOWN;
  const wide = bytes.length > 1 && (bytes.readUInt16BE(0) === 0xfffe || bytes.readUInt16BE(0) === 0xfeff);
  const text = decode(bytes, wide);
  if (text === undefined) return UNKNOWN;
  const rest = text.replace(MARKUP, "");
  if (/^<(?:[\w-]+:)?svg[\s>/]/i.test(rest)) return { mime: "image/svg+xml", ext: "svg" };
  const prefix = text.slice(0, text.length - rest.length);
  if (HTML_TAG.test(rest) || /<!doctype\s+html/i.test(prefix)) return { mime: "text/html", ext: "html" };
  if (/^\s*<\?xml\s/i.test(prefix)) return { mime: "text/xml", ext: "xml" };
  return wide ? UNKNOWN : { mime: "text/plain; charset=utf-8", ext: "txt" };
}

/** Undefined if the bytes are not text. The last few may be a split character. */
function decode(bytes: Buffer, wide: boolean): string | undefined {
  try {
    const label = wide ? (bytes[0] === 0xff ? "utf-16le" : "utf-16be") : "utf-8";
    const text = new TextDecoder(label, { fatal: true }).decode(bytes, { stream: true });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: text has none of these
    return /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** The type of an open file. */
export async function detectFile(handle: FileHandle): Promise<FileType> {
  const head = Buffer.alloc(HEAD_BYTES);
  const { bytesRead } = await handle.read(head, 0, HEAD_BYTES, 0);
  return detectType(head.subarray(0, bytesRead));
}

/**
 * True for types that a browser can only show, never run. Everything else is served as a download: HTML, SVG and XML
 * run scripts in pages, PDF in its viewer.
 */
export function isInert({ mime }: FileType): boolean {
  return /^(?:image\/(?!svg)|audio\/|video\/|text\/plain)/.test(mime);
}
