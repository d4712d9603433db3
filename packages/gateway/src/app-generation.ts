import { resolve } from "node:path";
import type { Config, Paths } from "./config/index.ts";
import { createGeneration } from "./generation/index.ts";
import type { Clock } from "./lib/clock.ts";
import type { Media } from "./media/index.ts";
import { mediaPathOf } from "./sessions/index.ts";
import { DEFAULT_TTL_SECONDS, type Shares } from "./shares/index.ts";

interface Deps {
  config(): Config;
  paths: Paths;
  clock: Clock;
  media: Pick<Media, "storeImage" | "keepInbound" | "attachmentUrl">;
  shares: Pick<Shares, "link">;
  takeSpace(bytes: number): void;
}

/** The agents' tools that make images and videos. */
export function createAppGeneration({ config, paths, clock, media, shares, takeSpace }: Deps) {
  return createGeneration({
    settings: () => config().gateway,
    fetch,
    clock,
    keepImage: async (agentId, bytes) => {
      takeSpace(bytes.length);
      return media.attachmentUrl(agentId, await media.storeImage(agentId, "an image", bytes));
    },
    keepVideo: async (agentId, content) => {
      const kept = await media.keepInbound(agentId, content, {
        kind: "video",
        name: "video.mp4",
        maxBytes: config().gateway.media.maxUploadBytes,
      });
      return { ...kept, name: "video.mp4", url: media.attachmentUrl(agentId, kept.mediaPath) };
    },
    link: async (agentId, reference) => {
      const workspace = config().agents.find(({ id }) => id === agentId)?.workspace ?? "/";
      const folder = paths.mediaDir(agentId);
      const upload = mediaPathOf(agentId, reference);
      const inMedia = await shares.link(agentId, resolve(folder, upload), DEFAULT_TTL_SECONDS);
      return inMedia ?? shares.link(agentId, resolve(workspace, reference), DEFAULT_TTL_SECONDS);
    },
  });
}
