import { createReadStream } from "node:fs";
import { createGunzip } from "node:zlib";

const BLOCK = 512;
/** An archive that unpacks to more is not read further. */
const MAX_UNPACKED_BYTES = 1024 * 1024 * 1024;
const REGULAR = new Set(["0", "\0"]);

const textAt = (block: Buffer, at: number, length: number) => {
  const end = block.subarray(at, at + length).indexOf(0);
  return block.toString("utf8", at, end === -1 ? at + length : at + end);
};

/**
 * Reads one file of a package from the archive that npm packed: in it, every path begins with one folder.
 * https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06
 * @param name path without that folder
 * @param maxBytes of the file; the rest of a longer one is left out
 * @returns null when the package has no such file
 * @throws Error for what is no such archive
 */
export async function readPacked(archive: string, name: string, maxBytes: number): Promise<string | null> {
  const file = createReadStream(archive);
  const unpacked = createGunzip();
  file.on("error", (error) => unpacked.destroy(error)).pipe(unpacked);
  try {
    return await findFile(unpacked, name, maxBytes);
  } finally {
    file.destroy();
    unpacked.destroy();
  }
}

async function findFile(
  source: AsyncIterable<Buffer>,
  name: string,
  maxBytes: number,
): Promise<string | null> {
  /** Bytes of the entry, with its padding, that are still to come. */
  let left = 0;
  let wanted: { chunks: Buffer[]; missing: number } | undefined;
  let head: Buffer = Buffer.alloc(0);
  let seen = 0;
  for await (const chunk of source) {
    seen += chunk.length;
    if (seen > MAX_UNPACKED_BYTES) return null;
    for (let at = 0; at < chunk.length; ) {
      if (left > 0) {
        const piece = chunk.subarray(at, at + left);
        if (wanted && wanted.missing > 0) {
          const part = piece.subarray(0, wanted.missing);
          wanted.chunks.push(part);
          wanted.missing -= part.length;
        }
        left -= piece.length;
        at += piece.length;
        if (wanted?.missing === 0) return Buffer.concat(wanted.chunks).toString("utf8");
        continue;
      }
      const piece = chunk.subarray(at, at + BLOCK - head.length);
      head = Buffer.concat([head, piece]);
      at += piece.length;
      if (head.length < BLOCK) continue;
      const block = head;
      head = Buffer.alloc(0);
      if (block[0] === 0) continue;
      const digits = textAt(block, 124, 12).trim();
      if (!/^[0-7]{1,12}$/.test(digits)) throw new Error("the package's archive is damaged");
      const size = Number.parseInt(digits, 8);
      left = Math.ceil(size / BLOCK) * BLOCK;
      const path = textAt(block, 0, 100);
      const type = String.fromCharCode(block[156]!);
      if (!REGULAR.has(type) || path.slice(path.indexOf("/") + 1) !== name || !path.includes("/")) continue;
      if (size === 0) return "";
      wanted = { chunks: [], missing: Math.min(size, maxBytes) };
    }
  }
  if (left > 0 || head.length > 0) throw new Error("the package's archive is cut off");
  return null;
}
