import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { GatewayError } from "@agent-gateway/contract";
import type { Clock } from "../lib/clock.ts";

/** Largest JSON body (contract section 11). */
const MAX_JSON_BYTES = 1024 * 1024;
const MAX_INTERVALS = 4;
const JSON_TYPE = /^application\/(?:[a-z0-9.+-]+\+)?json\s*(?:;|$)/i;

/** Size and time limits of a body. */
interface BodyLimits {
  maxBytes: number;
  /** A body is given up when nothing arrives for this long, or when it takes four times as long in all. */
  idleMs: number;
  /** The message when a body is larger. */
  tooLarge: string;
}
const JSON_IDLE_MS = 30_000;

/** True when the request has, or may have, a body. */
export function hasBody(req: IncomingMessage): boolean {
  return req.headers["transfer-encoding"] !== undefined || Number(req.headers["content-length"] ?? 0) > 0;
}

/**
 * The request's JSON; undefined when there is no body.
 * @throws GatewayError `UNSUPPORTED_MEDIA_TYPE`, `PAYLOAD_TOO_LARGE`, `INVALID_JSON`, or `INVALID_REQUEST` (408) when
 * the body does not arrive in time.
 */
export async function readJson(
  req: IncomingMessage,
  clock: Clock,
  maxBytes: number = MAX_JSON_BYTES,
): Promise<unknown> {
  if (!hasBody(req)) return undefined;
  const type = req.headers["content-type"];
  if (type !== undefined && !JSON_TYPE.test(type)) {
    throw new GatewayError(
      "UNSUPPORTED_MEDIA_TYPE",
      "The body must be JSON (Content-Type: application/json).",
    );
  }
  const bytes = await readBytes(req, clock, {
    maxBytes,
    idleMs: JSON_IDLE_MS,
    tooLarge: `The body is larger than ${maxBytes / MAX_JSON_BYTES} MiB.`,
  });
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) throw new GatewayError("INVALID_JSON", "The body is not valid UTF-8.");
  try {
    return JSON.parse(bytes.toString("utf8", startsWithMark(bytes) ? 3 : 0));
  } catch {
    throw new GatewayError("INVALID_JSON");
  }
}

/**
 * The raw bytes of a body; empty when there is no body.
 * @throws GatewayError `UNSUPPORTED_MEDIA_TYPE` for a compressed one, `PAYLOAD_TOO_LARGE`, or `INVALID_REQUEST` (408)
 * when it does not arrive in time.
 */
export async function readBytes(req: IncomingMessage, clock: Clock, limits: BodyLimits): Promise<Buffer> {
  if (!hasBody(req)) return Buffer.alloc(0);
  if ((req.headers["content-encoding"] ?? "identity").toLowerCase() !== "identity") {
    throw new GatewayError("UNSUPPORTED_MEDIA_TYPE", "Compressed bodies are not accepted.");
  }
  if (Number(req.headers["content-length"] ?? 0) > limits.maxBytes) {
    throw new GatewayError("PAYLOAD_TOO_LARGE", limits.tooLarge);
  }
  return collect(req, clock, limits);
}

/** A body that is passed on as it arrives must deliver this much in this time, or its connection is dropped. */
const RAW_LOOK_MS = 30_000;
const RAW_LEAST_BYTES = 16 * 1024;
/** An upload has a size limit, so it has a time limit too; an import has neither. */
const BINARY_LOOKS = 30;

const lateBody = () =>
  new GatewayError("INVALID_REQUEST", "The body did not arrive in time.", {
    status: 408,
    headers: { connection: "close" },
  });

/** Calls `late` once when a raw body arrives too slowly. A body that waits for the gateway is not slow. */
export function watchRawBody(
  req: IncomingMessage,
  clock: Clock,
  kind: "binary" | "ndjson",
  late: (error: GatewayError) => void,
): void {
  // How much arrived with the headers is unknown, so the first check lets everything pass.
  let before = Number.NEGATIVE_INFINITY;
  let looks = 0;
  const stop = clock.every(RAW_LOOK_MS, () => {
    if (req.complete || req.destroyed) return stop();
    const { bytesRead } = req.socket;
    // What is buffered there is waiting for us, not for the client.
    const slow = bytesRead - before < RAW_LEAST_BYTES && req.readableLength === 0;
    before = bytesRead;
    if (!slow && (kind === "ndjson" || ++looks < BINARY_LOOKS)) return;
    stop();
    late(lateBody());
  });
  req.once("end", stop).once("close", stop);
}

function startsWithMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function collect(
  req: IncomingMessage,
  clock: Clock,
  { maxBytes, idleMs, tooLarge }: BodyLimits,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let before = -1;
    let intervals = 0;
    const settle = (act: () => void) => {
      stop();
      req.off("data", onData).off("end", onEnd).off("close", onClose).off("error", onClose);
      act();
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) {
        return settle(() => reject(new GatewayError("PAYLOAD_TOO_LARGE", tooLarge)));
      }
      chunks.push(chunk);
    };
    const onEnd = () =>
      settle(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size)));
    const onClose = () =>
      settle(() => reject(new GatewayError("INVALID_REQUEST", "The body ended before it was complete.")));
    // One check per interval instead of a new timer per chunk.
    const stop = clock.every(idleMs, () => {
      if (size === before || ++intervals >= MAX_INTERVALS) {
        return settle(() => reject(lateBody()));
      }
      before = size;
    });
    req.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
  });
}
