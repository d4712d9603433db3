import type { Clock } from "../lib/clock.ts";
import { isRecord } from "../lib/is-record.ts";
import type { Logger } from "../lib/logger.ts";
import { isLoopbackHost } from "../lib/loopback.ts";

/** One usable row of a live catalogue. */
export interface CatalogueRow {
  id: string;
  /** Display name; undefined if the row has none. */
  name: string | undefined;
}

export interface CatalogueDeps {
  /** The gateway's environment. */
  env: Readonly<Record<string, string | undefined>>;
  /** The `env` block of the agent CLI's settings file. */
  readSettings: () => Promise<Readonly<Record<string, string>>>;
  fetch: typeof globalThis.fetch;
  clock: Clock;
  log: Logger;
}

const FRESH_MS = 60_000;
const STALE_MS = 60 * 60_000;
const TIMEOUT_MS = 5_000;
/** After a slow failure, callers do not wait again for this long. */
const RETRY_MS = 10_000;
const SLOW_MS = 1_000;
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_REDIRECTS = 3;
/** Kinds that are not for conversations (`image-text-to-text` and the like are). */
const OTHER_KIND =
  /image|audio|video|embed|rerank|speech|voice|tts|stt|transcri|whisper|moderation|classif|ocr|music|guard|diffusion|segment|detection/;
const CHAT_KIND = /chat|text-to-text|llm|conversation/;

/** The live list of models, shared by everyone who asks. */
export function createCatalogue(deps: CatalogueDeps) {
  const { env, readSettings, fetch, clock, log } = deps;
  let held: { base: string; rows: CatalogueRow[]; at: number } | undefined;
  let waiting: Promise<CatalogueRow[] | undefined> | undefined;
  let retryAt = Number.NEGATIVE_INFINITY;
  let told = "";

  const failed = (reason: string) => {
    // Logged once until it changes: callers may come every second.
    if (told !== reason) log.warn({ reason }, "could not use the model catalogue");
    told = reason;
  };

  const refresh = async (): Promise<CatalogueRow[] | undefined> => {
    const { base, token } = await findSource(env, readSettings);
    if (base === undefined) {
      held = undefined;
      return undefined;
    }
    if (held?.base !== base) held = undefined;
    const started = clock.elapsed();
    try {
      const rows = parseRows(await download(fetch, modelsUrl(base), token));
      held = { base, rows, at: clock.elapsed() };
      told = "";
      return rows;
    } catch (error) {
      failed(error instanceof CatalogueError ? error.message : "the server does not answer");
      if (clock.elapsed() - started >= SLOW_MS) retryAt = clock.elapsed() + RETRY_MS;
      return held && clock.elapsed() - held.at < STALE_MS ? held.rows : undefined;
    }
  };

  return {
    /** Rows of the catalogue, at most 60 s old, or up to an hour while it fails; undefined if there is none. Never rejects. */
    rows(): Promise<CatalogueRow[] | undefined> {
      const age = held ? clock.elapsed() - held.at : Number.POSITIVE_INFINITY;
      if (age < FRESH_MS) return Promise.resolve(held?.rows);
      if (clock.elapsed() < retryAt) return Promise.resolve(age < STALE_MS ? held?.rows : undefined);
      waiting ??= refresh().finally(() => {
        waiting = undefined;
      });
      return waiting;
    },
  };
}

class CatalogueError extends Error {}

/** Base URL and token, each from the environment first, then from the settings file. */
async function findSource(
  env: CatalogueDeps["env"],
  readSettings: () => Promise<Readonly<Record<string, string>>>,
) {
  const settings = await readSettings().catch((): Record<string, string> => ({}));
  const value = (name: string) => env[name]?.trim() || settings[name]?.trim() || undefined;
  return {
    base: value("MODELS_BASE_URL") ?? value("ANTHROPIC_BASE_URL"),
    token: value("MODELS_API_KEY") ?? value("ANTHROPIC_AUTH_TOKEN"),
  };
}

function modelsUrl(base: string): URL {
  const url = URL.parse(`${base.replace(/(?<!\/)\/+$/, "")}/v1/models`);
  if (!url) throw new CatalogueError("the base URL is not a URL");
  return checkTransport(url);
}

/** The token must not cross a network in cleartext. */
function checkTransport(url: URL): URL {
  const local = isLoopbackHost(url.hostname.replace(/^\[|\]$/g, ""));
  if (url.protocol === "https:" || (url.protocol === "http:" && local)) return url;
  throw new CatalogueError("the base URL is neither https nor on this machine");
}

async function download(
  fetch: typeof globalThis.fetch,
  first: URL,
  token: string | undefined,
): Promise<unknown> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let url = first;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const response = await fetch(url, {
      headers: {
        accept: "application/json",
        "anthropic-version": "2023-06-01",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      redirect: "manual",
      signal,
    });
    const location =
      response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (location === null) return readBody(response);
    await response.body?.cancel();
    const next = URL.parse(location, url);
    if (next?.origin !== first.origin) throw new CatalogueError("the catalogue redirects to another host");
    url = next;
  }
  throw new CatalogueError("the catalogue redirects too often");
}

async function readBody(response: Response): Promise<unknown> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new CatalogueError(`the catalogue answered ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw new CatalogueError("the catalogue is too large");
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new CatalogueError("the catalogue is not JSON");
  }
}

/** @throws CatalogueError when no row can be used */
function parseRows(body: unknown): CatalogueRow[] {
  const lists = isRecord(body) ? [body.data, body.models] : [];
  const list = lists.find(Array.isArray) as unknown[] | undefined;
  const rows = new Map<string, CatalogueRow>();
  for (const row of list ?? []) {
    if (
      !isRecord(row) ||
      typeof row.id !== "string" ||
      row.id.trim() === "" ||
      row.id.startsWith("-") ||
      !isChat(row)
    )
      continue;
    const name = [row.name, row.display_name].find(
      (value) => typeof value === "string" && value.trim() !== "",
    );
    rows.set(row.id, { id: row.id, name: name as string | undefined });
  }
  if (rows.size === 0) throw new CatalogueError("the catalogue is empty or has an unknown format");
  return [...rows.values()];
}

function isChat(row: Record<string, unknown>): boolean {
  return [row.kind, row.type].every((kind) => {
    if (typeof kind !== "string") return true;
    const known = kind.toLowerCase().replace(/_/g, "-");
    return CHAT_KIND.test(known) || !OTHER_KIND.test(known);
  });
}
