import { describe, expect, it } from "vitest";
import { detectType, isInert } from "../../../packages/gateway/src/lib/file-type.ts";

const mime = (content: string | Buffer) =>
  detectType(typeof content === "string" ? Buffer.from(content, "latin1") : content).mime;
const box = (brand: string) => `\0\0\0\x1cftyp${brand}\0\0\0\0`;
const bmp = Buffer.alloc(54);
bmp.write("BM");
bmp.writeUInt32LE(40, 14);

describe("the type of a file", () => {
  it.each([
    ["\x89PNG\r\n\x1a\n....", "image/png"],
    ["\xff\xd8\xff\xe0..JFIF", "image/jpeg"],
    ["GIF89a....", "image/gif"],
    ["RIFF\x10\0\0\0WEBPVP8 ", "image/webp"],
    [box("avif"), "image/avif"],
    [box("heic"), "image/heic"],
    [box("isom"), "video/mp4"],
    ["II*\0....", "image/tiff"],
    ["%PDF-1.7\n", "application/pdf"],
    ["PK\x03\x04", "application/zip"],
    ["just text", "text/plain; charset=utf-8"],
    ["<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"],
    ["<?xml version='1.0'?><!-- c --><!DOCTYPE svg PUBLIC 'x' 'y'><svg>", "image/svg+xml"],
    ["  <!DOCTYPE html><p>x", "text/html"],
    ["<!-- hi --><script>alert(1)</script>", "text/html"],
    ["<?xml version='1.0'?><root/>", "text/xml"],
    ["BMW is a car maker", "text/plain; charset=utf-8"],
    ["\0\x01\x02\x03", "application/octet-stream"],
    ["", "application/octet-stream"],
  ])("%j is %s", (content, expected) => {
    expect(mime(content)).toBe(expected);
  });

  it("is found for bitmaps and for text of other widths", () => {
    expect(mime(bmp)).toBe("image/bmp");
    expect(mime(Buffer.from("\ufeff<svg onload='x'>", "utf16le"))).toBe("image/svg+xml");
    expect(mime(Buffer.from("\ufeff<html>", "utf8"))).toBe("text/html");
    expect(mime(Buffer.from("สวัสดี 日本語", "utf8"))).toBe("text/plain; charset=utf-8");
  });

  it("survives any bytes, cut anywhere", () => {
    const text = Buffer.from("ภาษาไทย".repeat(600), "utf8");
    for (let cut = 4090; cut < 4100; cut++) expect(mime(text.subarray(0, cut))).toContain("text/plain");
    expect(mime(`<!--${"<!--".repeat(1000)}`)).toBe("text/plain; charset=utf-8");
  });

  it("decides what a browser may show in place: nothing that it could execute", () => {
    const inert = (content: string) => isInert(detectType(Buffer.from(content, "latin1")));
    expect(inert("\x89PNG\r\n\x1a\n")).toBe(true);
    expect(inert("plain")).toBe(true);
    for (const active of [
      "<svg >",
      "<html>",
      "%PDF-1.4",
      "<?xml version='1.0'?><a/>",
      "\0\0",
      "PK\x03\x04",
    ]) {
      expect(inert(active), active).toBe(false);
    }
  });
});
