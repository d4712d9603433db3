import { readNamed } from "../lib/guarded/index.ts";

/** Far more than any configuration. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * The text of one of the configuration's own files. Waits for no pipe, and does not read endless devices.
 * @throws PathError unless it is a regular file
 */
export const readText = async (path: string): Promise<string> =>
  (await readNamed(path, MAX_BYTES)).toString("utf8");
