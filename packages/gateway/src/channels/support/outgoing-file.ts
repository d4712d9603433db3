import { basename, dirname, join } from "node:path";
import { blobOf, contentOf, openInside } from "../../lib/guarded/index.ts";
import { PathError } from "../../lib/safe-path.ts";

/** An opened file to send to a chat. */
export interface OutgoingFile extends AsyncDisposable {
  readonly size: number;
  /** The whole file, each time from its beginning. */
  content(): AsyncIterable<Uint8Array>;
  /** The whole file, read from disk while it is sent. */
  blob(type?: string): Promise<Blob>;
}

/**
 * Opens a file to send to a chat: one in the agent's media folder, `<folder>/<month>/<name>`. Undefined if it no longer
 * exists, or something else took its place.
 */
export async function openOutgoing(path: string): Promise<OutgoingFile | undefined> {
  const month = dirname(path);
  const opening = openInside(dirname(month), join(basename(month), basename(path)));
  const file = await opening.catch((error) => {
    if (error instanceof PathError) return undefined;
    throw error;
  });
  return (
    file && {
      size: file.stats.size,
      content: () => contentOf(file.handle),
      blob: (type) => blobOf(file, type),
      [Symbol.asyncDispose]: () => file.handle.close(),
    }
  );
}
