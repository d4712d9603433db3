import type { Attachment } from "@agent-gateway/contract";
import * as z from "zod";
import { type Clock, sleep } from "../lib/clock.ts";
import { createService, type Service, type ServiceSettings } from "./service.ts";

/** A tool that the agent can call; errors it throws are passed to the agent. */
interface GenerationTool {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  call(args: Record<string, unknown>): Promise<string>;
}

/** The session in which a tool is called. */
export interface GenerationScope {
  readonly agentId: string;
  /** What the message of the running turn asks for; it has precedence over what the agent says. */
  readonly wishes?: { readonly image?: object | undefined; readonly video?: object | undefined } | undefined;
  onAttachment(attachment: Attachment): void;
  /** Throws a message for the agent when the turn may have no more files. */
  takeShare(): void;
  onFile?: ((file: { path: string; name: string; mime: string }) => void) | undefined;
}

export interface GenerationDeps {
  settings(): { images?: ServiceSettings | undefined; videos?: ServiceSettings | undefined };
  fetch: typeof globalThis.fetch;
  clock: Clock;
  /** Stores an image; resolves to where a client fetches it. */
  keepImage(agentId: string, bytes: Uint8Array): Promise<string>;
  /** Stores a video as it arrives. */
  keepVideo(
    agentId: string,
    content: AsyncIterable<Uint8Array>,
  ): Promise<{ path: string; url: string; name: string; mime: string; size: number }>;
  /** A public link to one of the agent's files, by path or by the address of an attachment; undefined without a public URL. */
  link(agentId: string, reference: string): Promise<string | undefined>;
}

const MAX_AT_ONCE = 4;
const MAX_IMAGES = 10;
/** A video's state is read after one second, then ever more rarely. */
const POLL_FIRST_MS = 1_000;
const POLL_MAX_MS = 5_000;
const MOST_MS = 600_000;
/** Reads of a video's state that may fail in a row. */
const MAX_LOST = 3;

const hint = (what: string) => z.string().trim().min(1).max(200).optional().describe(what);
const prompt = z.string().trim().min(1).max(32_000);
const reference = z
  .string()
  .trim()
  .min(1)
  .max(2_000)
  .optional()
  .describe("Image to start from: a path in the workspace or media folder, or the address of an attachment.");
const imageArgs = z.object({
  prompt: prompt.describe("What the image should show."),
  model: hint("Default: the configured one."),
  quality: hint("As the service names it."),
  size: hint("For example 1024x1024."),
  aspect_ratio: hint("For example 16:9."),
  n: z.number().int().min(1).max(MAX_IMAGES).optional().describe("How many images."),
  image_ref: reference,
});
const videoArgs = z.object({
  prompt: prompt.describe("What the video should show."),
  model: hint("Default: the configured one."),
  duration: z.number().int().min(1).max(3_600).optional().describe("Seconds."),
  resolution: hint("For example 1280x720."),
  aspect_ratio: hint("For example 16:9."),
  image_ref: reference,
});

const imageReply = z.object({
  data: z.array(z.object({ b64_json: z.string().nullish(), url: z.string().nullish() })).min(1),
});
const videoReply = z.object({
  id: z.string().regex(/^[\w.:-]{1,200}$/),
  status: z.string(),
  error: z.object({ message: z.string() }).nullish(),
});

function schemaOf(args: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(args);
  return schema;
}

