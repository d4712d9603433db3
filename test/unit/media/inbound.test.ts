import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { GatewayError } from "@agent-gateway/contract";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Config } from "../../../packages/gateway/src/config/index.ts";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { inboundExtension } from "../../../packages/gateway/src/media/inbound.ts";
import { createMedia, type Media } from "../../../packages/gateway/src/media/index.ts";

const PNG = Buffer.from("\x89PNG\r\n\x1a\n and then whatever", "latin1");
const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
const TEXT = { mime: "text/plain; charset=utf-8", ext: "txt" };

const MAX_INBOUND_BYTES = 20 * 1024 * 1024;

let home: string;
let media: Media;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "inbound-"));
  media = createMedia({
    paths: { mediaDir: (agentId) => join(home, agentId, "media") },
    config: { current: { gateway: { media: { maxUploadBytes: 1000 } } } as Config },
    clock: systemClock,
    log: silentLogger,
    takeSpace: () => {},
  });
});
afterEach(() => rm(home, { recursive: true, force: true }));

const keep = (bytes: Buffer | Readable, kind: string, name?: string) =>
  media.keepInbound("a", bytes instanceof Readable ? bytes : Readable.from([bytes], { objectMode: false }), {
    kind,
    name,
    maxBytes: MAX_INBOUND_BYTES,
  });
const codeOf = (action: Promise<unknown>) =>
  action.then(
    () => "done",
    (error) => (error instanceof GatewayError ? error.code : String(error)),
  );
const left = () => readdir(join(home, "a/media/.incoming")).catch(() => []);

describe("a file that a message brought", () => {
  it("is stored whole, an image by the type of its content [CH-FILES-3]", async () => {
    const file = await keep(PNG, "image", "picture.jpg");
    expect(file).toMatchObject({ mime: "image/png", name: "picture.jpg" });
    expect(file.mediaPath).toMatch(/^\d{4}-\d\d\/[0-9a-f-]{36}\.png$/);
    expect(file.path).toBe(join(home, "a/media", file.mediaPath));
    expect(await readFile(file.path)).toEqual(PNG);
    expect((await stat(file.path)).mode & 0o777).toBe(0o600);
  });

  it("that calls itself an image and is none is refused [CH-FILES-3]", async () => {
    expect(await codeOf(keep(Buffer.from("<html>"), "image"))).toBe("UNSUPPORTED_MEDIA_TYPE");
    expect(await codeOf(keep(SVG, "image"))).toBe("UNSUPPORTED_MEDIA_TYPE");
    expect(await left()).toEqual([]);
  });

  it("keeps the extension of its name where that is a short alphanumeric run [CH-FILES-4]", async () => {
    for (const [name, ext] of [
      ["report.PDF", "pdf"],
      ["archive.tar.gz", "gz"],
      ["notes.md", "md"],
      ["song.mp3", "mp3"],
      ["a.docx", "docx"],
    ]) {
      expect((await keep(Buffer.from("x"), "document", name)).mediaPath).toMatch(new RegExp(`\\.${ext}$`));
    }
  });

  it("with an unusable extension, or of a type that a browser runs, is stored as .bin [CH-FILES-4]", async () => {
    const names = [
      ..."README;.hidden;name.;a.b c;a.toolongext;a.ä;a.p-f;a.x/y;a.html%00.p!f".split(";"),
      ..."html htm HTM xhtml xht shtml mhtml xml xsl xslt svg svgz SVG mml mathml rss atom js mjs cjs css hta"
        .split(" ")
        .map((ext) => `file.${ext}`),
    ];
    for (const name of names) {
      expect((await keep(Buffer.from("x"), "document", name)).mediaPath, name).toMatch(/\.bin$/);
    }
    expect((await keep(SVG, "document")).mediaPath).toMatch(/\.bin$/);
    expect((await keep(PNG, "voice")).mediaPath).toMatch(/\.png$/);
  });

  it("gets .bin or at most eight letters and digits, whatever its name [CH-FILES-4]", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), fc.string({ maxLength: 12 }), (stem, ext) => {
        const stored = inboundExtension(TEXT, `${stem}.${ext}`);
        expect(stored).toMatch(/^[a-z0-9]{1,8}$/);
        expect(stored).not.toMatch(/html|htm$|xml|^svgz?$|^m?js$|^css$|mml|^xht$|^xslt?$/);
      }),
    );
  });

  it("has a name without paths, controls and overrides [CH-FILES-2]", async () => {
    expect((await keep(PNG, "document", "../../evil\u202e\n.png")).name).toBe("evil .png");
    expect(await keep(PNG, "document")).not.toHaveProperty("name");
  });

  it("is cut off past 20 MB while it comes, whatever the limit of uploads [CH-FILES-5]", async () => {
    const chunk = Buffer.alloc(1 << 20, 1);
    let given = 0;
    const endless = new Readable({
      read() {
        given += chunk.length;
        this.push(chunk);
      },
    });
    expect(await codeOf(keep(endless, "document", "a.zip"))).toBe("PAYLOAD_TOO_LARGE");
    expect(given).toBeLessThan(MAX_INBOUND_BYTES + 4 * chunk.length);
    expect(await left()).toEqual([]);
    const whole = Readable.from(Array(20).fill(chunk));
    expect((await stat((await keep(whole, "document", "a.zip")).path)).size).toBe(MAX_INBOUND_BYTES);
  });

  it("that is empty or breaks off leaves nothing behind [CH-FILES-6]", async () => {
    expect(await codeOf(keep(Readable.from([]), "document", "a.txt"))).toBe("INVALID_REQUEST");
    async function* broken() {
      yield PNG;
      throw new Error("reset");
    }
    expect(await codeOf(keep(Readable.from(broken()), "image"))).toBe("Error: reset");
    expect(await left()).toEqual([]);
  });
});

describe("a file on its way into a chat", () => {
  it("is copied as it is now, under a safe extension [CH-FILES-7]", async () => {
    const source = await keep(Buffer.from("the report"), "document", "report.txt");
    const { handle } = await media.open("a", source.mediaPath);
    const copy = await media.keepFile("a", { handle }, "page.html");
    await handle.close();
    await rm(source.path);
    expect(copy).toMatchObject({ name: "page.html", mime: "text/plain; charset=utf-8" });
    expect(copy.path).toMatch(/\.bin$/);
    expect(await readFile(copy.path, "utf8")).toBe("the report");
  });
});
