import * as z from "zod";

/** Folder in the archive that contains the home directory. */
export const HOME_PREFIX = "home/";
/** Name of the last entry: the list of what the archive must contain. */
export const MANIFEST = "manifest.json";
export const FORMAT = 1;
/** Largest manifest that is read: a few million files. */
export const MAX_MANIFEST_BYTES = 512 * 1024 * 1024;

export const manifest = z.object({
  format: z.literal(FORMAT),
  /** Version of the gateway that wrote it. */
  version: z.string(),
  /** ISO 8601. */
  created: z.string(),
  /** SHA-256 (hex) of each file's content, by its path in the home directory. */
  files: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
  /** The target of each symbolic link. */
  links: z.record(z.string(), z.string()),
});
export type Manifest = z.output<typeof manifest>;

/** The database file in the home directory; the archive contains a snapshot of it, without its log. */
export const DATABASE = "gateway.db";
