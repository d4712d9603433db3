/**
 * The tar format, as POSIX.1-2001 defines it (ustar with pax headers):
 * https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06
 */
const BLOCK = 512;
const OCTAL_MAX = 8 ** 11 - 1;
/** Enough for a header with one long name. */
const MAX_PAX_BYTES = 1024 * 1024;

export interface TarHeader {
  name: string;
  type: "file" | "directory" | "link";
  /** Permission bits. */
  mode: number;
  /** Bytes that follow; 0 for anything but a file. */
  size: number;
  /** Unix seconds. */
  mtime: number;
  /** Target of a symbolic link; empty otherwise. */
  target: string;
}

const TYPES = { file: "0", link: "2", directory: "5" } as const;
const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, "0")}\0`;
const fits = (text: string, bytes: number) => /^[\x20-\x7e]*$/.test(text) && text.length <= bytes;

function block(header: Omit<TarHeader, "type">, flag: string): Buffer {
  const bytes = Buffer.alloc(BLOCK);
  const put = (text: string, at: number) => bytes.write(text, at, "latin1");
  put(header.name, 0);
  put(octal(header.mode, 8), 100);
  put(octal(0, 8), 108);
  put(octal(0, 8), 116);
  put(octal(header.size, 12), 124);
  put(octal(Math.max(0, Math.floor(header.mtime)), 12), 136);
  put(" ".repeat(8), 148);
  put(flag, 156);
  put(header.target, 157);
  put("ustar\x0000", 257);
  put(`${octal(checksum(bytes), 7)} `, 148);
  return bytes;
}

function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < BLOCK; at++) sum += at >= 148 && at < 156 ? 0x20 : bytes[at]!;
  return sum;
}

/** `23 path=some/long/name\n`, where the number counts itself. */
function record(key: string, value: string): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

/** Zeros that fill the last block of a file. */
export const padding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
/** End-of-archive marker. */
export const END = Buffer.alloc(2 * BLOCK);

/** The header of one entry; names and sizes that do not fit come in a pax header before it. */
export function encodeHeader(header: TarHeader): Buffer {
  const long: Buffer[] = [];
  const plain = { ...header };
  if (!fits(header.name, 100)) {
    long.push(record("path", header.name));
    plain.name = "long-name";
  }
  if (!fits(header.target, 100)) {
    long.push(record("linkpath", header.target));
    plain.target = "long-name";
  }
  if (header.size > OCTAL_MAX) {
    long.push(record("size", String(header.size)));
    plain.size = 0;
  }
  const main = block(plain, TYPES[header.type]);
  if (long.length === 0) return main;
  const records = Buffer.concat(long);
  const pax = block({ name: "pax", mode: 0o600, size: records.length, mtime: header.mtime, target: "" }, "x");
  return Buffer.concat([pax, records, padding(records.length), main]);
}

/** Something in the bytes is not as this program writes it. */
export class TarError extends Error {}

const text = (bytes: Buffer, at: number, length: number) => {
  const end = bytes.indexOf(0, at);
  return bytes.toString("utf8", at, end === -1 || end > at + length ? at + length : end);
};

function number(bytes: Buffer, at: number, length: number): number {
  const digits = text(bytes, at, length).trim();
  if (!/^[0-7]+$/.test(digits)) throw new TarError("a header has an invalid number");
  return Number.parseInt(digits, 8);
}

function parsePax(bytes: Buffer): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = Number(bytes.toString("latin1", at, space));
    if (space < 0 || !Number.isInteger(length) || length <= 0 || at + length > bytes.length) {
      throw new TarError("an extended header is broken");
    }
    const line = bytes.toString("utf8", space + 1, at + length - 1);
    const equals = line.indexOf("=");
    fields.set(line.slice(0, equals), line.slice(equals + 1));
    at += length;
  }
  return fields;
}

/** Reads a stream in portions of the requested size. */
function createReader(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const more = async (): Promise<void> => {
    const { done, value } = await chunks.next();
    if (done) throw new TarError("it ends too early");
    rest = value;
  };
  return {
    async *take(size: number): AsyncGenerator<Buffer> {
      for (let left = size; left > 0; ) {
        if (rest.length === 0) await more();
        const piece = rest.subarray(0, left);
        rest = rest.subarray(piece.length);
        left -= piece.length;
        if (piece.length > 0) yield piece;
      }
    },
    async all(size: number): Promise<Buffer> {
      const pieces: Buffer[] = [];
      for await (const piece of this.take(size)) pieces.push(piece);
      return Buffer.concat(pieces);
    },
    /** Reads to the end of the stream; true if it was all zeros. */
    async drain(): Promise<boolean> {
      let zeros = rest.every((byte) => byte === 0);
      for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
        zeros &&= next.value.every((byte) => byte === 0);
      }
      return zeros;
    },
  };
}

export interface TarEntry extends TarHeader {
  /** The bytes of a file; must be read to the end before the next entry is requested. */
  content: AsyncIterable<Buffer>;
}

/**
 * Reads an archive that {@link encodeHeader} wrote.
 * @throws TarError for anything that it would not write
 */
export async function* readTar(source: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const reader = createReader(source);
  let pax = new Map<string, string>();
  for (;;) {
    const head = await reader.all(BLOCK);
    if (head.every((byte) => byte === 0)) break;
    if (number(head, 148, 8) !== checksum(head)) throw new TarError("a header is damaged");
    const flag = String.fromCharCode(head[156]!);
    const size = pax.has("size") ? Number(pax.get("size")) : number(head, 124, 12);
    if (!Number.isSafeInteger(size) || size < 0) throw new TarError("a size is invalid");
    if (flag === "x") {
      if (size > MAX_PAX_BYTES) throw new TarError("an extended header is too long");
      pax = parsePax(await reader.all(size));
      await reader.all(padding(size).length);
      continue;
    }
    const type = (Object.keys(TYPES) as TarHeader["type"][]).find((key) => TYPES[key] === flag);
    if (!type || (type !== "file" && size > 0))
      throw new TarError("it contains something other than files, folders and links");
    const content = reader.take(size);
    yield {
      name: pax.get("path") ?? text(head, 0, 100),
      type,
      mode: number(head, 100, 8) & 0o777,
      size,
      mtime: number(head, 136, 12),
      target: pax.get("linkpath") ?? text(head, 157, 100),
      content,
    };
    for await (const _ of content) throw new TarError("an entry was not read to its end");
    await reader.all(padding(size).length);
    pax = new Map();
  }
  if (!(await reader.drain())) throw new TarError("something follows its end");
}
