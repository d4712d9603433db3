import type { IncomingMessage } from "node:http";
import { extname } from "node:path";
import { GatewayError } from "@agent-gateway/contract";
import { type OpenedFile, openInside } from "../lib/guarded/index.ts";
import { PathError } from "../lib/safe-path.ts";
import { isUnchanged } from "./send-file.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".map": "application/json; charset=utf-8",
};
/** No inline scripts or styles, nothing from other origins, no framing. */
const policy = (frames = "'none'") =>
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; " +
  `connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors ${frames}`;
const POLICY = policy();
const NOT_BUILT =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>Agent Gateway</title>' +
  "<p>The dashboard is not built. Build it with <code>npm run build</code>, then reload this page.</p></html>";

/** Bundlers put the content hash into these file names, so the content never changes. */
const HASHED = /^assets\/[^/]{1,100}-[A-Za-z0-9_-]{8,40}\.[a-z0-9]{1,10}$/;

/** How the build writes the addresses of its files. */
const BUILT_ASSETS = '"/dashboard/assets/';

const MAX_SHARED = 100;

type Bytes = { status: number; headers: Record<string, string>; bytes: Uint8Array | string };

export interface DashboardFiles {
  /** `index.html`, or a notice if the dashboard is not built. */
  page(status: number): Promise<Bytes>;
  /**
   * Another page of the build, whose scripts and styles are at `assets`, relative to its own address, and which the
   * pages of `frames` may show in a frame.
   */
  document(name: string, place: { assets: string; frames: string | undefined }): Promise<Bytes>;
  /** @throws GatewayError `NOT_FOUND` for anything but a file inside the folder */
  asset(
    path: string,
    req: IncomingMessage,
  ): Promise<Bytes | { status: number; headers: Record<string, string>; empty: true }>;
}

/** Serves the built page from `directory`. */
export function createDashboardFiles(directory: string): DashboardFiles {
  /** What is being sent: all who read a file at the same time, however slowly, share its bytes. */
  const shared = new Map<string, WeakRef<Buffer>>();
  const bytesOf = async (key: string, { handle }: OpenedFile): Promise<Buffer> => {
    const known = shared.get(key)?.deref();
    if (known) return known;
    const bytes = await handle.readFile();
    if (shared.size >= MAX_SHARED) shared.clear();
    shared.set(key, new WeakRef(bytes));
    return bytes;
  };
  const open = async (path: string): Promise<OpenedFile | undefined> => {
    try {
      return await openInside(directory, path);
    } catch (error) {
      if (error instanceof PathError) return undefined;
      throw error;
    }
  };
  return {
    async page(status) {
      const headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": POLICY,
        "X-Frame-Options": "DENY",
      };
      await using file = handleOf(await open("index.html"));
      return { status, headers, bytes: file.opened ? await file.opened.handle.readFile() : NOT_BUILT };
    },
    async document(name, { assets, frames }) {
      const headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": policy(frames),
        ...(frames === undefined && { "X-Frame-Options": "DENY" }),
      };
      await using file = handleOf(await open(name));
      const text = await file.opened?.handle.readFile("utf8");
      return { status: 200, headers, bytes: text?.replaceAll(BUILT_ASSETS, `"${assets}`) ?? NOT_BUILT };
    },
    async asset(path, req) {
      if (path === "") return { status: 308, headers: { Location: "/dashboard" }, empty: true };
      await using file = handleOf(await open(path));
      const { opened } = file;
      const type = TYPES[extname(path).toLowerCase()];
      if (!opened || !type) throw new GatewayError("NOT_FOUND");
      const { size, mtimeMs } = opened.stats;
      const etag = `"${size.toString(36)}-${Math.round(mtimeMs).toString(36)}"`;
      const headers = {
        "Content-Type": type,
        "Cache-Control": HASHED.test(path) ? "public, max-age=31536000, immutable" : "no-cache",
        "Content-Security-Policy": POLICY,
        ETag: etag,
      };
      if (isUnchanged(req.headers, etag, mtimeMs)) return { status: 304, headers, empty: true };
      return { status: 200, headers, bytes: await bytesOf(`${etag} ${opened.path}`, opened) };
    },
  };
}

/** Closes the file at the end of the scope. */
function handleOf(opened: OpenedFile | undefined) {
  return { opened, [Symbol.asyncDispose]: async () => opened?.handle.close() };
}
