import type * as z from "zod";
import type { Clock } from "../lib/clock.ts";
import { withoutSlashes } from "../lib/without-slashes.ts";

/** A service of OpenAI's form. */
export interface ServiceSettings {
  /** Without the path of a call: `https://api.openai.com/v1`. */
  baseUrl: string;
  apiKey?: string | undefined;
  model: string;
}

export interface Service {
  post<T>(path: string, reply: z.ZodType<T>, body: object): Promise<T>;
  get<T>(path: string, reply: z.ZodType<T>): Promise<T>;
  /** The content of a reply as it arrives. */
  stream(path: string): AsyncGenerator<Uint8Array>;
  /** A file that a reply names; it gets no key. */
  download(url: string): Promise<Buffer>;
  /** A text of the service, short and without the key. */
  clean(text: string): string;
}

/** Services answer a call for images when they are made. */
const LIMIT_MS = 300_000;
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_REASON = 300;

async function* limited(response: Response, most: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > most) throw new Error("The service sent too much.");
    yield chunk;
  }
}

async function bytesOf(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of limited(response, MAX_BYTES)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const parsed = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
};

/** Calls one service. Errors are sentences for the agent. */
export function createService(
  { baseUrl, apiKey }: ServiceSettings,
  { fetch, clock }: { fetch: typeof globalThis.fetch; clock: Clock },
): Service {
  const base = withoutSlashes(baseUrl);
  const clean = (text: string): string => {
    const plain = apiKey ? text.replaceAll(apiKey, "***") : text;
    return plain.replace(/\s+/g, " ").trim().slice(0, MAX_REASON);
  };

  /** Keeps its time limit until `use` has read the reply. */
  const call = async <T>(
    url: string,
    init: RequestInit,
    use: (response: Response) => Promise<T>,
  ): Promise<T> => {
    const overdue = new AbortController();
    const cancel = clock.after(LIMIT_MS, () => overdue.abort());
    try {
      // A redirect would take the key, or the request, somewhere else.
      const response = await fetch(url, { ...init, redirect: "error", signal: overdue.signal });
      return await use(response);
    } catch (error) {
      if (overdue.signal.aborted)
        throw new Error("The service did not answer in five minutes.", { cause: error });
      // What `fetch` throws says nothing to an agent.
      if (error instanceof TypeError) throw new Error("The service could not be reached.", { cause: error });
      throw error;
    } finally {
      cancel();
    }
  };

  const refuse = async (response: Response): Promise<never> => {
    const body = parsed(await bytesOf(response)) as { error?: { message?: unknown } } | undefined;
    const reason = body?.error?.message;
    throw new Error(
      `The service answered ${response.status}${typeof reason === "string" ? `: ${clean(reason)}` : "."}`,
    );
  };

  const headers = (more?: Record<string, string>) => ({
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    ...more,
  });

  const ask = <T>(path: string, reply: z.ZodType<T>, init: RequestInit): Promise<T> =>
    call(`${base}/${path}`, init, async (response) => {
      if (!response.ok) return refuse(response);
      const answer = reply.safeParse(parsed(await bytesOf(response)));
      if (answer.success) return answer.data;
      throw new Error("The service sent an answer that cannot be read.");
    });

  return {
    clean,
    get: (path, reply) => ask(path, reply, { headers: headers() }),
    post: (path, reply, body) =>
      ask(path, reply, {
        method: "POST",
        headers: headers({ "content-type": "application/json" }),
        body: JSON.stringify(body),
      }),
    async *stream(path) {
      const overdue = new AbortController();
      const cancel = clock.after(LIMIT_MS, () => overdue.abort());
      try {
        const init = { headers: headers(), redirect: "error", signal: overdue.signal } as const;
        const response = await fetch(`${base}/${path}`, init);
        if (!response.ok) await refuse(response);
        // The media folder's own limit is lower.
        yield* limited(response, Number.POSITIVE_INFINITY);
      } finally {
        cancel();
        overdue.abort();
      }
    },
    download(url) {
      if (!URL.canParse(url)) throw new Error("The service named no address.");
      const { protocol, origin } = new URL(url);
      if (protocol !== "https:" && origin !== new URL(base).origin) {
        throw new Error("The service named an address that is not encrypted.");
      }
      return call(url, {}, async (response) => (response.ok ? bytesOf(response) : refuse(response)));
    },
  };
}
