import { access, constants } from "node:fs/promises";
import { type CallInput, createClient, GatewayError, type RouteName } from "@agent-gateway/contract";
import { createPaths, homeEnvFile, readDotenv } from "../config/index.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { CliError, UsageError } from "./errors.ts";
import { last, type Parsed } from "./flags.ts";
import { httpFetch } from "./http.ts";
import type { RouteInput } from "./request.ts";

const DEFAULT_URL = "http://127.0.0.1:10850";
type Env = Readonly<Record<string, string | undefined>>;

/** The gateway that commands connect to. */
export interface Connection {
  /** Without a slash at the end. */
  url: string;
  key: string | undefined;
  /** Calls a route by name; rejects with a user-facing error. */
  call(name: RouteName, input: Partial<RouteInput> & CallOptions): Promise<Response>;
  /** Any request below the gateway's address. */
  fetch(path: string, init: RequestInit): Promise<Response>;
}
interface CallOptions {
  raw?: BodyInit;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/**
 * From `--url` and `--key`, else `GATEWAY_URL` and `GATEWAY_API_KEY`.
 * @throws UsageError if the URL is not valid
 */
export function connect(parsed: Parsed, env: Env): Connection {
  const given = last(parsed, "url") ?? (env.GATEWAY_URL || DEFAULT_URL);
  if (!URL.canParse(given) || !/^https?:\/\/./.test(given)) {
    throw new UsageError("--url must be a URL such as http://127.0.0.1:10850.");
  }
  const url = given.replace(/(?<!\/)\/+$/, "");
  const key = (last(parsed, "key") ?? env.GATEWAY_API_KEY) || undefined;
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw new UsageError("--key must be only the key, without spaces or line breaks.");
  }
  const client = createClient({ baseUrl: url, key, fetch: httpFetch });
  const explained = async (response: Promise<Response>) => {
    const answer = await response.catch(async (error: unknown) => {
      throw await explain(error, url, env);
    });
    if (answer.status >= 300 && answer.status !== 304) {
      throw new CliError(`The server at ${url} answered ${answer.status}, so it is not a gateway.`);
    }
    return answer;
  };
  return {
    url,
    key,
    call(name, { raw, ...input }) {
      // Types are checked where the command line is parsed; here the route can be any.
      const loose = { ...input, ...(raw !== undefined && { body: raw }) } as unknown;
      return explained(client.raw(name as "health", loose as CallInput<"health">));
    },
    fetch(path, init) {
      const headers = new Headers(init.headers);
      if (key) headers.set("x-api-key", key);
      const sent = httpFetch(`${url}${path}`, { ...init, headers }).catch((cause: unknown) => {
        throw new GatewayError("UPSTREAM_UNAVAILABLE", `The gateway at ${url} did not answer.`, { cause });
      });
      return sent.catch(async (error: unknown) => {
        throw await explain(error, url, env);
      });
    },
  };
}

/** Adds advice to a failure. */
export async function explain(error: unknown, url: string, env: Env): Promise<unknown> {
  if (!(error instanceof GatewayError)) return error;
  const { code, path } = (error.cause ?? {}) as NodeJS.ErrnoException;
  if (code === "ECONNREFUSED") {
    return new CliError(
      `No gateway answers at ${url}: start one with \`agent-gateway start\`, or choose another with --url.`,
      { cause: error },
    );
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return new CliError(`Could not find the host of ${url}.`, { cause: error });
  }
  // A file could not be read while it was being sent.
  if (path !== undefined) return error.cause;
  if (error.code !== "API_KEY_MISSING" && error.code !== "API_KEY_INVALID") return error;
  const hint = `${error.message} Pass a key with --key or GATEWAY_API_KEY.${await whereTheKeyIs(url, env)}`;
  return new GatewayError(error.code, hint, { status: error.status });
}

/** On the gateway's own machine, points out where the admin key is; it is never used automatically. */
async function whereTheKeyIs(url: string, env: Env): Promise<string> {
  if (!isLoopbackHost(new URL(url).hostname.replace(/^\[|\]$/g, ""))) return "";
  const file = homeEnvFile(createPaths(env));
  const readable = await access(file, constants.R_OK).then(
    () => true,
    () => false,
  );
  const known = readable && (await readDotenv(file)).GATEWAY_ADMIN_KEY;
  return known ? ` This machine's gateway keeps its admin key in ${file}, as GATEWAY_ADMIN_KEY.` : "";
}
