import { PassThrough, Readable } from "node:stream";
import { GatewayError } from "@agent-gateway/contract";
import { describe, expect, it } from "vitest";
import {
  createInboundMedia,
  type InboundMediaPort,
} from "../../../packages/gateway/src/channels/inbound-media.ts";
import type { ChannelAdapter, InboundMedia } from "../../../packages/gateway/src/channels/types.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { recordingLogger } from "../../fixtures/temp-home.ts";

const place = { agentId: "a", channel: "sigchat", account: "" } as const;
const image: InboundMedia = { kind: "image", ref: { id: "1" } };
const file: InboundMedia = { kind: "document", ref: { id: "2" }, name: "report.pdf" };

/** A media room that keeps nothing, and counts what it reads. */
const room: InboundMediaPort = {
  async keepInbound(_agentId, content, { kind, name }) {
    let size = 0;
    for await (const chunk of content) size += chunk.length;
    if (size === 0) throw new GatewayError("INVALID_REQUEST", "The body is empty.");
    if (size > 100) throw new GatewayError("PAYLOAD_TOO_LARGE");
    const mediaPath = `2026-01/${kind}.x`;
    const mime = kind === "image" ? "image/png" : "application/pdf";
    return { mediaPath, path: `/media/${mediaPath}`, mime, ...(name !== undefined && { name }) };
  },
};

const opened = (fetchMedia?: ChannelAdapter["fetchMedia"]) => {
  const clock = manualClock();
  const log = recordingLogger();
  const inbound = createInboundMedia({ media: room, clock, log });
  const never = new AbortController().signal;
  const fetch = (media: InboundMedia[], signal = never) =>
    inbound.fetch(fetchMedia ? { fetchMedia } : {}, place, { id: "a" }, { media }, signal);
  return { clock, log, inbound, fetch };
};
const bytes = (size: number) => async () => Readable.from([Buffer.alloc(size, 1)], { objectMode: false });

describe("files of a message", () => {
  it("are stored and told to the agent by path, kind and name [CH-FILES-8]", async () => {
    const { fetch, inbound } = opened(bytes(5));
    const { files, notes } = await fetch([image, file, image]);
    expect(notes).toEqual([]);
    expect(inbound.describe(files, notes)).toEqual({
      meta: {
        image_path: "/media/2026-01/image.x",
        image_path_2: "/media/2026-01/document.x",
        attachment_kind_2: "document",
        attachment_name_2: "report.pdf",
        image_path_3: "/media/2026-01/image.x",
      },
      text: "",
      mediaFiles: ["2026-01/image.x", "2026-01/document.x", "2026-01/image.x"],
    });
    const [voice] = (await fetch([{ kind: "voice", ref: {} }])).files;
    expect(inbound.describe([{ ...voice!, mime: "audio/ogg" }], [])).toMatchObject({
      meta: { attachment_kind: "voice" },
      mediaFiles: [],
    });
  });

  it("that cannot be had leave the turn to go on, with a sentence that says why [CH-FILES-9]", async () => {
    let asked = 0;
    const large = opened(async () => {
      asked++;
      return bytes(1)();
    });
    const declared = await large.fetch([{ ...file, size: 21 * 1024 * 1024 }]);
    expect(declared).toEqual({
      files: [],
      notes: ['[The file "report.pdf" is unavailable: it is larger than 20 MB.]'],
    });
    expect(asked).toBe(0);
    expect(large.inbound.describe([], declared.notes)).toEqual({
      meta: {},
      text: declared.notes[0],
      mediaFiles: [],
    });

    expect((await opened(bytes(101)).fetch([image])).notes).toEqual([
      "[The image is unavailable: it is larger than 20 MB.]",
    ]);
    expect((await opened(bytes(0)).fetch([image])).notes).toEqual([
      "[The image is unavailable: it is empty.]",
    ]);
    expect((await opened().fetch([image])).notes).toEqual([
      "[The image is unavailable: the channel cannot fetch files.]",
    ]);
    const gone = async () => {
      throw new GatewayError("UPSTREAM_UNAVAILABLE", "LINE no longer has it.");
    };
    expect((await opened(gone).fetch([file, file])).notes).toEqual(
      Array(2).fill('[The file "report.pdf" is unavailable: LINE no longer has it.]'),
    );
  });

  it("fail without a word of what nobody wrote for users [CH-FILES-9]", async () => {
    const leaking = async () => {
      throw new Error("GET https://api.example.org/bot12345:SECRET/file failed");
    };
    const { fetch } = opened(leaking);
    const { notes } = await fetch([{ ...file, name: 'x"\n]\u202e../y.pdf' }]);
    expect(notes).toEqual(['[The file "y.pdf" is unavailable: it could not be fetched.]']);
  });

  it("that come too slowly are given up after a minute, the stream ended [CH-FILES-10]", async () => {
    const slow = new PassThrough();
    slow.write("some");
    const reading = opened(async () => slow);
    const pending = reading.fetch([image, { ...file, size: 30 * 1024 * 1024 }]);
    await new Promise((resolve) => setImmediate(resolve));
    reading.clock.advance(60_000);
    expect((await pending).notes).toEqual([
      "[The image is unavailable: it did not arrive within a minute.]",
      '[The file "report.pdf" is unavailable: it is larger than 20 MB.]',
    ]);
    expect(slow.destroyed).toBe(true);

    let told: AbortSignal | undefined;
    const opening = opened((_media, signal) => {
      told = signal;
      return new Promise(() => {});
    });
    const stuck = opening.fetch([image]);
    await new Promise((resolve) => setImmediate(resolve));
    opening.clock.advance(60_000);
    expect((await stuck).notes).toHaveLength(1);
    expect(told?.aborted).toBe(true);
  });

  it("are not waited for when the message is given up", async () => {
    const stop = new AbortController();
    const { fetch } = opened(() => new Promise(() => {}));
    const pending = fetch([image], stop.signal);
    stop.abort();
    expect((await pending).files).toEqual([]);
    expect((await fetch([image], AbortSignal.abort())).files).toEqual([]);
  });
});
