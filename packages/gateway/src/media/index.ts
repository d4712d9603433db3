import { join } from "node:path";
import type { Readable } from "node:stream";
import { GatewayError } from "@agent-gateway/contract";
import type { ConfigStore, Paths } from "../config/index.ts";
import type { Clock } from "../lib/clock.ts";
import { detectFile, type FileType } from "../lib/file-type.ts";
import { contentOf, type OpenedFile, openInside } from "../lib/guarded/index.ts";
import type { Logger } from "../lib/logger.ts";
import { fileName } from "../lib/one-line.ts";
import { PathError } from "../lib/safe-path.ts";
import { imageExtension, inboundExtension } from "./inbound.ts";
import { createQuota } from "./quota.ts";
import { storeContent, sweepIncoming, tooLarge } from "./store.ts";
import { declaredType, matchesDeclared, storedExtension } from "./types.ts";

export interface MediaDeps {
  paths: Pick<Paths, "mediaDir">;
  config: Pick<ConfigStore, "current">;
  clock: Clock;
  log: Logger;
  /** Subtracts bytes from the disk's free space; throws below the floor. */
  takeSpace(bytes: number): void;
}

/** One upload as it arrives. */
export interface Upload {
  contentType: string | undefined;
  /** Bytes announced by the client; undefined if it does not say. */
  contentLength: number | undefined;
  filename: string | undefined;
  body: Readable;
  /** Called when the whole body has arrived, before it is kept; throws to refuse it. */
  confirm?(): void;
}

/** An opened media file with its type. The receiver closes `handle`. */
export interface MediaFile extends OpenedFile {
  type: FileType;
}

/** A file from a channel message, or one on its way into a chat. */
export interface KeptFile {
  /** The path for `GET …/media/<mediaPath>`. */
  mediaPath: string;
  /** Absolute. */
  path: string;
  /** By content. */
  mime: string;
  /** Bytes. */
  size: number;
  /** One sanitised line; set if the file came with a name. */
  name?: string;
}

/** Types that agent programs and providers accept; one image of another type would break the whole conversation. */
const READABLE = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"]);

const refusedFile = (message: string) =>
  new GatewayError("INVALID_REQUEST", `media_files: a path ${message}.`, {
    details: [{ path: "media_files", message }],
  });

/** Where a client fetches a stored file. */
const attachmentUrl = (agentId: string, mediaPath: string): string =>
  `/api/v1/agents/${agentId}/media/${mediaPath.split("/").map(encodeURIComponent).join("/")}`;

