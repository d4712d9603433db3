import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  END,
  encodeHeader,
  padding,
  readTar,
  type TarHeader,
} from "../../../packages/gateway/src/cli/backup/tar.ts";

const part = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 60 })
  .filter((text) => !/[/\0\n]/.test(text));
const entry = fc.record({
  name: fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("/")),
  target: fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/")),
  content: fc.uint8Array({ maxLength: 2000 }),
  type: fc.constantFrom("file", "directory", "link"),
  mode: fc.integer({ min: 0, max: 0o777 }),
});

it("reads back what it wrote, however the bytes are split", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(entry, { maxLength: 6 }),
      fc.integer({ min: 1, max: 1500 }),
      async (entries, size) => {
        const headers = entries.map(
          ({ name, type, mode, target, content }): TarHeader => ({
            name,
            type,
            mode,
            mtime: 1_700_000_000,
            size: type === "file" ? content.length : 0,
            target: type === "link" ? target : "",
          }),
        );
        const bytes = Buffer.concat([
          ...headers.flatMap((header, at) => [
            encodeHeader(header),
            Buffer.from(header.type === "file" ? entries[at]!.content : []),
            padding(header.size),
          ]),
          END,
        ]);
        const chunks: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
        const found: unknown[] = [];
        for await (const { content, ...header } of readTar(Readable.from(chunks))) {
          const pieces: Buffer[] = [];
          for await (const piece of content) pieces.push(piece);
          found.push([header, [...Buffer.concat(pieces)]]);
        }
        expect(found).toEqual(
          headers.map((header, at) => [header, header.type === "file" ? [...entries[at]!.content] : []]),
        );
      },
    ),
    { numRuns: 60 },
  );
});

it("keeps sizes beyond eight gibibytes", async () => {
  const header: TarHeader = {
    name: "huge",
    type: "file",
    mode: 0o600,
    size: 9 * 2 ** 30,
    mtime: 0,
    target: "",
  };
  const entries = readTar(Readable.from([encodeHeader(header)]));
  const { value } = await entries.next();
  expect(value?.size).toBe(header.size);
});

it("refuses a header that was changed, and kinds that it does not write", async () => {
  const header = encodeHeader({ name: "a", type: "file", mode: 0o600, size: 0, mtime: 0, target: "" });
  header[0] = 0x62;
  await expect(readTar(Readable.from([header, END])).next()).rejects.toThrow("damaged");
  await expect(readTar(Readable.from([Buffer.alloc(10)])).next()).rejects.toThrow("too early");
});
