import type { Readable } from "node:stream";
import { GatewayError } from "@agent-gateway/contract";
import type { AgentConfig } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { fileName } from "../lib/one-line.ts";
import { MAX_INBOUND_BYTES } from "./support/inbound-limit.ts";
import type { ChannelAdapter, ChannelPlace, InboundMedia, InboundMessage } from "./types.ts";

/** A download is given up after this. */
const FETCH_MS = 60_000;
const TOO_LARGE = "it is larger than 20 MB";
/** Files that agents can look at; `media_files` takes only these. */
const READABLE = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"]);
const WORDS: Readonly<Record<InboundMedia["kind"], string>> = {
  image: "image",
  document: "file",
  voice: "voice message",
  audio: "audio file",
  video: "video",
};

/** What is needed from the media room. */
export interface InboundMediaPort {
  /**
   * Stores the bytes in the agent's media folder. Throws `PAYLOAD_TOO_LARGE` past `maxBytes`, `INVALID_REQUEST` when
   * there are none, `UNSUPPORTED_MEDIA_TYPE` when an image's content is not one.
   */
  keepInbound(
    agentId: string,
    content: AsyncIterable<Uint8Array>,
    options: { kind: InboundMedia["kind"]; name: string | undefined; maxBytes: number },
  ): Promise<{ mediaPath: string; path: string; mime: string; name?: string }>;
}

export interface InboundMediaDeps {
  media: InboundMediaPort;
  clock: Clock;
  log: Logger;
}

/** A file of a message, in the agent's media folder. */
export interface FetchedFile {
  kind: InboundMedia["kind"];
  /** Path that `media_files` takes. */
  mediaPath: string;
  /** Absolute. */
  path: string;
  /** Detected from the content. */
  mime: string;
  /** One harmless line. */
  name?: string;
}

export interface FetchedMedia {
  files: FetchedFile[];
  /** A sentence for the agent about each file that could not be fetched. */
  notes: string[];
}

/** How a message's files are described to the agent. */
export interface MediaDescription {
  /** `image_path`, `attachment_kind`, `attachment_name`; for further files with a suffix: `_2`, `_3`, …. */
  meta: Record<string, string>;
  /** The notes, to be placed below the message's text; empty when there are none. */
  text: string;
  /** Media paths of the files that agents can look at. */
  mediaFiles: string[];
}

/** Fetches the files of messages on any channel. A file that cannot be fetched never holds up its message. */
export function createInboundMedia({ media, clock, log }: InboundMediaDeps) {
  const fetchOne = async (
    open: NonNullable<ChannelAdapter["fetchMedia"]>,
    agentId: string,
    item: InboundMedia,
    signal: AbortSignal,
  ): Promise<FetchedFile> => {
    const late = new AbortController();
    const cancel = clock.after(FETCH_MS, () => late.abort());
    const either = AbortSignal.any([signal, late.signal]);
    let opened: Readable | undefined;
    try {
      const ended = new Promise<never>((_, reject) => {
        const abort = () => reject(new Error("aborted"));
        if (either.aborted) abort();
        else either.addEventListener("abort", abort, { once: true });
      });
      // The loser of the race may still reject, and a stream that arrives too late has to be closed.
      ended.catch(() => {});
      const opening = open(item, either).then((stream) => {
        if (either.aborted) stream.destroy();
        return stream;
      });
      opening.catch(() => {});
      opened = await Promise.race([opening, ended]);
      const stream = opened;
      const abort = () => void stream.destroy(new Error("aborted"));
      either.addEventListener("abort", abort, { once: true });
      const kept = await media.keepInbound(agentId, stream, {
        kind: item.kind,
        name: item.name,
        maxBytes: MAX_INBOUND_BYTES,
      });
      return { kind: item.kind, ...kept };
    } catch (error) {
      if (late.signal.aborted) throw new GatewayError("TIMEOUT", "it did not arrive within a minute");
      throw error;
    } finally {
      cancel();
      opened?.on("error", () => {});
      opened?.destroy();
    }
  };

  return {
    /** Stores the files of a message, one after the other. Never rejects. */
    async fetch(
      adapter: Pick<ChannelAdapter, "fetchMedia">,
      place: ChannelPlace,
      agent: Pick<AgentConfig, "id">,
      message: Pick<InboundMessage, "media">,
      signal: AbortSignal,
    ): Promise<FetchedMedia> {
      const result: FetchedMedia = { files: [], notes: [] };
      for (const item of message.media ?? []) {
        try {
          if (item.size !== undefined && item.size > MAX_INBOUND_BYTES)
            throw new GatewayError("PAYLOAD_TOO_LARGE");
          if (!adapter.fetchMedia) throw new GatewayError("UNAVAILABLE", "the channel cannot fetch files");
          const open = adapter.fetchMedia.bind(adapter);
          result.files.push(await fetchOne(open, agent.id, item, signal));
        } catch (error) {
          log.warn({ ...place, kind: item.kind, err: error }, "could not fetch a message's file");
          result.notes.push(noteOf(item, error));
        }
      }
      return result;
    },

    describe,
  };
}
export type InboundMediaFetcher = ReturnType<typeof createInboundMedia>;

function noteOf(item: InboundMedia, error: unknown): string {
  const name = fileName(item.name);
  const what = name === undefined ? WORDS[item.kind] : `${WORDS[item.kind]} "${name}"`;
  return `[The ${what} is unavailable: ${reasonOf(error)}.]`;
}

/** Why a file could not be fetched. Errors not written for users are not quoted: they contain addresses. */
function reasonOf(error: unknown): string {
  if (!(error instanceof GatewayError)) return "it could not be fetched";
  if (error.code === "PAYLOAD_TOO_LARGE") return TOO_LARGE;
  if (error.code === "INVALID_REQUEST") return "it is empty";
  if (error.code === "UNSUPPORTED_MEDIA_TYPE") return "it is not an image";
  const sentence = error.message.replace(/(?<!\.)\.+$/, "");
  return /^[A-Z][a-z]/.test(sentence) ? sentence.charAt(0).toLowerCase() + sentence.slice(1) : sentence;
}

function describe(files: readonly FetchedFile[], notes: readonly string[]): MediaDescription {
  const meta: Record<string, string> = {};
  for (const [index, { kind, path, name }] of files.entries()) {
    const suffix = index === 0 ? "" : `_${index + 1}`;
    meta[`image_path${suffix}`] = path;
    if (kind === "image") continue;
    meta[`attachment_kind${suffix}`] = kind;
    if (name !== undefined) meta[`attachment_name${suffix}`] = name;
  }
  return {
    meta,
    text: notes.join("\n"),
    mediaFiles: files.filter(({ mime }) => READABLE.has(mime)).map(({ mediaPath }) => mediaPath),
  };
}
