import { createHash } from "node:crypto";
import { Transform } from "node:stream";

/** Length of {@link sealOf}. */
export const SEAL_BYTES = 58;
/** Header of an empty gzip member (RFC 1952) whose extra field `AG` holds 32 bytes. */
const HEAD = Buffer.from([0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 36, 0, 0x41, 0x47, 32, 0]);
/** An empty deflate block, then checksum and length of nothing. */
const TAIL = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

/**
 * The end of an archive: the SHA-256 of every byte before it, since the format's own checksum covers only the content.
 * It is an empty gzip member, so any program that knows the format can read the archive.
 */
export const sealOf = (digest: Buffer): Buffer => Buffer.concat([HEAD, digest, TAIL]);

/** Passes bytes on and, with `append`, their seal after them; `seal` is there once all have passed. */
export function createSealer({ append }: { append: boolean }): { stream: Transform; seal: () => Buffer } {
  const hash = createHash("sha256");
  let seal = Buffer.alloc(0);
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
    flush(done) {
      seal = Buffer.from(sealOf(hash.digest()));
      if (append) this.push(seal);
      done();
    },
  });
  return { stream, seal: () => seal };
}