/** Uploads and captured images of the agents, each agent's in its own media folder. */
export function createMedia({ paths, config, clock, log, takeSpace }: MediaDeps) {
  const underWay = new Set<string>();
  const quota = createQuota({
    folderOf: paths.mediaDir,
    limit: () => config.current.gateway.media.quotaBytes,
    clock,
  });
  const limit = () => config.current.gateway.media.maxUploadBytes;
  const store = async (
    agentId: string,
    content: AsyncIterable<Uint8Array>,
    accept: (type: FileType) => string,
    most = limit(),
  ) => {
    const metered = await quota.meter(agentId, content);
    const { root, now } = { root: paths.mediaDir(agentId), now: clock.now() };
    return storeContent({ root, content: metered.content, limit: most, now, underWay, accept }).catch(
      (error) => {
        metered.release();
        throw error;
      },
    );
  };
  const keep = async (
    agentId: string,
    content: AsyncIterable<Uint8Array>,
    { name, accept, most }: { name: string | undefined; accept(type: FileType): string; most?: number },
  ): Promise<KeptFile> => {
    let mime = "";
    let size = 0;
    const counted = async function* () {
      for await (const chunk of content) {
        size += chunk.length;
        yield chunk;
      }
    };
    const mediaPath = await store(
      agentId,
      counted(),
      (found) => {
        mime = found.mime;
        return accept(found);
      },
      most,
    );
    const path = join(paths.mediaDir(agentId), ...mediaPath.split("/"));
    return { mediaPath, path, mime, size, ...(name !== undefined && { name }) };
  };

  const open = async (agentId: string, mediaPath: string): Promise<MediaFile> => {
    // Hidden names are internal: unfinished uploads.
    const file = await openInside(paths.mediaDir(agentId), mediaPath, {
      mayOpen: (names) => names.every((name) => !name.startsWith(".")),
    });
    try {
      return { ...file, type: await detectFile(file.handle) };
    } catch (error) {
      await file.handle.close();
      throw error;
    }
  };

  return {
    /**
     * Stores an upload; resolves to its media path once it is on disk.
     * @throws GatewayError `INVALID_REQUEST` (empty), `UNSUPPORTED_MEDIA_TYPE`, `PAYLOAD_TOO_LARGE`, `QUOTA_EXCEEDED`
     */
    async upload(
      agentId: string,
      { contentType, contentLength, filename, body, confirm }: Upload,
    ): Promise<string> {
      if (contentLength === 0) throw new GatewayError("INVALID_REQUEST", "The body is empty.");
      const declared = declaredType(contentType);
      const max = limit();
      if (contentLength !== undefined && contentLength > max) throw tooLarge(max);
      // The client may disconnect before the first read, when nothing listens yet.
      body.on("error", () => {});
      // The connection must outlive a refusal, or the client never reads it.
      return store(agentId, spaced(body.iterator({ destroyOnReturn: false }), takeSpace), (found) => {
        if (!matchesDeclared(declared, found)) {
          throw new GatewayError("UNSUPPORTED_MEDIA_TYPE", `The content is not ${declared}.`);
        }
        confirm?.();
        return storedExtension(found, filename);
      }).catch((error) => {
        if (!body.destroyed || body.readableEnded) throw error;
        throw new GatewayError("INVALID_REQUEST", "The body ended before it was complete.");
      });
    },

    /**
     * Opens a file for download.
     * @throws GatewayError `INVALID_REQUEST` for a path that leaves the folder, `NOT_FOUND`
     */
    async open(agentId: string, mediaPath: string): Promise<MediaFile> {
      try {
        return await open(agentId, mediaPath);
      } catch (error) {
        if (!(error instanceof PathError)) throw error;
        const absent = error.problem === "missing" || error.problem === "not-file";
        throw absent
          ? new GatewayError("NOT_FOUND", "There is no such file.")
          : new GatewayError("INVALID_REQUEST", "The path is not that of a media file.", {
              details: [{ path: "path", message: "is not the path of a media file" }],
            });
      }
    },

    /**
     * The uploaded file for an agent's turn. Its time of change is set to now, so that a retention sweep leaves it
     * alone until the message that names it is stored.
     * @throws GatewayError `INVALID_REQUEST` if the path is not a file in this agent's media folder, or of a type that
     * models do not read
     */
    async resolveUpload(agentId: string, mediaPath: string): Promise<{ path: string; mime: string }> {
      const { handle, path, type } = await open(agentId, mediaPath).catch((error) => {
        throw error instanceof PathError ? refusedFile("is not an upload of this agent") : error;
      });
      try {
        if (!READABLE.has(type.mime)) throw refusedFile(`is ${type.mime}, which agents cannot read`);
        const now = clock.now() / 1000;
        await handle.utimes(now, now);
        return { path, mime: type.mime };
      } finally {
        await handle.close();
      }
    },

    /**
     * Stores an image that the agent made; resolves to its media path.
     * @throws GatewayError `UNSUPPORTED_MEDIA_TYPE` if the bytes are not an image, `PAYLOAD_TOO_LARGE`
     */
    storeImage(agentId: string, mime: string, data: Uint8Array): Promise<string> {
      return store(agentId, chunksOf([data]), (found) => {
        if (found.mime.startsWith("image/")) return found.ext;
        throw new GatewayError("UNSUPPORTED_MEDIA_TYPE", `The content is not ${declaredType(mime)}.`);
      });
    },

    /** Copies an opened file into the media folder; resolves to where a client fetches it. The handle stays open. */
    async keepImage(agentId: string, { handle }: Pick<OpenedFile, "handle">): Promise<string> {
      return attachmentUrl(agentId, await store(agentId, contentOf(handle), (found) => found.ext));
    },

    /**
     * Stores a file from a channel message. An image is stored under the extension of its content; another
     * file under that of its name, where no browser would run it.
     * @throws GatewayError `PAYLOAD_TOO_LARGE` past `maxBytes`, `INVALID_REQUEST` if it is empty,
     * `UNSUPPORTED_MEDIA_TYPE` if it should be an image but is not; whatever the stream throws
     */
    keepInbound(
      agentId: string,
      content: AsyncIterable<Uint8Array>,
      { kind, name, maxBytes }: { kind: string; name: string | undefined; maxBytes: number },
    ): Promise<KeptFile> {
      const shown = fileName(name);
      return keep(agentId, content, {
        name: shown,
        accept: (found) => (kind === "image" ? imageExtension(found) : inboundExtension(found, shown)),
        most: maxBytes,
      });
    },

    /**
     * Copies an opened file into the media folder, so that it can be fetched and sent as it is now. The handle stays
     * open.
     * @throws GatewayError `PAYLOAD_TOO_LARGE`
     */
    keepFile(
      agentId: string,
      { handle }: Pick<OpenedFile, "handle">,
      name: string,
    ): Promise<KeptFile & { name: string; url: string }> {
      const shown = fileName(name) ?? "file";
      return keep(agentId, contentOf(handle), {
        name: shown,
        accept: (found) => inboundExtension(found, shown),
      }).then((file) => ({ ...file, name: shown, url: attachmentUrl(agentId, file.mediaPath) }));
    },

    attachmentUrl,

    /** Removes files that a crash left half written, but none that are in progress. */
    async sweep(agentIds: readonly string[]): Promise<void> {
      for (const agentId of agentIds) {
        const left = await sweepIncoming(paths.mediaDir(agentId), underWay);
        if (left > 0) log.info({ agentId, left }, "removed unfinished uploads");
      }
    },
  };
}
export type Media = ReturnType<typeof createMedia>;

/** The content; its bytes are subtracted from the disk's free space as they arrive. */
async function* spaced(content: AsyncIterable<Uint8Array>, takeSpace: (bytes: number) => void) {
  for await (const chunk of content) {
    takeSpace(chunk.length);
    yield chunk;
  }
}

async function* chunksOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
