import { GatewayError } from "@agent-gateway/contract";
import type { FileType } from "../lib/file-type.ts";

/** Alternative names for the same type. */
const ALIASES: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/x-png": "image/png",
  "image/x-ms-bmp": "image/bmp",
  "image/x-bmp": "image/bmp",
  "image/tif": "image/tiff",
  "image/svg": "image/svg+xml",
  "image/vnd.microsoft.icon": "image/x-icon",
  "image/heif": "image/heic",
  "image/heic-sequence": "image/heic",
  "image/heif-sequence": "image/heic",
  "image/avif-sequence": "image/avif",
};
/** Other extensions that a file of this type may keep. */
const EXTENSIONS: Readonly<Record<string, readonly string[]>> = {
  "image/jpeg": ["jpeg", "jpe", "jfif"],
  "image/tiff": ["tif"],
  "image/heic": ["heif"],
  "image/heif": ["heic"],
  "image/png": ["apng"],
};

const plain = (mime: string) => ALIASES[mime] ?? mime;

/**
 * The type that an upload declares.
 * @throws GatewayError `UNSUPPORTED_MEDIA_TYPE` if there is none, or it is neither an image nor PDF.
 */
export function declaredType(header: string | undefined): string {
  const mime = header?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (/^image\/[a-z0-9][a-z0-9.+-]*$/.test(mime) || mime === "application/pdf") return plain(mime);
  throw new GatewayError("UNSUPPORTED_MEDIA_TYPE", "Content-Type must be an image type or application/pdf.");
}

/** True when a file of this content may be stored under the declared type. */
export function matchesDeclared(declared: string, found: FileType): boolean {
  return declared === plain(found.mime);
}

/** The extension to store a file under: its own if that fits the content, else the usual one. */
export function storedExtension(found: FileType, filename: string | undefined): string {
  const given = /\.([A-Za-z0-9]{1,8})$/.exec(filename?.trim() ?? "")?.[1]?.toLowerCase();
  return given && EXTENSIONS[found.mime]?.includes(given) ? given : found.ext;
}
