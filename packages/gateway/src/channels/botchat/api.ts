import { Api, type ApiClientOptions, GrammyError, HttpError } from "grammy/web";
import type { Clock } from "../../lib/clock.ts";
import { type Answer, deadline, exchange, jsonOf } from "../support/exchange.ts";
import { retryAfterMs, unreachable } from "../support/outcome.ts";
import { apiRoot } from "./check.ts";

export const PROVIDER = "Telegram";
/** No call lasts longer, whatever its own signal says. */
const CALL_SECONDS = 60;
/** A hundred updates, each with 4096 characters, and as many quoted, of six bytes each, and their entities. */
const MAX_UPDATES_BYTES = 16 * 1024 * 1024;

/** A signal as grammY declares it: that of a package which this build of it does not use. */
export type CallSignal = NonNullable<Parameters<Api["raw"]["getMe"]>[0]>;

/** Runs a call, and aborts it with `parent` or after `ms`. */
export async function within<T>(
  clock: Clock,
  ms: number,
  parent: AbortSignal,
  run: (signal: CallSignal) => Promise<T>,
): Promise<T> {
  const { signal, end } = deadline(clock, ms, parent);
  try {
    return await run(signal as unknown as CallSignal);
  } finally {
    end();
  }
}

export interface BotApi {
  api: Api;
  /** The same, with `begin` called right before each request is complete. */
  sending(begin: () => void): Api;
  /** Address of a file that `getFile` named. It contains the token: never log it. */
  fileUrl(path: string): string;
}

/** grammY's client; responses that are not the bot API's own are made readable: see {@link inItsOwnWords}. */
export function createApi(
  token: string,
  settings: { apiBaseUrl?: string | undefined },
  clock: Clock,
): BotApi {
  const root = apiRoot(settings);
  const clientWith = (begin: { begin?: () => void }) => {
    const call = async (url: string, init: RequestInit & { signal: AbortSignal }) =>
      Response.json(
        inItsOwnWords(await exchange(url, { ...init, ...begin }, MAX_UPDATES_BYTES), clock.now()),
      );
    return new Api(token, {
      apiRoot: root,
      timeoutSeconds: CALL_SECONDS,
      // Declared as that of node-fetch, which this build of grammY does not use.
      fetch: call as unknown as NonNullable<ApiClientOptions["fetch"]>,
    });
  };
  return {
    api: clientWith({}),
    sending: (begin) => clientWith({ begin }),
    fileUrl: (path) => `${root}/file/bot${token}/${path.split("/").map(encodeURIComponent).join("/")}`,
  };
}

/**
 * A response in the bot API's form. A proxy on the way responds in its own form, which grammY would take for a broken
 * connection although the response is complete.
 */
function inItsOwnWords(answer: Answer, now: number): Record<string, unknown> {
  const body = jsonOf(answer);
  const own = typeof body?.ok === "boolean" ? body : undefined;
  const afterMs = retryAfterMs(answer.headers.get("retry-after"), now);
  const parameters = {
    ...(afterMs !== undefined && { retry_after: afterMs / 1000 }),
    ...(own?.parameters as object | undefined),
  };
  if (own?.ok === true) return own;
  return { ok: false, error_code: answer.status, description: "", ...own, parameters };
}

/** The wait that a response asks for, ms. */
export function waitOf(error: unknown): number | undefined {
  const seconds = error instanceof GrammyError ? error.parameters.retry_after : undefined;
  return typeof seconds === "number" && seconds >= 0 ? Math.ceil(seconds * 1000) : undefined;
}

/** Why a connection broke, as a user-facing message. */
export function connectionProblem(error: unknown): Error {
  return new Error(sentence(error));
}

function sentence(error: unknown): string {
  if (!(error instanceof GrammyError))
    return unreachable(error instanceof HttpError ? error.error : error, PROVIDER);
  const { error_code: code, description } = error;
  switch (code) {
    case 401:
    case 404:
      return `Telegram refused the bot token (${code}): check botchat.botToken.`;
    case 409:
      return /webhook/i.test(description)
        ? "Another program set a webhook for this bot: a bot belongs to one gateway, so stop it or use another token."
        : "Another program polls with this bot's token: stop it, or give this agent a bot of its own.";
    case 429:
      return "Telegram's rate limit is reached; the gateway waits as long as Telegram asks.";
    default:
      return `Telegram answered ${code}${description ? `: ${description.slice(0, 200)}` : ""}.`;
  }
}