function read<T>(tool: string, args: z.ZodType<T>, input: object): T {
  const parsed = args.safeParse(input);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${tool}: ${issue!.path.join(".")} is missing or wrong.`);
}

/** Throws once the turn in which this was called is over: the session's scope then stands for another, or for none. */
function sameTurn(scope: GenerationScope): () => void {
  const { takeShare } = scope;
  return () => {
    if (scope.takeShare !== takeShare) throw new Error("The turn has ended; what was made is not attached.");
  };
}

/** `generate_image` and `generate_video`, over services of OpenAI's form that the owner has configured. */
export function createGeneration(deps: GenerationDeps) {
  const { clock } = deps;
  let underWay = 0;
  const serviceOf = (settings: ServiceSettings): Service => createService(settings, deps);

  const linkTo = async (agentId: string, ref: string | undefined): Promise<{ image?: string }> => {
    if (ref === undefined) return {};
    const image = await deps.link(agentId, ref);
    if (image !== undefined) return { image };
    throw new Error(
      "image_ref cannot be handed to the service: it must be a file of the workspace or an attachment, and the gateway needs a public https address (gateway.publicUrl).",
    );
  };

  const makeImages = async (scope: GenerationScope, settings: ServiceSettings, input: object) => {
    const requireTurn = sameTurn(scope);
    const { image_ref, ...asked } = read("generate_image", imageArgs, { ...input, ...scope.wishes?.image });
    const image = await linkTo(scope.agentId, image_ref);
    const service = serviceOf(settings);
    const { data } = await service.post("images/generations", imageReply, {
      model: settings.model,
      ...asked,
      ...image,
    });
    const made = data.slice(0, asked.n ?? MAX_IMAGES);
    for (const { b64_json: encoded, url } of made) {
      const bytes = encoded ? Buffer.from(encoded, "base64") : url ? await service.download(url) : undefined;
      if (!bytes) throw new Error("The image service sent no image.");
      requireTurn();
      scope.takeShare();
      const kept = await deps.keepImage(scope.agentId, bytes);
      requireTurn();
      scope.onAttachment({ type: "image", url: kept });
    }
    return made.length === 1
      ? "The image is attached to your reply."
      : `${made.length} images are attached to your reply.`;
  };

  const finished = async (service: Service, id: string): Promise<void> => {
    const deadline = clock.elapsed() + MOST_MS;
    for (let poll = 1, lost = 0; clock.elapsed() < deadline; poll++) {
      await sleep(clock, Math.min(POLL_MAX_MS, poll * POLL_FIRST_MS));
      const state = await service.get(`videos/${encodeURIComponent(id)}`, videoReply).catch((error) => {
        if (++lost >= MAX_LOST) throw error;
        return undefined;
      });
      if (!state) continue;
      lost = 0;
      if (state.status === "completed") return;
      if (["failed", "cancelled", "canceled"].includes(state.status)) {
        throw new Error(`The video was not made: ${service.clean(state.error?.message ?? state.status)}`);
      }
    }
    throw new Error("The video was not ready after ten minutes.");
  };

  const makeVideo = async (scope: GenerationScope, settings: ServiceSettings, input: object) => {
    const requireTurn = sameTurn(scope);
    const { image_ref, duration, resolution, ...asked } = read("generate_video", videoArgs, {
      ...input,
      ...scope.wishes?.video,
    });
    const image = await linkTo(scope.agentId, image_ref);
    const service = serviceOf(settings);
    const begun = await service.post("videos", videoReply, {
      model: settings.model,
      ...asked,
      ...(duration !== undefined && { seconds: String(duration) }),
      ...(resolution !== undefined && { size: resolution }),
      ...image,
    });
    if (begun.status !== "completed") await finished(service, begun.id);
    requireTurn();
    scope.takeShare();
    const content = service.stream(`videos/${encodeURIComponent(begun.id)}/content`);
    const { path, url, name, mime, size } = await deps.keepVideo(scope.agentId, content);
    requireTurn();
    scope.onAttachment({ type: "file", url, name, mime, size });
    scope.onFile?.({ path, name, mime });
    return "The video is attached to your reply.";
  };

  const limited = async (work: () => Promise<string>): Promise<string> => {
    if (underWay >= MAX_AT_ONCE) throw new Error("Too much is being made at the moment; try again later.");
    underWay++;
    try {
      return await work();
    } finally {
      underWay--;
    }
  };

  return {
    /** The tools of a session, as far as their services are configured. */
    tools(scope: GenerationScope): GenerationTool[] {
      const { images, videos } = deps.settings();
      return [
        ...(images
          ? [
              {
                name: "generate_image",
                description: "Makes images from a description, or changes one; they appear in your reply.",
                inputSchema: schemaOf(imageArgs),
                call: (input: object) => limited(() => makeImages(scope, images, input)),
              },
            ]
          : []),
        ...(videos
          ? [
              {
                name: "generate_video",
                description:
                  "Makes a video from a description, which takes minutes; it is attached to your reply.",
                inputSchema: schemaOf(videoArgs),
                call: (input: object) => limited(() => makeVideo(scope, videos, input)),
              },
            ]
          : []),
      ];
    },
  };
}
