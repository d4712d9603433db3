import {
  type Book,
  bookKey,
  EARLY_MS,
  type Grant,
  readBook,
  type Trouble,
  tokenKey,
  writeBook,
} from "./book.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { RefusedError, requestTokens, type Tokens } from "./token.ts";
import { type OAuthDeps, ownedUrl, SWEEP_MS } from "./types.ts";

const FIRST_PAUSE_MS = 5 * 60_000;
const LONGEST_PAUSE_MS = 6 * 60 * 60_000;
const MAX_REFUSALS = 3;
const AT_ONCE = 8;

export interface SweepDeps extends Pick<OAuthDeps, "entries" | "file" | "onSecret" | "clock" | "log"> {
  /** Asks for new tokens; throws RefusedError when the server refuses them. */
  refresh?(grant: Grant & { refreshToken: string }, signal: AbortSignal): Promise<Tokens>;
}

/** A refresh that is due: of which connector, by which line of the file. */
interface Due {
  id: string;
  line: string;
  book: Book & { grant: Grant & { refreshToken: string } };
}

/** Refreshes the access tokens that end soon. */
export function createSweep({ entries, file, onSecret, clock, log, ...deps }: SweepDeps) {
  const refresh =
    deps.refresh ??
    (({ endpoint, client, resource, refreshToken, local }, signal) =>
      requestTokens(createGuardedFetch({ clock, local, signal }), {
        endpoint,
        client,
        params: { grant_type: "refresh_token", refresh_token: refreshToken, resource },
      }));

  const urlNow = (id: string) => {
    const now = entries();
    return Object.hasOwn(now, id) ? ownedUrl(now[id]) : undefined;
  };

  function isDue({ grant, trouble }: Book): boolean {
    if (grant?.refreshToken === undefined || grant.expiresAt === undefined) return false;
    const now = clock.now();
    if (grant.expiresAt - EARLY_MS > now) return false;
    if (!trouble?.waits || trouble.nextAttemptAt === null || trouble.nextAttemptAt <= now) return true;
    // The clock was set back since.
    return trouble.nextAttemptAt - now > LONGEST_PAUSE_MS;
  }

  /** Stores what became of a refresh, unless its tokens are no longer the ones that are there: then that stands. */
  const settle = (
    { id, line, book }: Due,
    grant: Grant | undefined,
    more: { access?: string | null; trouble?: Trouble },
  ) =>
    file.edit((lines) => {
      if (lines[bookKey(id)] !== line || urlNow(id) !== book.url) return undefined;
      const { access, trouble } = more;
      return {
        [bookKey(id)]: writeBook({ url: book.url, ...(grant && { grant }), ...(trouble && { trouble }) }),
        ...(access !== undefined && { [tokenKey(id)]: access }),
      };
    });

  async function failed(due: Due, error: unknown): Promise<void> {
    const { id, book } = due;
    const refused = error instanceof RefusedError;
    const failures = (book.trouble?.failures ?? 0) + 1;
    const refusals = (book.trouble?.refusals ?? 0) + (refused ? 1 : 0);
    if (refusals >= MAX_REFUSALS) {
      log.warn(
        { connector: id, err: error },
        "the server refused to refresh a connector's token; sign in again",
      );
      const trouble = { failures, refusals, nextAttemptAt: null, waits: true };
      return settle(due, undefined, { access: null, trouble });
    }
    log.warn({ connector: id, err: error }, "could not refresh a connector's token");
    const pause = refused
      ? SWEEP_MS
      : Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10));
    const trouble = { failures, refusals, nextAttemptAt: clock.now() + pause, waits: !refused };
    return settle(due, book.grant, { trouble });
  }

  async function refreshOne(due: Due, signal: AbortSignal): Promise<void> {
    const { grant } = due.book;
    let tokens: Tokens;
    try {
      tokens = await refresh(grant, signal);
    } catch (error) {
      // The gateway stops: that says nothing about the server.
      if (signal.aborted) return;
      return failed(due, error);
    }
    const { accessToken, refreshToken = grant.refreshToken, life } = tokens;
    for (const value of [accessToken, refreshToken]) onSecret(value);
    const { expiresAt: _, ...rest } = grant;
    const next = {
      ...rest,
      refreshToken,
      ...(life !== undefined && { expiresAt: clock.now() + life * 1_000 }),
    };
    await settle(due, next, { access: accessToken });
  }

  /** What is due; tokens for another address than the connector's own go. */
  async function look(): Promise<Due[]> {
    const lines = await file.read();
    const due: Due[] = [];
    for (const id of Object.keys(entries())) {
      const line = lines[bookKey(id)];
      const book = readBook(line);
      const url = urlNow(id);
      if (line === undefined || !book || url === undefined) continue;
      if (book.url !== url) {
        await file.edit((now) =>
          now[bookKey(id)] === line && urlNow(id) !== book.url
            ? { [bookKey(id)]: null, [tokenKey(id)]: null }
            : undefined,
        );
      } else if (isDue(book)) due.push({ id, line, book } as Due);
    }
    return due;
  }

  async function sweep(signal: AbortSignal): Promise<void> {
    const due = await look();
    const next = async () => {
      for (let one = due.shift(); one && !signal.aborted; one = due.shift()) await refreshOne(one, signal);
    };
    const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, next));
    // What could not be stored; the others are done.
    const failure = ends.find((end) => end.status === "rejected");
    if (failure) throw failure.reason;
  }

  let running: Promise<void> | undefined;
  /** Refreshes what is due. Never two at a time: who calls meanwhile waits for the one that runs. */
  return (signal: AbortSignal): Promise<void> => {
    running ??= sweep(signal).finally(() => {
      running = undefined;
    });
    return running;
  };
}
