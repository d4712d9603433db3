import * as z from "zod";

/** Folder of the archive below which the home directory lies. */
export const HOME_PREFIX = "home/";
/** Name of the last entry: what the archive must hold. */
export const MANIFEST = "manifest.json";
export const FORMAT = 1;
/** The largest manifest that is read: some millions of files. */
export const MAX_MANIFEST_BYTES = 512 * 1024 * 1024;

export const manifest = z.object({
  format: z.literal(FORMAT),
  /** Version of the gateway that wrote it. */
  version: z.string(),
  /** ISO 8601. */
  created: z.string(),
  /** SHA-256 (hex) of each file's content, by its path in the home directory. */
  files: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
  /** Where each symbolic link leads. */
  links: z.record(z.string(), z.string()),
});
export type Manifest = z.output<typeof manifest>;

/** The database's file in the home directory; the archive holds a snapshot of it, without its log. */
export const DATABASE = "gateway.db";
