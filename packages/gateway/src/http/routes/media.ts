import { routes } from "@agent-gateway/contract";
import type { Media } from "../../media/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";
import { sendFile } from "../send-file.ts";

export interface MediaRouteDeps {
  media: Pick<Media, "upload" | "open">;
}

export function mediaRoutes({ media }: MediaRouteDeps): Endpoint[] {
  return [
    endpoint(routes.uploadMedia, async ({ params, req, confirm }) => {
      const { "content-type": contentType, "content-length": length, "x-filename": name } = req.headers;
      const chunked = req.headers["transfer-encoding"] !== undefined;
      const mediaPath = await media.upload(params.agentId, {
        contentType,
        contentLength: length !== undefined ? Number(length) : chunked ? undefined : 0,
        filename: typeof name === "string" ? name : undefined,
        body: req,
        confirm,
      });
      return json({ mediaPath });
    }),
    endpoint(routes.getMedia, async ({ params, req }) =>
      sendFile(req, await media.open(params.agentId, params["*"])),
    ),
  ];
}
