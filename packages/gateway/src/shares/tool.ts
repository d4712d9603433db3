import type { Attachment } from "@agent-gateway/contract";
import * as z from "zod";
import { detectFile } from "../lib/file-type.ts";
import type { OpenedFile } from "../lib/guarded/index.ts";
import { createMutex } from "../lib/mutex.ts";
import { PathError } from "../lib/safe-path.ts";

/** A tool that the agent can call; errors it throws are passed to the agent. */
export interface ShareTool {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  inputSchema: Record<string, unknown>;
  call(args: Record<string, unknown>): Promise<string>;
}

/** The gateway's own copy of a file. */
export interface KeptFile {
  /** Absolute. */
  path: string;
  /** Where clients fetch it. */
  url: string;
  name: string;
  mime: string;
  /** Bytes. */
  size: number;
}

export interface ShareToolDeps {
  /** Opens a path inside the session's scope; throws a `PathError` otherwise. */
  open(path: string): Promise<OpenedFile>;
  /** Copies an image into the media folder; resolves to where clients fetch it. */
  keepImage(file: Pick<OpenedFile, "handle">): Promise<string>;
  /** Copies any other file there; undefined if it is too large. */
  keepFile(file: OpenedFile): Promise<KeptFile | undefined>;
  onAttachment(attachment: Attachment): void;
  /** Called before anything is copied or linked; throws a message for the agent when there may be no more. */
  takeShare(): void;
  /** Sends a stored file into the session's chat; false if the chat accepts none. */
  sendFile(file: KeptFile): boolean;
  /** Creates a public link to the file; undefined if the gateway has no public URL. */
  mint: ((file: OpenedFile) => Promise<{ url?: string; expires_at: number }>) | undefined;
}

/** Calls of one session that may wait for each other. */
const MAX_WAITING = 50;

const args = z.object({
  path: z.string().min(1).describe("Path of the file, absolute or relative to the workspace."),
  caption: z.string().max(1000).optional().describe("A few words on what the file shows."),
});
const { $schema: _, ...inputSchema } = z.toJSONSchema(args);

/** `share_file`, and `share_image`, its older form for images only. */
export function createShareTools(deps: ShareToolDeps): ShareTool[] {
  const linkTo = async (file: OpenedFile): Promise<string[]> => {
    const share = await deps.mint?.(file);
    if (share?.url === undefined) return [];
    return [`Link for the user, valid until ${new Date(share.expires_at).toISOString()}: ${share.url}`];
  };

  const attachImage = async (file: OpenedFile): Promise<string[]> => {
    deps.onAttachment({ type: "image", url: await deps.keepImage(file) });
    return ["The image is attached to your reply.", ...(await linkTo(file))];
  };

  const attachFile = async (file: OpenedFile): Promise<string[]> => {
    if (file.stats.size === 0) throw new Error("The file is empty.");
    const kept = await deps.keepFile(file);
    if (!kept) {
      const link = await linkTo(file);
      if (link.length === 0) throw new Error("The file is too large to share.");
      return link;
    }
    const { url, name, mime, size } = kept;
    deps.onAttachment({ type: "file", url, name, mime, size });
    if (deps.sendFile(kept)) return ["The file will be sent with your reply."];
    return ["The file is attached to your reply.", ...(await linkTo(file))];
  };

  const run = async (input: Record<string, unknown>, imagesOnly: boolean): Promise<string> => {
    const parsed = args.safeParse(input);
    if (!parsed.success) throw new Error("share_file needs `path`: the path of a file.");
    const file = await deps.open(parsed.data.path).catch((error) => {
      throw error instanceof PathError ? new Error(explain(error)) : error;
    });
    try {
      const { mime } = await detectFile(file.handle);
      // Browsers run scripts inside SVG, so it is offered as a download.
      const image = mime.startsWith("image/") && mime !== "image/svg+xml";
      if (imagesOnly && !image) throw new Error("This is not an image; use share_file.");
      deps.takeShare();
      const told = image ? await attachImage(file) : await attachFile(file);
      if (parsed.data.caption !== undefined) told.push(`Caption: ${parsed.data.caption}`);
      return told.join("\n");
    } finally {
      await file.handle.close();
    }
  };
  const oneAtATime = createMutex();
  let waiting = 0;
  /** A program may call at any rate; each call holds its arguments, and an open file once it runs. */
  const inTurn = async (input: Record<string, unknown>, imagesOnly: boolean): Promise<string> => {
    if (waiting >= MAX_WAITING) throw new Error("Too many files are being shared; wait for those before.");
    waiting++;
    try {
      return await oneAtATime(() => run(input, imagesOnly));
    } finally {
      waiting--;
    }
  };

  return [
    {
      name: "share_file",
      description:
        "Shows a file to the user: an image appears in your reply, any other file is attached to it. " +
        "Accepts the path of a file in the workspace (absolute or relative), the session folder or the media folder.",
      inputSchema,
      call: (input) => inTurn(input, false),
    },
    {
      name: "share_image",
      description: "Deprecated: use share_file. Shows an image to the user.",
      inputSchema,
      call: (input) => inTurn(input, true),
    },
  ];
}

function explain({ problem }: PathError): string {
  return problem === "missing" || problem === "not-file"
    ? "There is no file at this path."
    : "ARTIFACT_PATH_DENIED: the path is outside the workspace, the session folder and the media folder.";
}
