import * as z from "zod";
import { secretKey } from "../token-file.ts";

/** How the gateway shows the token endpoint who it is. */
export const CLIENT_METHODS = ["none", "client_secret_basic", "client_secret_post"] as const;

/** The gateway as a client of an authorization server. */
export interface Client {
  id: string;
  secret?: string | undefined;
  method: (typeof CLIENT_METHODS)[number];
}

/** What a sign-in has left, beside the access token. */
export interface Grant {
  endpoint: string;
  client: Client;
  resource: string;
  /** The connector's host was local at the sign-in: only then may the endpoint be. */
  local: boolean;
  refreshToken?: string | undefined;
  /** Unix milliseconds; without it the token is taken to be good for ever. */
  expiresAt?: number | undefined;
}

export interface Trouble {
  /** Failed refreshes in a row. */
  failures: number;
  /** Those of them that the server refused. */
  refusals: number;
  /** Unix milliseconds; null when nothing is tried any more. */
  nextAttemptAt: number | null;
  /** Nothing is tried before `nextAttemptAt`. */
  waits: boolean;
}

/** The gateway's own book-keeping on the sign-in to a connector. */
export interface Book {
  /** `config.url` at the sign-in: the tokens are for no other server. */
  url: string;
  /** Gone once the server has refused too often. */
  grant?: Grant | undefined;
  trouble?: Trouble | undefined;
}

/** Built when there is a book to read. */
const schema = (): z.ZodType<Book> =>
  z.object({
    url: z.string(),
    grant: z
      .object({
        endpoint: z.string(),
        client: z.object({ id: z.string(), secret: z.string().optional(), method: z.enum(CLIENT_METHODS) }),
        resource: z.string(),
        local: z.boolean(),
        refreshToken: z.string().optional(),
        expiresAt: z.number().optional(),
      })
      .optional(),
    trouble: z
      .object({
        failures: z.number(),
        refusals: z.number(),
        nextAttemptAt: z.number().nullable(),
        waits: z.boolean(),
      })
      .optional(),
  });
let built: z.ZodType<Book> | undefined;

/** The placeholder for the access token. */
export const ACCESS = "access_token";
/** The lines of the file of secrets that belong to a sign-in. */
export const tokenKey = (id: string): string => secretKey(id, ACCESS);
export const bookKey = (id: string): string => `CUSTOMINT__${id}__oauth`;

export const writeBook = (value: Book): string => JSON.stringify(value);

/** @returns undefined where there is none, or none that can be read */
export function readBook(text: string | undefined): Book | undefined {
  if (text === undefined) return undefined;
  try {
    built ??= schema();
    return built.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Whether the access token in the file is for another address than this. */
export const isForeign = (text: string | undefined, url: unknown): boolean => {
  const found = readBook(text);
  return found !== undefined && found.url !== url;
};

/** How long before its end an access token is refreshed. */
export const EARLY_MS = 5 * 60_000;

/** What is wrong with the refreshing of a connector's token. */
export interface RefreshState {
  consecutiveFailures: number;
  permanentFailures: number;
  nextAttemptAt: number | null;
  /** Only a new sign-in helps. */
  unrefreshable?: true;
}

/** @returns undefined while nothing is wrong */
export function refreshState(text: string | undefined, now: number): RefreshState | undefined {
  const found = readBook(text);
  if (!found) return undefined;
  const { trouble: failed, grant: held } = found;
  if (failed) {
    return {
      consecutiveFailures: failed.failures,
      permanentFailures: failed.refusals,
      nextAttemptAt: failed.nextAttemptAt,
      ...(!held && { unrefreshable: true }),
    };
  }
  const ends = held?.expiresAt !== undefined && held.refreshToken === undefined;
  if (!ends || held.expiresAt! - EARLY_MS > now) return undefined;
  return { consecutiveFailures: 0, permanentFailures: 0, nextAttemptAt: null, unrefreshable: true };
}
