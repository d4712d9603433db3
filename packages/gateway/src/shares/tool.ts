import type { Attachment } from "@agent-gateway/contract";
import * as z from "zod";
import { detectFile } from "../lib/file-type.ts";
import type { OpenedFile } from "../lib/guarded/read.ts";
import { PathError } from "../lib/safe-path.ts";

/** A tool that the agent can call; what it throws goes to the agent as an error. */
export interface ShareTool {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  inputSchema: Record<string, unknown>;
  call(args: Record<string, unknown>): Promise<string>;
}

export interface ShareToolDeps {
  /** Opens a path inside the session's scope; throws a `PathError` otherwise. */
  open(path: string): Promise<OpenedFile>;
  /** Copies an image into the media folder; resolves to where clients fetch it. */
  keepImage(file: Pick<OpenedFile, "handle">): Promise<string>;
  onAttachment(attachment: Attachment): void;
  /** Sends a file that is no image into the session's chat; false where that takes none. */
  sendFile(file: OpenedFile): Promise<boolean>;
  /** Makes a public link to the file; undefined where the gateway has no public URL. */
  mint: ((file: OpenedFile) => Promise<{ url?: string; expires_at: number }>) | undefined;
}

const args = z.object({
  path: z.string().min(1).describe("Absolute path of the file."),
  caption: z.string().max(1000).optional().describe("A few words on what the file shows."),
});
const { $schema: _, ...inputSchema } = z.toJSONSchema(args);

/** `share_file`, and `share_image`, its older form that takes images alone. */
export function createShareTools(deps: ShareToolDeps): ShareTool[] {
  const run = async (input: Record<string, unknown>, imagesOnly: boolean): Promise<string> => {
    const parsed = args.safeParse(input);
    if (!parsed.success) throw new Error("share_file needs `path`: the absolute path of a file.");
    const file = await deps.open(parsed.data.path).catch((error) => {
      throw error instanceof PathError ? new Error(explain(error)) : error;
    });
    try {
      const { mime } = await detectFile(file.handle);
      // A browser runs what is inside an SVG, so it is a file to download.
      const image = mime.startsWith("image/") && mime !== "image/svg+xml";
      if (imagesOnly && !image) throw new Error("This is not an image; use share_file.");
      const told: string[] = [];
      if (image) {
        deps.onAttachment({ type: "image", url: await deps.keepImage(file) });
        told.push("The image is attached to your reply.");
      }
      const sent = !image && (await deps.sendFile(file));
      if (sent) told.push("The file is sent with your reply.");
      const share = sent ? undefined : await deps.mint?.(file);
      if (share?.url !== undefined) {
        told.push(`Link for the user, good until ${new Date(share.expires_at).toISOString()}: ${share.url}`);
      }
      if (told.length === 0) {
        throw new Error(
          "This gateway has no public URL, so only images can be shared. Tell the user where the file is.",
        );
      }
      if (parsed.data.caption !== undefined) told.push(`Caption: ${parsed.data.caption}`);
      return told.join("\n");
    } finally {
      await file.handle.close();
    }
  };
  return [
    {
      name: "share_file",
      description:
        "Shows a file to the user: an image appears in your reply, any other file is sent with it where the chat takes " +
        "files and else becomes a short-lived download link. " +
        "Takes the file's original absolute path in the workspace, the session folder or the media folder.",
      inputSchema,
      call: (input) => run(input, false),
    },
    {
      name: "share_image",
      description: "Deprecated: use share_file. Shows an image to the user.",
      inputSchema,
      call: (input) => run(input, true),
    },
  ];
}

function explain({ problem }: PathError): string {
  return problem === "missing" || problem === "not-file"
    ? "There is no file at this path."
    : "ARTIFACT_PATH_DENIED: the path is outside the workspace, the session folder and the media folder.";
}
