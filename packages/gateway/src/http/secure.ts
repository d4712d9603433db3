import type { IncomingMessage } from "node:http";

/** Whether the client's connection is encrypted, as far as the gateway can know: TLS ends in front of it. */
export function isSecure(req: IncomingMessage, publicUrl: string | undefined): boolean {
  const forwarded = req.headers["x-forwarded-proto"];
  const first = typeof forwarded === "string" ? forwarded.split(",")[0]?.trim().toLowerCase() : undefined;
  return first === "https" || /^https:/i.test(publicUrl ?? "");
}
