import { type Clock, sleep } from "../../lib/clock.ts";
import { objectsOf } from "../support/payload.ts";
import type { InboundMessage } from "../types.ts";
import { compareIds, isSnowflake, type Me, parseMessage } from "./parse.ts";
import { caughtUp, forget, type Position, postpone } from "./position.ts";
import type { Api, Result } from "./rest.ts";

/** Most that is fetched of one channel. */
const MOST = 100;
const PAGE = 50;
const AT_ONCE = 5;
const CALL_MS = 15_000;
/** How long rate limits are waited out, for each page. */
const LIMITED_MS = 30_000;
/** Announced waits may be too short; asking again at once would only prolong the limit. */
const SHORTEST_WAIT_MS = 1_000;

export interface MissedDeps {
  api: Api;
  clock: Clock;
  position: Position;
  me: Me;
  signal: AbortSignal;
  receive(messages: readonly InboundMessage[]): Promise<void>;
}

/**
 * Fetches what was written while nobody listened, for each channel that is behind. Those that cannot be asked stay
 * behind. Rejects when messages could not be stored, and only once nothing more can be stored late.
 */
export async function fetchMissed(deps: MissedDeps): Promise<void> {
  const failed = new AbortController();
  const one = { ...deps, signal: AbortSignal.any([deps.signal, failed.signal]) };
  const fail = (error: unknown) => {
    failed.abort(error);
    return false;
  };
  const waiting = [...deps.position.behind];
  while (waiting.length > 0) {
    const batch = waiting.splice(0, AT_ONCE);
    const asked = await Promise.all(batch.map((chatId) => ofChannel(one, chatId).catch(fail)));
    failed.signal.throwIfAborted();
    if (!asked.includes(true)) return;
  }
}

/** Every other answer says that the channel cannot be read at all. */
const askAgain = (status: number) => status >= 500 || status === 401 || status === 408;

/** False when Discord cannot be asked now. */
async function ofChannel(deps: MissedDeps, chatId: string): Promise<boolean> {
  const { position, me, receive } = deps;
  const known = position.channels[chatId];
  if (!known) {
    forget(position, chatId);
    return true;
  }
  let after = known.last;
  for (let fetched = 0; fetched < MOST; fetched += PAGE) {
    const result = await ask(deps, chatId, after);
    if (result.kind === "refused" && !askAgain(result.status)) {
      forget(position, chatId);
      return true;
    }
    if (result.kind !== "done") {
      postpone(position, chatId);
      return false;
    }
    const page = objectsOf(result.body)
      .filter(({ id }) => isSnowflake(id))
      .sort((a, b) => compareIds(String(a.id), String(b.id)));
    const messages = page.flatMap((message) => parseMessage(message, me, known.guild) ?? []);
    if (messages.length > 0) await receive(messages);
    after = String(page.at(-1)?.id ?? after);
    if (page.length < PAGE) break;
  }
  caughtUp(position, chatId, after);
  return true;
}

/** One page; where Discord limits the rate, after the wait that it asks for. */
async function ask({ api, clock, signal }: MissedDeps, chatId: string, after: string): Promise<Result> {
  for (let waited = 0; ; ) {
    const query = new URLSearchParams({ after, limit: String(PAGE) });
    const result = await api.call("GET", `/channels/${chatId}/messages`, { query, signal, ms: CALL_MS });
    if (result.kind !== "limited" || waited >= LIMITED_MS || signal.aborted) return result;
    const wait = Math.min(Math.max(result.afterMs, SHORTEST_WAIT_MS), LIMITED_MS - waited);
    await sleep(clock, wait, signal);
    waited += wait;
  }
}
