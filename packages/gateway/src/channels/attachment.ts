import { basename, extname, join } from "node:path";
import type { Content } from "./types.ts";

/** Images are stored with an extension derived from their content. */
const MIME: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

/** An image of a reply as outgoing content. */
export function imageFile(mediaDir: string, mediaPath: string): Extract<Content, { kind: "file" }> {
  return {
    kind: "file",
    path: join(mediaDir, mediaPath),
    mime: MIME[extname(mediaPath)] ?? "application/octet-stream",
    name: basename(mediaPath),
  };
}
